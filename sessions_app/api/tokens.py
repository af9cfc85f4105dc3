"""A user's own API tokens: made, listed by name, revoked."""

from __future__ import annotations

from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import Field

from sessions_app.api.answers import answer, nothing
from sessions_app.api.gate import user_of
from sessions_app.api.shapes import Body, Id, PageQuery, Shown, Time, page, path_id
from sessions_app.models import ApiToken
from sessions_app.render import Rendered, render_time
from sessions_app.store import tokens as store
from sessions_app.store.executor import read, write

router = Router(tags=["tokens"])


class TokenIn(Body):
    name: str = Field("", max_length=100)


class TokenOut(Shown):
    id: Id
    name: str
    created_at: Time
    last_used_at: Time | None
    revoked_at: Time | None


class NewToken(TokenOut):
    token: str = Field(description="Shown this once.")


class TokenList(Shown):
    items: list[TokenOut]
    next: str | None


@router.post("/tokens", response={201: NewToken})
async def create_token(request: HttpRequest, body: TokenIn) -> HttpResponse:
    """Make a token that may do whatever you may."""
    row, token = await write(store.issue_token, user_of(request), body.name)
    return answer({**_shown(row), "token": token}, 201)


@router.get("/tokens", response=TokenList)
async def list_tokens(request: HttpRequest, query: Query[PageQuery]) -> HttpResponse:
    """Your tokens, oldest first."""
    return answer(await read(_list, user_of(request), query))


def _list(user: User, query: PageQuery) -> Rendered:
    name = ["tokens", user.pk]
    position = query.position(name)
    limit = query.count()
    rows = store.list_tokens(user, limit=limit + 1, after=UUID(position[0]) if position else None)
    shown, token = page(rows, limit, name, lambda row: [row.id])
    return {"items": [_shown(row) for row in shown], "next": token}


@router.delete("/tokens/{token_id}", response={204: None})
async def revoke_token(request: HttpRequest, token_id: str) -> HttpResponse:
    """End a token: it opens nothing from now on."""
    await write(store.revoke_token, user_of(request), path_id(token_id))
    return nothing()


def _shown(row: ApiToken) -> Rendered:
    return {
        "id": str(row.id),
        "name": row.name,
        "created_at": render_time(row.created_at),
        "last_used_at": render_time(row.last_used_at),
        "revoked_at": render_time(row.revoked_at),
    }
