"""Two users, staff, and a recorder in place of the live half, since no actor runs here.

Models are imported inside the fixtures: this file is read before Django is set up.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = "tests.integration.api.callers"


@pytest.fixture
def live(settings: Any) -> Iterator[Any]:
    from sessions_app import live as port
    from tests.integration.api.callers import LIVE

    LIVE.__init__()  # type: ignore[misc]
    settings.LIVE_BACKEND = f"{HERE}.recorded_live"
    port.live.cache_clear()
    yield LIVE
    port.live.cache_clear()


def _caller(name: str, **flags: Any) -> Any:
    from tests.integration.api.callers import caller

    return caller(name, **flags)


@pytest.fixture
def alice(transactional_db: None, live: Any) -> Any:
    return _caller("alice")


@pytest.fixture
def bob(transactional_db: None, live: Any) -> Any:
    return _caller("bob")


@pytest.fixture
def staff(transactional_db: None, live: Any) -> Any:
    return _caller("staff", is_staff=True)


@pytest.fixture
def own_data(settings: Any, tmp_path: Path) -> Path:
    """A data folder of the test's own, for what sessions make on disk."""
    settings.DATA_DIR = tmp_path / "data"
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def host_here() -> Iterator[None]:
    """As if this process ran actors."""
    from sessions_app.instance import hosting

    hosting.beat(600)
    yield
    hosting.end()
