"""Runs: started by consuming an input, ended exactly once, with every call of theirs ended too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Substr
from django.utils import timezone

from sessions_app import meters
from sessions_app.models import Entry, Input, Run, Session, ToolCall
from sessions_app.render import PREVIEW_SCALARS
from sessions_app.store.calls import EndedCall, end_open_calls
from sessions_app.store.entries import append, text_draft
from sessions_app.store.fence import Fence, hold


@dataclass(frozen=True, slots=True)
class Taken:
    """Inputs that became part of a run, each with its user entry, in order of acceptance."""

    run: Run
    session: Session
    inputs: list[Input]
    entries: list[Entry]


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ends; the times are those of a proved stop, None where nothing of that kind was open.

    `provider` and `model` are those that answered; empty leaves what the session asked for.
    """

    state: str
    error: dict[str, Any] | None = None
    provider_closed_at: datetime | None = None
    tool_interrupted_at: datetime | None = None
    kernel: str = ""
    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class EndedRun:
    run: Run
    calls: list[EndedCall]
    input_uids: list[UUID]


def start_run(fence: Fence) -> Taken | None:
    """Consume the first pending input: its entry, the run and its state in one transaction.

    None where nothing is pending. A run that is unfinished is the answer again: that it was stored got lost
    on the way to an actor, which has one at a time. Raises LeaseLost.
    """
    with transaction.atomic():
        session = hold(fence)
        unfinished = Run.objects.filter(session=session, state=Run.State.RUNNING).first()
        if unfinished is not None:
            return _taken(session, unfinished, after_order=0)
        first = _pending(session.id).first()
        if first is None:
            return None
        run = Run.objects.create(
            session=session,
            generation=fence.generation,
            started_at=timezone.now(),
            provider=session.provider,
            model=session.model,
        )
        return _take(session, run, [first])


def take_steers(fence: Fence, run_id: UUID, after_order: int) -> Taken | None:
    """Let the steering inputs that are next in order join the run. None where there is none.

    One behind an input that waits for a run of its own waits with it: inputs are answered in order.
    `after_order` is the newest input of the run that its actor knows of: what joined behind it is told again.
    """
    with transaction.atomic():
        session = hold(fence)
        run = Run.objects.get(id=run_id)
        if run.inputs.filter(order__gt=after_order).exists():
            return _taken(session, run, after_order)
        steers: list[Input] = []
        for candidate in _pending(session.id):
            if candidate.when_busy != Input.WhenBusy.STEER:
                break
            steers.append(candidate)
        if not steers:
            return None
        return _take(session, run, steers)


def finish_run(fence: Fence, run_id: UUID, end: RunEnd) -> EndedRun:
    """End a run; one that has ended stays as it is and is told again, without calls. Raises LeaseLost."""
    with transaction.atomic():
        session = hold(fence)
        return end_run(session, run_id, end, running_calls=ToolCall.State.INTERRUPTED)


def end_run(session: Session, run_id: UUID, end: RunEnd, *, running_calls: str) -> EndedRun:
    """The same in the caller's transaction; `running_calls` is what a call that was executing becomes."""
    run = Run.objects.select_for_update().get(id=run_id)
    if run.state != Run.State.RUNNING:
        return EndedRun(run, [], _input_uids(run))
    calls = end_open_calls(session, run_id, running_calls)
    now = timezone.now()
    run.state = end.state
    run.ended_at = now
    run.error = end.error
    run.provider_closed_at = end.provider_closed_at
    run.tool_interrupted_at = end.tool_interrupted_at
    run.kernel = end.kernel
    run.provider = end.provider or run.provider
    run.model = end.model or run.model
    if run.interrupt_requested_at is not None:
        run.settled_at = now
    run.save()
    transaction.on_commit(meters.RUNS.labels(end.state).inc)
    return EndedRun(run, calls, _input_uids(run))


def _input_uids(run: Run) -> list[UUID]:
    return list(run.inputs.order_by("order").values_list("uid", flat=True))


def pending_inputs(session_id: UUID) -> list[Input]:
    """All that waits, in order of acceptance, to be shown: of each text only what a preview needs.

    Whole, 32 inputs could be 288 MB, and they are read again with every wake-up.
    """
    found = list(_pending(session_id).defer("text").annotate(begins=Substr("text", 1, PREVIEW_SCALARS + 1)))
    for item in found:
        item.text = item.begins
    return found


def inputs_by_uid(session_id: UUID, uids: Sequence[UUID]) -> list[Input]:
    """Whole, whatever became of them."""
    return list(Input.objects.filter(session_id=session_id, uid__in=uids).order_by("order"))


def _pending(session_id: UUID) -> Any:
    return Input.objects.filter(session_id=session_id, state=Input.State.PENDING).order_by("order")


def _taken(session: Session, run: Run, after_order: int) -> Taken:
    """What `_take` gave, read back."""
    inputs = list(run.inputs.filter(order__gt=after_order).order_by("order"))
    entries = Entry.objects.filter(run=run, kind=Entry.Kind.USER, input__in=inputs).select_related("input")
    return Taken(run, session, inputs, list(entries.order_by("position")))


def _take(session: Session, run: Run, inputs: list[Input]) -> Taken:
    drafts = [text_draft("user", item.text, run_id=run.id, input=item) for item in inputs]
    entries = append(session, drafts)
    for item in inputs:
        item.state = Input.State.COMMITTED
        item.run = run
        item.save(update_fields=["state", "run"])
    return Taken(run, session, inputs, entries)
