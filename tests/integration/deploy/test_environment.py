"""deploy/environment.example and deploy/Procfile."""

from __future__ import annotations

import shlex
from pathlib import Path

from albedo_project import new_keys
from tests.integration.deploy.reading import (
    DEPLOY,
    ONLY_HERE,
    SETTINGS,
    check_command,
    environment_example,
)
from tests.support.commands import run_python


def test_every_variable_of_the_example_is_a_setting() -> None:
    assert set(environment_example()) - SETTINGS - ONLY_HERE == set()


def test_the_example_with_its_keys_filled_in_is_a_good_production_environment(tmp_path: Path) -> None:
    lines = (DEPLOY / "environment.example").read_text("utf-8").splitlines()
    given = dict(
        line.split("=", 1) for line in [*lines, *new_keys.lines().splitlines()] if line[:1].isalpha()
    )
    command = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    result = run_python(*command, **{**given, "DATA_DIR": str(tmp_path)})
    assert result.returncode == 0, result.stderr
    assert given["ALBEDO_ENV"] == "production"


def test_the_example_holds_no_secret() -> None:
    example = environment_example()
    assert [name for name in example if name.endswith(("KEY", "PASSWORD", "TOKEN")) and example[name]] == []


def test_the_procfile_names_commands_that_there_are() -> None:
    text = (DEPLOY / "Procfile").read_text("utf-8")
    processes = dict(line.split(": ", 1) for line in text.splitlines())
    found = {
        kind: check_command(shlex.split(line.replace("$PORT", "5000"))) for kind, line in processes.items()
    }
    assert found == {"release": "migrate", "web": "run_web", "actors": "run_actors"}
