"""Inputs: asking, looking, taking back, and stopping what runs."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import Field, field_validator

from sessions_app.access import access_session
from sessions_app.api import nudges
from sessions_app.api.answers import answer
from sessions_app.api.fingerprints import fingerprint
from sessions_app.api.gate import user_of
from sessions_app.api.schemas import InputList, InputOut
from sessions_app.api.shapes import Body, Id, PageQuery, Shown, new_path_id, page, path_id
from sessions_app.ids import new_id
from sessions_app.models import Input, Session
from sessions_app.problems import NotFound
from sessions_app.render import PREVIEW_SCALARS, Rendered, render_input
from sessions_app.store import inputs as store
from sessions_app.store.executor import read, write
from sessions_app.store.settled import settled

router = Router(tags=["inputs"])

MAX_ORDER = 2**63 - 1


class InputIn(Body):
    text: str = Field(description="Not blank.")
    when_busy: Literal["queue", "steer", "interrupt", "reject"] = "queue"

    @field_validator("text")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must not be blank")
        return value

    def asked(self, uid: UUID) -> store.NewInput:
        return store.NewInput(uid, self.text, self.when_busy, fingerprint(self.model_dump()))


class InterruptIn(Body):
    """Both as a snapshot showed them."""

    run_id: Id | None
    through_input_order: int = Field(ge=0, le=MAX_ORDER)


class Interrupted(Shown):
    run_id: Id | None
    state: Literal["requested", "already_ended"]
    cancelled_input_ids: list[Id]


@router.post("/sessions/{session_id}/inputs", response={202: InputOut})
async def post_input(request: HttpRequest, session_id: str, body: InputIn) -> HttpResponse:
    """Ask; the server names the input. Prefer PUT: it can be repeated."""
    session = await access_session(user_of(request), session_id)
    return await _accept(session, user_of(request), body.asked(new_id()))


@router.put("/sessions/{session_id}/inputs/{input_id}", response={202: InputOut})
async def put_input(request: HttpRequest, session_id: str, input_id: str, body: InputIn) -> HttpResponse:
    """Ask under an id of yours (UUIDv7). 202 means that it is stored; the same body again changes nothing."""
    session = await access_session(user_of(request), session_id)
    return await _accept(session, user_of(request), body.asked(new_path_id(input_id)))


for _view in (post_input, put_input):
    setattr(_view, "large_body", True)  # noqa: B010 - read by the gate


async def _accept(session: Session, user: User, asked: store.NewInput) -> HttpResponse:
    accepted = await settled(store.accept_input, session.id, user, asked)
    if accepted.stops is not None:
        await nudges.interrupt(session.id, accepted.stops, superseded=True)
    await nudges.wake(session.id)
    await nudges.announce(session, "activity")
    location = f"/api/sessions/{session.id}/inputs/{accepted.input.uid}"
    return answer(render_input(accepted.input), 202, location=location)


@router.get("/sessions/{session_id}/inputs", response=InputList)
async def list_inputs(request: HttpRequest, session_id: str, query: Query[PageQuery]) -> HttpResponse:
    """All inputs in order of acceptance, their texts as previews."""
    session = await access_session(user_of(request), session_id)
    return answer(await read(_list, session.id, query))


def _list(session_id: UUID, query: PageQuery) -> Rendered:
    name = ["inputs", session_id]
    position = query.position(name)
    limit = query.count()
    rows = Input.objects.filter(session_id=session_id).select_related("run").order_by("order")
    if position is not None:
        rows = rows.filter(order__gt=position[0])
    shown, token = page(list(rows[: limit + 1]), limit, name, lambda row: [row.order])
    return {"items": [render_input(row, PREVIEW_SCALARS) for row in shown], "next": token}


@router.get("/sessions/{session_id}/inputs/{input_id}", response=InputOut)
async def get_input(request: HttpRequest, session_id: str, input_id: str) -> HttpResponse:
    """The input as it is now, and how its run ended."""
    session = await access_session(user_of(request), session_id)
    return answer(await read(_one, session.id, path_id(input_id)))


def _one(session_id: UUID, uid: UUID) -> Rendered:
    found = Input.objects.filter(session_id=session_id, uid=uid).select_related("run").first()
    if found is None:
        raise NotFound
    return render_input(found)


@router.post("/sessions/{session_id}/inputs/{input_id}/cancel", response=InputOut)
async def cancel_input(request: HttpRequest, session_id: str, input_id: str) -> HttpResponse:
    """Take a waiting input out."""
    session = await access_session(user_of(request), session_id)
    cancelled = await write(store.cancel_input, session.id, path_id(input_id))
    await nudges.wake(session.id)
    await nudges.announce(session, "activity")
    return answer(render_input(cancelled))


@router.post("/sessions/{session_id}/interrupt", response=Interrupted)
async def interrupt(request: HttpRequest, session_id: str, body: InterruptIn) -> HttpResponse:
    """Cancel what waits up to an order and stop exactly one run. Answers at once."""
    user = user_of(request)
    session = await access_session(user, session_id)
    run_id = None if body.run_id is None else path_id(body.run_id)
    done = await write(store.interrupt_run, session.id, user, run_id, body.through_input_order)
    if done.stops and run_id is not None:
        await nudges.interrupt(session.id, run_id)
    if done.cancelled:
        await nudges.wake(session.id)
    await nudges.announce(session, "activity")
    return answer(_interrupted(run_id, done))


def _interrupted(run_id: UUID | None, done: store.Interruption) -> dict[str, Any]:
    return {
        "run_id": str(run_id) if run_id else None,
        "state": "requested" if done.stops else "already_ended",
        "cancelled_input_ids": [str(uid) for uid in done.cancelled],
    }
