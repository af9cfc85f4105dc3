"""Telling the live half of a durable change. It would find out by itself: telling never fails a request."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from uuid import UUID

from sessions_app.live import Change, live
from sessions_app.models import Session

logger = logging.getLogger(__name__)


async def wake(session_id: UUID) -> None:
    await _try(live().wake(session_id), "wake")


async def interrupt(session_id: UUID, run_id: UUID, *, superseded: bool = False) -> None:
    await _try(live().interrupt(session_id, run_id, superseded=superseded), "interrupt")


async def stop_deleted(session_id: UUID) -> None:
    await _try(live().stop(session_id, "deleted"), "stop")


async def announce(session: Session, change: Change) -> None:
    await _try(live().announce(session.id, session.owner_id, change), "announce")


async def _try(call: Awaitable[None], what: str) -> None:
    try:
        await call
    except Exception:
        logger.warning("the live half did not take a %s; its sweep will", what, exc_info=True)
