"""What a session's actor says of itself, for its admin page. Starts none, and waits for none for long."""

from __future__ import annotations

import asyncio
import logging
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync

from sessions_app.live import LiveReply, live

log = logging.getLogger(__name__)

ANSWER_SECONDS = 2.0
SHOWN_CALLS = 32
ASLEEP = "No actor runs."
SILENT = "The actor did not answer in time."
FAILED = "The live half could not be asked; the log says why."


def live_panel(session_id: UUID) -> dict[str, Any]:
    """`facts` as (name, value) rows and `calls` in progress, or a `problem` in words."""
    try:
        answer = async_to_sync(_ask)(session_id)
    except TimeoutError:
        return {"problem": SILENT}
    except Exception:
        # The page tells of what lasts too: it stands whatever the live half does.
        log.exception("the live half failed for the admin")
        return {"problem": FAILED}
    if answer is None:
        return {"problem": ASLEEP}
    return _shown(*answer)


async def _ask(session_id: UUID) -> tuple[dict[str, Any], LiveReply | None] | None:
    async with asyncio.timeout(ANSWER_SECONDS):
        counts = await live().inspect(session_id)
        if counts is None:
            return None
        return counts, await live().capture(session_id, None, start=False)


def _shown(counts: dict[str, Any], reply: LiveReply | None) -> dict[str, Any]:
    facts: list[tuple[str, Any]] = sorted(counts.items())
    calls: list[dict[str, Any]] = []
    if reply is not None and reply.live is not None:
        status = reply.live["status"]
        facts += [("phase", status["phase"]), ("run", status["run_id"]), ("newest sequence", reply.newest)]
        facts.append(("pending inputs", len(reply.live["pending_inputs"])))
        calls = reply.live["current_progress"][:SHOWN_CALLS]
    return {"facts": facts, "calls": calls}
