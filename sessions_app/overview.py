"""A session's own fields and its status as the database knows it: what needs no actor to be told."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery

from sessions_app.models import Input, Run, Session, ToolCall
from sessions_app.render import Rendered, render_id, render_time, render_usage
from sessions_app.store.claims import actor_address
from sessions_app.store.mcp_servers import shown

STATUS_FILTERS = ("idle", "busy", "running", "interrupting")


def with_work(sessions: QuerySet[Session]) -> QuerySet[Session]:
    """`sessions` with `open_run`, `stop_asked_at` and `has_waiting`, in the same query."""
    unfinished = Run.objects.filter(session_id=OuterRef("id"), state=Run.State.RUNNING)
    waiting = Input.objects.filter(session_id=OuterRef("id"), state=Input.State.PENDING)
    return sessions.annotate(
        open_run=Subquery(unfinished.values("id")[:1]),
        stop_asked_at=Subquery(unfinished.values("interrupt_requested_at")[:1]),
        has_waiting=Exists(waiting),
    )


def in_status(sessions: QuerySet[Session], status: str) -> QuerySet[Session]:
    """Those of `with_work` that are `idle`, `busy`, `running` (a run is unfinished) or `interrupting`."""
    running = Q(open_run__isnull=False)
    busy = running | Q(has_waiting=True)
    conditions = {
        "idle": ~Q(has_waiting=True) & Q(open_run__isnull=True),
        "busy": busy,
        "running": running,
        "interrupting": Q(stop_asked_at__isnull=False),
    }
    return sessions.filter(conditions[status])


def session_fields(session: Session) -> Rendered:
    """What a session is, beside what happens in it."""
    return {
        "id": str(session.id),
        "name": session.name,
        "workspace": session.workspace,
        "provider": session.provider,
        "model": session.model,
        "instructions": session.instructions,
        "mcp_servers": shown(session.mcp_servers),
        "created_at": render_time(session.created_at),
        "activity_at": render_time(session.activity_at),
        "archived": session.archived,
    }


def stored_status(run_id: UUID | None, stopping: bool, waiting: bool, working: str = "preparing") -> Rendered:
    """The status without an actor: `idle` only where no run is unfinished and no input waits.

    `working` is the phase of what is neither at rest nor being stopped.
    """
    phase = "interrupting" if stopping else working if run_id or waiting else "idle"
    return {
        "phase": phase,
        "run_id": render_id(run_id),
        "interrupt_requested": stopping,
        "blocking_reason": None,
    }


def last_phase(run: Run) -> Literal["generating", "running", "preparing"]:
    """Where the run's actor was when it last wrote: for one that lives and cannot be asked."""
    if actor_address(run.session_id) is None:
        return "preparing"
    if run.tool_calls.filter(state=ToolCall.State.RUNNING).exists():
        return "running"
    return "generating" if run.attempts.filter(ended_at=None).exists() else "preparing"


def summary(session: Session) -> Rendered:
    """A row of `with_work` as a list shows it: no history, nothing live."""
    run_id: UUID | None = getattr(session, "open_run")  # noqa: B009 - annotated by the query
    stopping = getattr(session, "stop_asked_at") is not None  # noqa: B009
    waiting = bool(getattr(session, "has_waiting"))  # noqa: B009
    return {
        **session_fields(session),
        "status": stored_status(run_id, stopping, waiting),
        "input_order": session.input_order,
        "usage": render_usage(session.usage),
    }


def latest_first(sessions: QuerySet[Session], after: tuple[str, str] | None, limit: int) -> QuerySet[Session]:
    """The page of at most `limit` behind (activity time, id), which is the order of the index."""
    if after is not None:
        moment, key = after
        sessions = sessions.filter(Q(activity_at__lt=moment) | Q(activity_at=moment, id__lt=key))
    return sessions.order_by(F("activity_at").desc(), F("id").desc())[:limit]
