"""deploy/Dockerfile and deploy/compose.yaml, as far as they can be tried without a Docker engine."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.integration.deploy.reading import (
    ACTORS_STOP_SECONDS,
    DEPLOY,
    ONLY_HERE,
    SETTINGS,
    WEB_STOP_SECONDS,
    check_command,
    environment_example,
    seconds,
)
from tests.support.server import PROJECT

COMPOSE = DEPLOY / "compose.yaml"
DOCKERFILE = DEPLOY / "Dockerfile"
PROGRAMS = Path(sys.executable).parent


def composed() -> dict[str, Any]:
    return dict(YAML(typ="safe").load(COMPOSE.read_text("utf-8")))


def services() -> dict[str, dict[str, Any]]:
    return dict(composed()["services"])


def instructions(kind: str) -> list[str]:
    text = DOCKERFILE.read_text("utf-8").replace("\\\n", " ")
    return re.findall(rf"^{kind} (.+)$", text, re.M)


def copied() -> list[str]:
    """What the Dockerfile takes from the project."""
    found = [line.split()[:-1] for line in instructions("COPY") if not line.startswith("--from")]
    return [source.removeprefix("./") for sources in found for source in sources]


def test_the_linter_finds_nothing_in_the_dockerfile() -> None:
    found = subprocess.run([PROGRAMS / "hadolint", DOCKERFILE], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")


def test_what_the_image_copies_is_there_and_is_sent_along() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    let_through = [line[1:] for line in ignored if line.startswith("!")]
    assert ignored[0] == "*"
    assert [name for name in copied() if not (PROJECT / name).exists()] == []
    assert sorted(copied()) == sorted(let_through)
    product = {"manage.py", "albedo_project", "sessions_app", "streaming", "requirements.txt"}
    assert product <= set(copied())


def test_secrets_of_whoever_builds_do_not_get_into_the_image() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    for name in ("data", ".git", ".venv", "deploy/environment", "deploy/tls"):
        assert not any(line.startswith("!") and fnmatch(name, line[1:]) for line in ignored)


def test_the_image_runs_the_web_process_as_nobody_special_and_is_asked_for_its_health() -> None:
    (command,) = instructions("CMD")
    shell, option, line = json.loads(command)
    assert (shell, option) == ("sh", "-c")
    assert check_command(shlex.split(line.removeprefix("exec ").replace('"$PORT"', "8000"))) == "run_web"
    assert instructions("USER") == ["10001"]
    assert "--uid 10001" in DOCKERFILE.read_text("utf-8")
    (health,) = instructions("HEALTHCHECK")
    assert json.loads(health.partition("CMD ")[2]) == ["python", "deploy/healthcheck.py"]
    names = re.findall(r"([A-Z_]+)=", " ".join(instructions("ENV")))
    assert set(names) - SETTINGS - ONLY_HERE == {"PATH", "PYTHONUNBUFFERED"}


def test_the_image_has_the_python_that_the_pins_are_for() -> None:
    version = re.findall(r"^FROM python:(\d+\.\d+)-slim", DOCKERFILE.read_text("utf-8"), re.M)
    project = (PROJECT / "pyproject.toml").read_text("utf-8")
    assert f'requires-python = ">={version[0]}"' in project
    assert set(version) == {version[0]}


def test_the_compose_file_is_one_by_its_schema() -> None:
    command = [str(PROGRAMS / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_docker_compose_takes_it(tmp_path: Path) -> None:
    if shutil.which("docker") is None:
        pytest.skip("docker is not installed")
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("docker has no compose plugin here")
    environment, compose = tmp_path / "environment", tmp_path / "compose.yaml"
    environment.write_text("POSTGRES_PASSWORD=tried\n", "utf-8")
    text = COMPOSE.read_text("utf-8").replace("env_file: environment", f"env_file: {environment}")
    compose.write_text(text, "utf-8")
    options = ["--env-file", str(environment), "--file", str(compose)]
    command = ["docker", "compose", *options, "config", "--quiet"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_its_commands_are_ours_and_each_waits_for_what_it_needs() -> None:
    ran = {
        name: check_command(service["command"]) for name, service in ours().items() if "command" in service
    }
    assert ran == {"migrate": "migrate", "actors": "run_actors"}
    for name, service in services().items():
        for needed, how in service.get("depends_on", {}).items():
            assert needed in services(), name
            healthy = how["condition"] == "service_healthy"
            asked = "healthcheck" in services()[needed] or needed == "web"
            assert not healthy or asked, f"{needed} says nothing of its health"
    for name in ("web", "actors"):
        assert ours()[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"


def ours() -> dict[str, dict[str, Any]]:
    return {name: service for name, service in services().items() if service["image"] == "albedo"}


def test_its_variables_are_settings_and_stand_in_the_example() -> None:
    asked = set(re.findall(r"\$\{([A-Z_]+)", COMPOSE.read_text("utf-8")))
    assert asked <= set(environment_example())
    given = {name for service in ours().values() for name in service["environment"]}
    assert given <= SETTINGS
    for service in ours().values():
        assert service["env_file"] == "environment"


def test_its_files_are_there() -> None:
    build = services()["migrate"]["build"]
    assert (DEPLOY / build["context"]).resolve() == PROJECT
    assert (PROJECT / build["dockerfile"]) == DOCKERFILE
    mounted = [
        volume.split(":")[0] for service in services().values() for volume in service.get("volumes", [])
    ]
    files = [name for name in mounted if name.startswith("./") and name != "./tls"]
    assert files
    assert [name for name in files if not (DEPLOY / name).is_file()] == []
    assert {name for name in mounted if not name.startswith("./")} == set(composed()["volumes"])


def test_whoever_drains_has_the_time_for_it() -> None:
    assert seconds(services()["web"]["stop_grace_period"]) >= WEB_STOP_SECONDS
    assert seconds(services()["actors"]["stop_grace_period"]) >= ACTORS_STOP_SECONDS
    assert {ours()[name]["deploy"]["replicas"] for name in ("web", "actors")} == {2}


def test_nginx_looks_for_the_web_processes_where_they_are() -> None:
    text = (DEPLOY / "nginx/compose.conf").read_text("utf-8")
    (place,) = re.findall(r"set \$albedo (\S+);", text)
    name, port = place.split(":")
    assert name in ours()
    assert f"PORT={port}" in " ".join(instructions("ENV"))
