"""Sessions: making, listing, reading, changing, removing."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field, StringConstraints

from sessions_app import workspaces
from sessions_app.access import access_session
from sessions_app.api import nudges
from sessions_app.api.answers import answer, nothing
from sessions_app.api.fingerprints import fingerprint
from sessions_app.api.gate import user_of
from sessions_app.api.mcp_servers import McpServers, as_stored, require_may_set
from sessions_app.api.schemas import SessionList, SessionOut, SessionSummary
from sessions_app.api.shapes import (
    Body,
    Flag,
    Name,
    Number,
    PageQuery,
    ProfileChoice,
    left_out,
    new_path_id,
    page,
)
from sessions_app.ids import new_id
from sessions_app.models import Session
from sessions_app.overview import in_status, latest_first, summary, with_work
from sessions_app.removal import remove
from sessions_app.render import Rendered, render_time
from sessions_app.snapshots import session_snapshot
from sessions_app.store import inputs as input_store
from sessions_app.store import retention
from sessions_app.store import sessions as store
from sessions_app.store.executor import read, write
from sessions_app.store.settled import settled

router = Router(tags=["sessions"])

TAIL_DEFAULT, TAIL_MAX = 100, 200
# A client waits this long for a removal; what is left then is the hosts'.
REMOVAL_SECONDS = 2.0
Instructions = Annotated[str, StringConstraints(max_length=20_000)]
Workspace = Annotated[str, StringConstraints(max_length=workspaces.MAX_PATH_CHARS)]


class SessionIn(Body):
    name: Name = ""
    workspace: Workspace = Field("", description="An absolute folder; empty: one of the session's own.")
    provider: ProfileChoice = ""
    model: Name = ""
    instructions: Instructions = ""
    mcp_servers: McpServers = []

    def asked(self) -> store.NewSession:
        texts = {name: getattr(self, name) for name in store.TEXT_FIELDS}
        # A body that names no servers keeps the fingerprint that it always had.
        named = self.model_dump(exclude=set() if self.mcp_servers else {"mcp_servers"})
        return store.NewSession(self.workspace, texts, fingerprint(named), as_stored(self.mcp_servers))


class SessionChange(Body):
    name: Name = left_out()
    archived: bool = left_out()
    provider: ProfileChoice = left_out()
    model: Name = left_out()
    instructions: Instructions = left_out()
    mcp_servers: McpServers = left_out("The whole list; it takes the old one's place.")


class SessionQuery(PageQuery):
    search: Annotated[str, StringConstraints(max_length=200)] | None = Field(None, description="In the name.")
    archived: Flag | None = None
    status: Literal["idle", "busy", "running", "interrupting"] | None = None


class TailQuery(Schema):
    tail: Number = Field(TAIL_DEFAULT, ge=0, le=TAIL_MAX, description="Entries of history in the snapshot.")


class DeleteQuery(Schema):
    force: Flag = Field(False, description="Interrupt what runs instead of refusing.")


@router.post("/sessions", response={201: SessionOut})
async def create_session(request: HttpRequest, body: SessionIn) -> HttpResponse:
    """Make a session; the server names it."""
    return await _create(user_of(request), body, None)


@router.put("/sessions/{session_id}", response={200: SessionOut, 201: SessionOut})
async def put_session(request: HttpRequest, session_id: str, body: SessionIn) -> HttpResponse:
    """Make a session under an id of yours (UUIDv7). The same body again answers 200 with the session."""
    return await _create(user_of(request), body, new_path_id(session_id))


async def _create(user: User, body: SessionIn, session_id: UUID | None) -> HttpResponse:
    require_may_set(user, body.mcp_servers)
    session, new = await settled(store.create_session, user, body.asked(), session_id or new_id())
    if new:
        await nudges.announce(session, "invalidate")
    shown = await session_snapshot(session, TAIL_DEFAULT)
    made = new or session_id is None
    return answer(shown, 201 if made else 200, location=f"/api/sessions/{session.id}")


@router.get("/sessions", response=SessionList)
async def list_sessions(request: HttpRequest, query: Query[SessionQuery]) -> HttpResponse:
    """Summaries of your sessions (staff: of all), latest activity first."""
    return answer(await read(_list, user_of(request), query))


def _list(user: User, query: SessionQuery) -> Rendered:
    name = ["sessions", user.pk, query.search, query.archived, query.status]
    position = query.position(name)
    limit = query.count()
    rows = with_work(Session.objects.all() if user.is_staff else Session.objects.filter(owner=user))
    if query.search:
        rows = rows.filter(name__icontains=query.search)
    if query.archived is not None:
        rows = rows.filter(archived=query.archived)
    if query.status is not None:
        rows = in_status(rows, query.status)
    after = (position[0], position[1]) if position else None
    found = list(latest_first(rows, after, limit + 1))
    shown, token = page(found, limit, name, lambda row: [render_time(row.activity_at), row.id])
    return {"items": [summary(row) for row in shown], "next": token}


@router.get("/sessions/{session_id}", response=SessionOut)
async def get_session(request: HttpRequest, session_id: str, query: Query[TailQuery]) -> HttpResponse:
    """One consistent snapshot. Starts no actor."""
    session = await access_session(user_of(request), session_id)
    return answer(await session_snapshot(session, query.tail))


@router.patch("/sessions/{session_id}", response=SessionSummary)
async def patch_session(request: HttpRequest, session_id: str, body: SessionChange) -> HttpResponse:
    """Change some fields; what is not named stays."""
    session = await access_session(user_of(request), session_id)
    require_may_set(user_of(request), body.mcp_servers)
    changes: dict[str, Any] = body.model_dump(exclude_unset=True, exclude={"mcp_servers"})
    if "mcp_servers" in body.model_fields_set:
        changes["mcp_servers"] = as_stored(body.mcp_servers)
    changed = await settled(store.update_session, session.id, changes)
    await nudges.announce(changed, "invalidate")
    return answer(await read(_summary, changed.id))


def _summary(session_id: UUID) -> Rendered:
    return summary(with_work(Session.objects.filter(id=session_id)).get())


@router.delete("/sessions/{session_id}", response={204: None})
async def delete_session(request: HttpRequest, session_id: str, query: Query[DeleteQuery]) -> HttpResponse:
    """Remove an idle session, its history and its workspace under DIR/workspaces; other folders stay.

    It is gone for everybody before the answer; of a large one some rows may be removed behind it.
    """
    user = user_of(request)
    session = await access_session(user, session_id)
    if query.force:
        await write(input_store.ask_open_run_to_stop, session.id, user)
    else:
        await read(store.require_idle, session.id)
    # The actor is found by the session's row, so it is stopped first.
    await nudges.stop_deleted(session.id)
    removal = retention.new_removal(session.id)
    await settled(retention.mark_deleted, removal, force=query.force)
    await nudges.announce(session, "invalidate")
    await remove(removal, REMOVAL_SECONDS)
    return nothing()
