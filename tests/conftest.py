"""For every test: an environment of its own, a database in a real file, no network beyond loopback."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import pytest
from django.conf import settings
from django.db import connections
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from tests.support.common_server import common_server
from tests.support.distributed import distributed
from tests.support.environment import clean_environment
from tests.support.modes import distributed_servers, fresh_server, make_server, server, servers, start_server
from tests.support.network import refuse_network
from tests.support.own_postgres import own_postgres
from tests.support.services import own_redis, postgres_server, postgres_url, redis_url
from tests.support.small_disk import make_disk

__all__ = [
    "common_server",
    "distributed",
    "distributed_servers",
    "fresh_server",
    "make_disk",
    "make_server",
    "own_postgres",
    "own_redis",
    "postgres_server",
    "postgres_url",
    "redis_url",
    "server",
    "servers",
    "start_server",
]

# Settings are read at the first import of any model, so this stands before everything else.
SUITE_DIR = Path(tempfile.mkdtemp(prefix="albedo-tests-"))
atexit.register(shutil.rmtree, SUITE_DIR, ignore_errors=True)
clean_environment(os.environ)
os.environ["DATA_DIR"] = str(SUITE_DIR / "data")
os.environ["DJANGO_SETTINGS_MODULE"] = "albedo_project.settings"
# Here already, because a folder's own conftest may name models.
django.setup()

# How fast this machine is at the moment is not what is tested, and each run tries the same examples: what
# nobody has changed cannot fail. `--hypothesis-profile explore` looks for others.
UNHURRIED: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
hypothesis_settings.register_profile("suite", derandomize=True, **UNHURRIED)
hypothesis_settings.register_profile("explore", **UNHURRIED)
hypothesis_settings.load_profile("suite")


def pytest_configure() -> None:
    """Touch the settings: what tells pytest-django, who comes after this, that Django is in use."""
    assert settings.DATABASES


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starting whole servers takes its time on a busy machine; a hang is still seen."""
    for item in items:
        if "acceptance" in item.path.parts and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    with refuse_network():
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """A file, not memory: the store's threads share it, as they do in the product."""
    entry: dict[str, Any] = connections["default"].settings_dict
    if entry["ENGINE"].endswith("sqlite3"):
        name = entry["TEST"].get("NAME") or "test.sqlite3"
        entry["TEST"]["NAME"] = str(SUITE_DIR / Path(name).name)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data folder of the test's own, for what takes one as a value."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder
