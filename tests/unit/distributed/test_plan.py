"""What the command line and the environment ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.distributed.plan import PROJECT, read


def test_without_anything_two_of_each_start_on_the_usual_port() -> None:
    plan = read([], {})
    assert (plan.port, plan.webs, plan.hosts) == (8000, 2, 2)
    assert plan.data_dir == PROJECT / "data"
    assert (plan.database_url, plan.redis_url) == ("", "")
    assert (plan.drain_seconds, plan.connections, plan.metrics_port) == (10.0, 64, 0)


def test_variables_choose_and_options_win() -> None:
    environment = {
        "PORT": "9000",
        "DATA_DIR": "/d",
        "WEBS": "3",
        "HOSTS": "1",
        "DATABASE_URL": "postgresql://a/b",
        "REDIS_URL": "redis://a/0",
        "ALBEDO_ACTOR_DRAIN_SECONDS": "2.5",
        "ALBEDO_DATABASE_POOL_MAX": "4",
        "ALBEDO_METRICS_PORT": "9101",
    }
    plan = read(["--port", "0", "--hosts", "2"], environment)
    assert (plan.port, plan.webs, plan.hosts) == (0, 3, 2)
    assert plan.data_dir == Path("/d")
    assert (plan.database_url, plan.redis_url) == ("postgresql://a/b", "redis://a/0")
    assert (plan.drain_seconds, plan.connections, plan.metrics_port) == (2.5, 20, 9101)
    assert dict(plan.environment) == environment


@pytest.mark.parametrize(
    "arguments", [["--port", "x"], ["--port", "65536"], ["--webs", "0"], ["--hosts", "33"]]
)
def test_what_cannot_be_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read(arguments, {})
    assert arguments[0] in capsys.readouterr().err


def test_production_is_not_for_plain_http(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read([], {"ALBEDO_ENV": "production"})
    assert "HTTPS only" in capsys.readouterr().err


def test_it_never_shows_the_environment() -> None:
    assert "canary" not in repr(read([], {"OPENAI_API_KEY": "canary"}))
