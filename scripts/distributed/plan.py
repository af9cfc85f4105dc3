"""What is to be started, from the command line and the environment."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from albedo_project.management.arguments import port

PROJECT = Path(__file__).resolve().parents[2]
MOST = 32
# As in streaming.limits: what running attempts get after SIGTERM.
DRAIN_VARIABLE, DRAIN_SECONDS = "ALBEDO_ACTOR_DRAIN_SECONDS", 10.0
# As albedo_project's default of ALBEDO_DATABASE_POOL_MAX: connections of one process.
POOL_VARIABLE, POOL_MAX = "ALBEDO_DATABASE_POOL_MAX", 16
# The first host's, where it is given; the next port is the next one's.
METRICS_VARIABLE = "ALBEDO_METRICS_PORT"


@dataclass(frozen=True, slots=True)
class Plan:
    """`database_url` and `redis_url` are empty where a server of our own is to be started."""

    data_dir: Path
    port: int
    webs: int
    hosts: int
    database_url: str
    redis_url: str
    drain_seconds: float
    connections: int
    metrics_port: int
    environment: Mapping[str, str] = field(repr=False)


def read(arguments: Sequence[str], environment: Mapping[str, str]) -> Plan:
    """Raises SystemExit with a message, as argparse does."""
    parser = argparse.ArgumentParser(prog="make run-distributed", description=__doc__)
    given = environment.get
    parser.add_argument("--port", type=port, default=given("PORT") or "8000", help="nginx's; 0: a free one")
    parser.add_argument("--data-dir", type=Path, default=given("DATA_DIR") or str(PROJECT / "data"))
    parser.add_argument("--webs", type=_count, default=given("WEBS") or "2", help="web processes")
    parser.add_argument("--hosts", type=_count, default=given("HOSTS") or "2", help="actor hosts")
    options = parser.parse_args(arguments)
    if (given("ALBEDO_ENV") or "").strip() == "production":
        parser.error("ALBEDO_ENV=production is HTTPS only, and this is plain HTTP: see docs/production.md")
    data_dir = options.data_dir.expanduser().absolute()
    processes = options.webs + options.hosts
    return Plan(
        data_dir=data_dir,
        port=options.port,
        webs=options.webs,
        hosts=options.hosts,
        database_url=(given("DATABASE_URL") or "").strip(),
        redis_url=(given("REDIS_URL") or "").strip(),
        drain_seconds=_number(given(DRAIN_VARIABLE), DRAIN_SECONDS),
        connections=round(processes * _number(given(POOL_VARIABLE), POOL_MAX)),
        metrics_port=round(_number(given(METRICS_VARIABLE), 0)),
        environment=dict(environment),
    )


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"a number of processes is from 1 to {MOST}")
    return int(text)


def _number(text: str | None, default: float) -> float:
    """What is no number the settings refuse, with the variable's name."""
    try:
        return float(text or default)
    except ValueError:
        return default


def command(*arguments: str) -> tuple[str, ...]:
    """A command of manage.py."""
    return (sys.executable, "manage.py", *arguments)


def current() -> Plan:
    return read(sys.argv[1:], os.environ)
