"""A session at one moment: what its actor captured, joined with what is stored up to that capture.

Capture first, read then: history only grows, so it reaches the capture's high-water mark.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Now

from sessions_app.history import NEWEST, history_page
from sessions_app.live import Cursor, LiveReply, live
from sessions_app.models import Run, Session
from sessions_app.overview import last_phase, session_fields, stored_status
from sessions_app.problems import LiveUnavailable, NotFound
from sessions_app.render import PREVIEW_SCALARS, Rendered, render_input, render_usage
from sessions_app.store.executor import read
from sessions_app.store.runs import pending_inputs
from sessions_app.store.sessions import is_busy


async def session_snapshot(session: Session, tail: int) -> Rendered:
    """The session of contract section 3 with its newest `tail` entries. Starts no actor."""
    reply = await live().capture(session.id, None, start=False)
    if reply is not None and reply.live is not None:
        return await read(_compose, session.id, reply.live, tail)
    return await read(_stored_snapshot, session.id, tail)


async def attach_page(session_id: UUID, cursor: Cursor | None, *, tail: int, start: bool = True) -> Rendered:
    """The page after `cursor` as a whole envelope; a snapshot stands only behind a reset.

    Raises LiveUnavailable where `start` is asked and no actor answers in time, NotFound for a session
    that is gone.
    """
    if cursor is not None and await read(_is_newest_at_rest, session_id, cursor):
        return _resting(cursor)
    reply = await live().capture(session_id, cursor, start=start)
    if reply is None:
        if start:
            await read(_load, session_id)
            raise LiveUnavailable
        return await read(_stored_page, session_id, cursor, tail)
    return await read(_page, session_id, reply, tail)


def _page(session_id: UUID, reply: LiveReply, tail: int) -> Rendered:
    page = _envelope(reply.generation, reply.cursor, reply.verdict, reply.reason, reply.oldest, reply.newest)
    page["more"] = reply.more
    page["events"] = reply.events
    if reply.verdict == "reset" and reply.live is not None:
        page["events"] = [_reset(reply.reason), *reply.events]
        page["snapshot"] = _compose(session_id, reply.live, tail)
    return page


def _stored_page(session_id: UUID, cursor: Cursor | None, tail: int) -> Rendered:
    """The reset that a session without an actor answers: nothing can be replayed of it."""
    snapshot = _stored_snapshot(session_id, tail)
    generation, sequence = snapshot["cursor"]["generation"], snapshot["cursor"]["sequence"]
    reason = "initial"
    if cursor is not None:
        reason = "replay_unavailable" if cursor.generation == generation else "generation_changed"
    page = _envelope(generation, sequence, "reset", reason, sequence + 1, sequence)
    return {**page, "events": [_reset(reason)], "snapshot": snapshot}


def _resting(cursor: Cursor) -> Rendered:
    following = cursor.sequence + 1
    return _envelope(cursor.generation, cursor.sequence, "up_to_date", None, following, cursor.sequence)


def _envelope(
    generation: str, cursor: int, verdict: str, reason: str | None, oldest: int, newest: int
) -> Rendered:
    attach = {"verdict": verdict, "reason": reason, "oldest": oldest, "newest": newest}
    return {"generation": generation, "cursor": cursor, "events": [], "attach": attach, "more": False}


def _reset(reason: str | None) -> Rendered:
    return {"type": "reset", "data": {"reason": reason}}


def _compose(session_id: UUID, live_part: dict[str, Any], tail: int) -> Rendered:
    session = _load(session_id)
    shown = {name: value for name, value in live_part.items() if name != "high_water"}
    return {**session_fields(session), **shown, "history": _tail(session, tail, live_part["high_water"])}


def _stored_snapshot(session_id: UUID, tail: int) -> Rendered:
    session = _load(session_id)
    run = Run.objects.filter(session=session, state=Run.State.RUNNING).first()
    waiting = [item for item in pending_inputs(session.id) if item.order <= session.input_order]
    stopping = run is not None and run.interrupt_requested_at is not None
    working = last_phase(run) if run is not None else "preparing"
    return {
        **session_fields(session),
        "status": stored_status(run.id if run else None, stopping, bool(waiting), working),
        "input_order": session.input_order,
        "pending_inputs": [render_input(item, PREVIEW_SCALARS) for item in waiting],
        "pending_approvals": [],
        "current_message": None,
        "current_progress": [],
        "current_output": [],
        "usage": render_usage(session.usage),
        "history": _tail(session, tail, session.head_position),
        "cursor": {"generation": session.public_generation, "sequence": session.last_sequence or 0},
    }


def _tail(session: Session, tail: int, high_water: int) -> Rendered:
    page = history_page(session, NEWEST, tail, through=high_water)
    return {name: page[name] for name in ("items", "older", "high_water")}


def _load(session_id: UUID) -> Session:
    session = Session.objects.filter(id=session_id).first()
    if session is None:
        raise NotFound
    return session


def _is_newest_at_rest(session_id: UUID, cursor: Cursor) -> bool:
    """Whether nothing can follow `cursor`: the actor left in order, and there is nothing to do."""
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=Now())
    rows = Session.objects.filter(free, id=session_id, last_sequence=cursor.sequence)
    session = rows.first()
    if session is None or session.public_generation != cursor.generation:
        return False
    return not is_busy(session_id)
