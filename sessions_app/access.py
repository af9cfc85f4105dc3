"""Who asks, and what they may see: the one way in, for views and for the stream.

A session of somebody else and one that does not exist get the same answer, `NotFound`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.db import Error
from django.http import parse_cookie

from sessions_app.console import token_logins
from sessions_app.ids import parse_id
from sessions_app.models import Session
from sessions_app.problems import NotFound
from sessions_app.store import tokens
from sessions_app.store.executor import read, write

audit = logging.getLogger("albedo.audit")

BEARER_PROTOCOL = "bearer."
# Tokens are 50 characters, session keys 32: longer ones are not looked up.
CREDENTIAL_CHARS = 200

# Nobody waits for these: a database that takes no writes must not stop those who only read.
_noting: dict[UUID, asyncio.Task[None]] = {}


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request brings. A bearer token, good or bad, is never made up for by a cookie."""

    bearer: str | None = None
    session_key: str | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """A user, and whether a cookie vouches for them: then CSRF and Origin must be checked."""

    user: User
    by_cookie: bool


def credentials(headers: Mapping[str, str], subprotocols: list[str] | None = None) -> Credentials:
    """From header values by lower-case name, and what a WebSocket client offers as subprotocols."""
    authorization = headers.get("authorization")
    if authorization is not None:
        scheme, _, token = authorization.partition(" ")
        return Credentials(bearer=token.strip() if scheme.lower() == "bearer" else "")
    for offered in subprotocols or ():
        if offered.startswith(BEARER_PROTOCOL):
            return Credentials(bearer=offered.removeprefix(BEARER_PROTOCOL))
    cookies = parse_cookie(headers.get("cookie", ""))
    return Credentials(session_key=cookies.get(settings.SESSION_COOKIE_NAME))


def scope_credentials(scope: Mapping[str, Any]) -> Credentials:
    """From an ASGI scope, of HTTP or of a WebSocket."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    return credentials(headers, list(scope.get("subprotocols") or ()))


async def identify(given: Credentials) -> Identity | None:
    """Whose credentials these are; None for none, unknown, revoked, or an inactive user."""
    if given.bearer is not None:
        return await _identify_bearer(given.bearer)
    if given.session_key and len(given.session_key) <= CREDENTIAL_CHARS:
        user = await read(_user_of_login, given.session_key)
        return Identity(user, by_cookie=True) if user else None
    return None


async def _identify_bearer(token: str) -> Identity | None:
    if not token.isascii() or not 0 < len(token) <= CREDENTIAL_CHARS:
        return None
    row = await read(tokens.token_by_text, token)
    if row is None:
        return None
    if tokens.use_is_worth_noting(row) and row.id not in _noting:
        task = _noting[row.id] = asyncio.create_task(_note_use(row.id))
        task.add_done_callback(lambda _: _noting.pop(row.id))
    return Identity(row.user, by_cookie=False)


async def _note_use(token_id: UUID) -> None:
    try:
        await write(tokens.note_use, token_id)
    except Error:
        audit.warning("use of token %s was not noted", token_id)


def _user_of_login(session_key: str) -> User | None:
    """The active user who is logged in under a Django session key, password and token considered."""
    store = cast("type[SessionBase]", import_module(settings.SESSION_ENGINE).SessionStore)
    session = store(session_key)
    user = get_user(SimpleNamespace(session=session))  # type: ignore[arg-type]
    good = isinstance(user, User) and user.is_active and token_logins.is_good(session)
    return user if isinstance(user, User) and good else None


def session_for(user: User, session_id: str | UUID) -> Session:
    """The session if the user may see it. Raises NotFound; runs where the database may be read."""
    key = session_id if isinstance(session_id, UUID) else parse_id(session_id)
    session = Session.objects.filter(id=key).first() if key else None
    if session is None or not (user.is_staff or session.owner_id == user.pk):
        raise NotFound
    if session.owner_id != user.pk:
        audit.info("user %s reads session %s of user %s", user.pk, session.id, session.owner_id)
    return session


async def access_session(user: User, session_id: str | UUID) -> Session:
    """`session_for`, from async code."""
    return await read(session_for, user, session_id)
