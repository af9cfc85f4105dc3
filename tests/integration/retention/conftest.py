"""A session of somebody's with something of every kind in it, and a data folder for workspaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.rows import alice

__all__ = ["alice"]


@pytest.fixture
def own_data(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    (tmp_path / "data").mkdir()
    return tmp_path / "data"
