"""deploy/systemd: units that systemd takes, with commands that there are."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.deploy.reading import (
    ACTORS_STOP_SECONDS,
    DEPLOY,
    SETTINGS,
    WEB_STOP_SECONDS,
    check_command,
    seconds,
)
from tests.support.server import PROJECT

UNITS = DEPLOY / "systemd"
SERVICES = {
    "albedo-web@.service": "run_web",
    "albedo-actors@.service": "run_actors",
    "albedo-migrate.service": "migrate",
}
INSTALLED, DATA = "/opt/albedo", "/var/lib/albedo"


def unit(name: str) -> configparser.ConfigParser:
    """Of a repeated key the last; systemd's keys are case-sensitive and may hold `%`."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((UNITS / name).read_text("utf-8"))
    return parser


def test_every_unit_is_known_here() -> None:
    assert {path.name for path in UNITS.iterdir()} == {*SERVICES, "albedo.target"}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_runs_a_command_that_there_is_as_nobody_special(name: str) -> None:
    service = unit(name)["Service"]
    words = shlex.split(service["ExecStart"].replace("%i", "8001"))
    assert words[0] == f"{INSTALLED}/.venv/bin/python"
    assert check_command(words) == SERVICES[name]
    assert service["WorkingDirectory"] == INSTALLED
    given = dict(pair.split("=") for pair in service["Environment"].split())
    assert given.pop("DATA_DIR") == DATA
    assert set(given) <= SETTINGS
    assert f"/var/lib/{service['StateDirectory']}" == DATA
    assert service["EnvironmentFile"] == "/etc/albedo/environment"
    assert (service["User"], service["NoNewPrivileges"], service["UMask"]) == ("albedo", "yes", "0077")
    assert (service["ProtectSystem"], service["CapabilityBoundingSet"]) == ("strict", "")


@pytest.mark.parametrize(
    ("name", "least"),
    [("albedo-web@.service", WEB_STOP_SECONDS), ("albedo-actors@.service", ACTORS_STOP_SECONDS)],
)
def test_a_server_says_when_it_is_ready_comes_back_and_has_its_time_to_drain(name: str, least: float) -> None:
    service = unit(name)["Service"]
    assert service["Type"] == "notify"
    assert service["Restart"] == "on-failure"
    assert seconds(service["TimeoutStopSec"]) >= least
    # The signal is for the host alone: kernels are its own to end.
    assert service["KillMode"] == "mixed"


def test_a_kernel_that_takes_too_much_memory_does_not_end_its_host() -> None:
    assert unit("albedo-actors@.service")["Service"]["OOMPolicy"] == "continue"


def test_the_target_wants_the_web_processes_that_nginx_asks() -> None:
    wanted = unit("albedo.target")["Unit"]["Wants"].split()
    ports = re.findall(r"server 127\.0\.0\.1:(\d+)", (DEPLOY / "nginx/machine.conf").read_text("utf-8"))
    assert sorted(name for name in wanted if "web" in name) == [
        f"albedo-web@{port}.service" for port in ports
    ]
    assert any(name.startswith("albedo-actors@") for name in wanted)
    assert {re.sub(r"@\d+", "@", name) for name in wanted} <= set(SERVICES)


def test_systemd_takes_them(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    for path in UNITS.iterdir():
        # It wants what is to be executed to be there.
        text = path.read_text("utf-8").replace(
            f"{INSTALLED}/.venv/bin/python", str(Path(sys.executable).resolve())
        )
        (tmp_path / path.name).write_text(text.replace(INSTALLED, str(PROJECT)), "utf-8")
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *sorted(tmp_path.iterdir())],
        capture_output=True,
        text=True,
        check=False,
    )
    # It may also speak of the machine's own units.
    of_ours = [line for line in found.stderr.splitlines() if "albedo" in line]
    assert (found.returncode, of_ours) == (0, [])
