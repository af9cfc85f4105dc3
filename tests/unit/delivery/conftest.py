"""Fixtures. Models are imported when one is asked for: this file is read before Django has started."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.delivery.house import House


@pytest.fixture
async def house() -> AsyncIterator[House]:
    from tests.unit.delivery.house import open_house

    async with open_house() as made:
        yield made
