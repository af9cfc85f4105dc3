"""Credentials as the stream's connections bring them."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import AsyncClient

from sessions_app.access import access_session, identify, scope_credentials
from sessions_app.problems import NotFound
from sessions_app.store.executor import write
from sessions_app.store.tokens import revoke_token, token_by_text
from tests.integration.api.callers import Caller, fresh

pytestmark = pytest.mark.django_db(transaction=True)


def scope(subprotocols: tuple[str, ...] = (), **headers: str) -> dict[str, Any]:
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": "websocket", "headers": pairs, "subprotocols": list(subprotocols)}


async def user_for_scope(given: dict[str, Any]) -> User | None:
    identity = await identify(scope_credentials(given))
    return identity.user if identity else None


async def test_a_token_comes_by_header_or_by_subprotocol(alice: Caller) -> None:
    by_header = await user_for_scope(scope(authorization=f"Bearer {alice.token}"))
    by_protocol = await user_for_scope(scope(("albedo.v1", f"bearer.{alice.token}")))
    assert by_header == by_protocol == alice.user


async def test_a_login_comes_by_its_cookie_until_it_ends(alice: Caller) -> None:
    client = AsyncClient()
    await client.aforce_login(alice.user)
    cookie = f"a=b; {settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    assert await user_for_scope(scope(cookie=cookie)) == alice.user
    await client.alogout()
    assert await user_for_scope(scope(cookie=cookie)) is None


async def test_a_revoked_token_is_nobodys_from_then_on(alice: Caller) -> None:
    given = scope(authorization=f"Bearer {alice.token}")
    row = await write(token_by_text, alice.token)
    assert row is not None
    await write(revoke_token, alice.user, row.id)
    assert await user_for_scope(given) is None


@pytest.mark.parametrize(
    "given",
    [
        scope(),
        scope(authorization="Bearer "),
        scope(authorization="Bearer \xff"),
        scope(authorization="Token x"),
        scope(("bearer.",)),
        scope(("bearer." + "x" * 9_999,)),
        scope(cookie="sessionid=" + "x" * 9_999),
        scope(cookie="sessionid=nobody"),
        scope(cookie="\x01;;=;sessionid"),
    ],
    ids=range(9),
)
async def test_anything_else_is_nobody(alice: Caller, given: dict[str, Any]) -> None:
    assert await user_for_scope(given) is None


async def test_ids_that_are_none_and_sessions_of_others_are_one_answer(alice: Caller, bob: Caller) -> None:
    session_id = (await alice.make_session())["id"]
    assert str((await access_session(alice.user, session_id)).id) == session_id
    for wrong in (fresh(), "", "x", session_id.replace("-", ""), f"{{{session_id}}}", session_id + "\n"):
        with pytest.raises(NotFound):
            await access_session(alice.user, wrong)
    with pytest.raises(NotFound):
        await access_session(bob.user, session_id)
