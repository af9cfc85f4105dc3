"""Settings as a fresh process reads them."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from albedo_project import new_keys
from manage import hand_over
from tests.support.commands import run_python as run

SHOW = (
    "import json; from albedo_project import settings as s;"
    "print(json.dumps({n: getattr(s, n) for n in dir(s) if n.isupper()}, default=str))"
)


def shown(data: Path, **environment: str) -> dict[str, object]:
    result = run("-c", SHOW, DATA_DIR=str(data), **environment)
    assert result.returncode == 0, result.stderr
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_without_configuration_everything_is_local(tmp_path: Path) -> None:
    found = shown(tmp_path / "data")
    assert found["ALLOWED_HOSTS"] == ["localhost", "127.0.0.1", "[::1]"]
    assert found["ENV_PROFILE"] is None
    assert found["DEBUG"] is False
    assert sorted(p.name for p in (tmp_path / "data" / "secrets").iterdir()) == [
        "encryption_key",
        "secret_key",
    ]


def test_variables_reach_their_settings(tmp_path: Path) -> None:
    found = shown(
        tmp_path / "data",
        OPENAI_API_KEY="sk-canary",
        OPENAI_BASE_URL="http://127.0.0.1:9/v1/",
        ALBEDO_PROTOCOL="chat_completions",
        ALBEDO_MODEL="m",
        ALBEDO_BIND_HOST="::",
        ALBEDO_FEED_WINDOW_EVENTS="7",
        ALBEDO_IDLE_TIMEOUT="1.5",
        ALBEDO_INSPECT="1",
    )
    assert found["ENV_PROFILE"] == {
        "name": "default",
        "base_url": "http://127.0.0.1:9/v1",
        "protocol": "chat_completions",
        "model": "m",
        "api_key": "sk-canary",
    }
    assert found["ALLOWED_HOSTS"] == ["localhost", "127.0.0.1", "[::1]", "[::]"]
    numbers = found["ALBEDO"]
    assert isinstance(numbers, dict)
    assert (numbers["feed_window_events"], numbers["idle_timeout"]) == (7, 1.5)
    assert found["INSPECT"] is True


def test_a_bad_value_stops_the_start_and_is_not_shown(tmp_path: Path) -> None:
    result = run("manage.py", "check", DATA_DIR=str(tmp_path), ALBEDO_FEED_WINDOW_EVENTS="canary")
    assert result.returncode != 0
    assert "ALBEDO_FEED_WINDOW_EVENTS" in result.stderr
    assert "canary" not in result.stderr


def test_the_production_profile_passes_django_s_own_check_in_silence(tmp_path: Path) -> None:
    command = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    result = run(*command, DATA_DIR=str(tmp_path), ALBEDO_ENV="production")
    assert result.returncode == 0, result.stderr
    assert "no issues" in result.stdout


def test_so_does_one_for_several_machines_whose_keys_are_given(tmp_path: Path) -> None:
    given = dict(line.split("=", 1) for line in new_keys.lines().splitlines())
    database = {
        "DATABASE_URL": "postgresql://albedo:x@127.0.0.1:1/albedo",
        "REDIS_URL": "redis://127.0.0.1:1/0",
    }
    command = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    result = run(*command, DATA_DIR=str(tmp_path), ALBEDO_ENV="production", **database, **given)
    assert result.returncode == 0, result.stderr
    assert "no issues" in result.stdout
    warned = run(*command, DATA_DIR=str(tmp_path), ALBEDO_ENV="production", **database)
    assert warned.returncode != 0
    assert "albedo.W002" in warned.stderr


@pytest.mark.parametrize("name", ["SECRET_KEY", "ENCRYPTION_KEY"])
def test_production_does_not_start_with_a_sample_key(name: str, tmp_path: Path) -> None:
    sample = base64.urlsafe_b64encode(b"change-me-change-me-change-me-32").decode()
    embedded = run("manage.py", "check", DATA_DIR=str(tmp_path), **{name: sample})
    assert embedded.returncode == 0, embedded.stderr
    result = run("manage.py", "check", DATA_DIR=str(tmp_path), ALBEDO_ENV="production", **{name: sample})
    assert result.returncode != 0
    assert f"{name} is a sample" in result.stderr
    assert sample not in result.stderr


def test_options_of_servers_are_handed_over_before_settings_load() -> None:
    assert hand_over(["--data-dir", "/d", "--port", "0", "--host=::1"]) == {
        "DATA_DIR": "/d",
        "ALBEDO_BIND_HOST": "::1",
    }
    assert hand_over(["--data-dir"]) == {}
    assert hand_over(["--data-dir=", "--port", "1"]) == {}
