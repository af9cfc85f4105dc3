"""docs/production.md names only what there is."""

from __future__ import annotations

import re
import shlex

from albedo_project import checks
from tests.integration.deploy.reading import DEPLOY, ONLY_HERE, SETTINGS, check_command
from tests.support.server import PROJECT

PAGE = (PROJECT / "docs" / "production.md").read_text("utf-8")
# Of the launcher, and of nobody else.
LAUNCHER = frozenset({"WEBS", "HOSTS"})


def code() -> str:
    """The indented lines, joined where a backslash ends them, without what is said behind them."""
    lines = [line[4:] for line in PAGE.splitlines() if line.startswith("    ")]
    return re.sub(r"\s+#.*", "", "\n".join(lines).replace("\\\n", ""))


def test_every_command_of_ours_is_there_with_its_options() -> None:
    told = re.findall(r"\S*python (manage\.py [^)\n]*)", code())
    named = [check_command(["python", *shlex.split(command)]) for command in told]
    assert sorted(named) == ["check", "operator", "operator"]
    assert set(re.findall(r"`manage\.py (\w+)`", PAGE)) == {"run_web", "run_actors"}


def test_every_file_is_there() -> None:
    named = {name.rstrip("*") for name in re.findall(r"\bdeploy/[\w./*-]*\w[\w.]*|\bdeploy/\w+/\*", PAGE)}
    mine_to_make = {"deploy/environment", "deploy/tls"}
    assert len(named) > 5
    assert sorted(name for name in named - mine_to_make if not (PROJECT / name).exists()) == []


def test_every_unit_is_there() -> None:
    named = set(re.findall(r"albedo-[a-z]+@?|albedo\.target", code()))
    units = {path.name for path in (DEPLOY / "systemd").iterdir()}
    assert named == {name.removesuffix(".service") for name in units}


def test_every_setting_is_one() -> None:
    named = set(re.findall(r"`([A-Z][A-Z_]+[A-Z])(?:=[^`]*)?`", PAGE))
    assert "ALBEDO_TRUST_PROXY" in named
    assert named - SETTINGS - ONLY_HERE - LAUNCHER == set()


def test_every_warning_is_one() -> None:
    assert set(re.findall(r"albedo\.W\d+", PAGE)) == {checks.PLAIN_DAPHNE.id, checks.OWN_KEYS.id}


def test_every_make_target_is_one() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text("utf-8"), re.M))
    named = set(re.findall(r"^make (?:-C \S+ )?([a-z-]+)", code(), re.M)) | set(
        re.findall(r"`make ([a-z-]+)`", PAGE)
    )
    assert named == {"install", "run-distributed"}
    assert named <= targets
