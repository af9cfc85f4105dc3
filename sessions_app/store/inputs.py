"""Inputs accepted and cancelled, runs asked to stop: each in one transaction that holds the session."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from sessions_app import meters
from sessions_app.ids import new_id
from sessions_app.models import Input, Run, Session
from sessions_app.problems import Conflict, NotFound, QueueFull
from sessions_app.store.sessions import require_idle


@dataclass(frozen=True, slots=True)
class NewInput:
    """What a client asks. `uid` None: the server names it. `fingerprint` tells a repeated request."""

    uid: UUID | None
    text: str
    when_busy: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Acceptance:
    """`stops` is the run that the input asked to interrupt."""

    input: Input
    stops: UUID | None


@dataclass(frozen=True, slots=True)
class Interruption:
    """`stops` is whether the run was unfinished; `cancelled` are the uids of inputs taken out, in order."""

    stops: bool
    cancelled: list[UUID]


def accept_input(session_id: UUID, author: User, asked: NewInput) -> Acceptance:
    """Store an input behind all earlier ones; the same uid and body again change nothing.

    Raises NotFound, QueueFull, and Conflict: `input_conflict` for another body under a known uid,
    `session_busy` where `when_busy` is `reject`.
    """
    with transaction.atomic():
        session = _hold(session_id)
        known = _known(session_id, asked)
        if known is not None:
            return Acceptance(known, None)
        if asked.when_busy == Input.WhenBusy.REJECT:
            require_idle(session_id)
        if _waiting(session_id).count() >= settings.ALBEDO["queue_limit"]:
            raise QueueFull(int(settings.ALBEDO["queue_limit"]))
        stops = None
        if asked.when_busy == Input.WhenBusy.INTERRUPT:
            stops = _ask_to_stop(Run.objects.filter(session_id=session_id), author)
        return Acceptance(_append(session, author, asked), stops)


def _hold(session_id: UUID) -> Session:
    session = Session.objects.select_for_update().filter(id=session_id).first()
    if session is None:
        raise NotFound
    return session


def _known(session_id: UUID, asked: NewInput) -> Input | None:
    if asked.uid is None:
        return None
    known = Input.objects.filter(session_id=session_id, uid=asked.uid).select_related("run").first()
    if known is not None and known.fingerprint != asked.fingerprint:
        raise Conflict("input_conflict", "An input with this id was accepted with another body.")
    return known


def _append(session: Session, author: User, asked: NewInput) -> Input:
    session.input_order += 1
    session.activity_at = timezone.now()
    session.save(update_fields=["input_order", "activity_at"])
    transaction.on_commit(meters.INPUTS.inc)
    return Input.objects.create(
        session=session,
        uid=asked.uid or new_id(),
        author=author,
        order=session.input_order,
        text=asked.text,
        when_busy=asked.when_busy,
        fingerprint=asked.fingerprint,
        created_at=session.activity_at,
    )


def _waiting(session_id: UUID) -> QuerySet[Input]:
    return Input.objects.filter(session_id=session_id, state=Input.State.PENDING)


def _ask_to_stop(runs: QuerySet[Run], user: User) -> UUID | None:
    """Put the interrupt of the unfinished run among `runs` on record; the first one who asks stands there."""
    run = runs.filter(state=Run.State.RUNNING).first()
    if run is None:
        return None
    unasked = Run.objects.filter(id=run.id, state=Run.State.RUNNING, interrupt_requested_at__isnull=True)
    unasked.update(interrupt_requested_at=timezone.now(), interrupt_by=user.get_username())
    return run.id


def cancel_input(session_id: UUID, uid: UUID) -> Input:
    """Take a waiting input out. Raises NotFound; Conflict `not_pending` once it is anything else."""
    with transaction.atomic():
        _hold(session_id)
        found = Input.objects.filter(session_id=session_id, uid=uid).first()
        if found is None:
            raise NotFound
        if found.state != Input.State.PENDING:
            raise Conflict("not_pending", "The input waits no longer.")
        found.state = Input.State.CANCELLED
        found.save(update_fields=["state"])
        return found


def interrupt_run(session_id: UUID, user: User, run_id: UUID | None, through_order: int) -> Interruption:
    """Cancel inputs that still wait up to `through_order`, and ask exactly that run to stop.

    Raises NotFound for a run that the session never had. A run that has ended is left as it is.
    """
    with transaction.atomic():
        _hold(session_id)
        runs = Run.objects.filter(session_id=session_id, id=run_id) if run_id else Run.objects.none()
        if run_id is not None and not runs.exists():
            raise NotFound
        taken = list(_waiting(session_id).filter(order__lte=through_order).order_by("order"))
        Input.objects.filter(pk__in=[item.pk for item in taken]).update(state=Input.State.CANCELLED)
        stops = _ask_to_stop(runs, user) is not None
        return Interruption(stops, [item.uid for item in taken])


def ask_open_run_to_stop(session_id: UUID, user: User) -> UUID | None:
    """Put an interrupt of whatever run is unfinished on record; its id, or None where none is."""
    with transaction.atomic():
        _hold(session_id)
        return _ask_to_stop(Run.objects.filter(session_id=session_id), user)
