"""Who a request is taken for: tokens, logins with CSRF, and the trace that staff leave."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from sessions_app.models import ApiToken, Session
from sessions_app.store.executor import read, write
from sessions_app.store.tokens import issue_token, revoke_token
from tests.integration.api.callers import Caller, problem, told

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "value", ["Bearer", "Bearer ", "Bearer x", "Basic YTpi", "bearer é", "Bearer " + "x" * 900]
)
async def test_a_bad_authorization_header_is_401_even_with_a_login(alice: Caller, value: str) -> None:
    client = AsyncClient()
    await client.aforce_login(alice.user)
    answer = await client.get("/api/sessions", headers={"authorization": value.encode().decode("latin-1")})
    problem(answer, 401, "not_authenticated")  # type: ignore[arg-type]


async def test_a_token_in_the_query_opens_nothing(alice: Caller) -> None:
    answer = await AsyncClient().get(f"/api/sessions?token={alice.token}")
    problem(answer, 401, "not_authenticated")  # type: ignore[arg-type]


async def test_a_revoked_token_and_an_inactive_user_are_nobody(alice: Caller, bob: Caller) -> None:
    token = (await read(ApiToken.objects.get, user=alice.user)).id
    await write(revoke_token, alice.user, token)
    problem(await alice.get("/api/sessions"), 401, "not_authenticated")
    await User.objects.filter(pk=bob.user.pk).aupdate(is_active=False)
    problem(await bob.get("/api/sessions"), 401, "not_authenticated")


async def test_a_login_reads_without_and_writes_only_with_the_csrf_token(alice: Caller) -> None:
    client = AsyncClient(enforce_csrf_checks=True)
    await client.aforce_login(alice.user)
    assert (await client.get("/api/sessions")).status_code == 200
    body: Any = {"content_type": "application/json", "data": b"{}"}
    problem(await client.post("/api/sessions", **body), 403, "csrf_failed")  # type: ignore[arg-type]
    secret = "a" * 32
    client.cookies["csrftoken"] = secret
    wrong = await client.post("/api/sessions", **body, headers={"x-csrftoken": "b" * 32})
    problem(wrong, 403, "csrf_failed")  # type: ignore[arg-type]
    assert await read(Session.objects.count) == 0
    right = await client.post("/api/sessions", **body, headers={"x-csrftoken": secret})
    assert right.status_code == 201


async def test_a_login_that_has_ended_is_nobody(alice: Caller) -> None:
    client = AsyncClient()
    await client.aforce_login(alice.user)
    assert (await client.get("/api/sessions")).status_code == 200
    await client.alogout()
    problem(await client.get("/api/sessions"), 401, "not_authenticated")  # type: ignore[arg-type]


async def test_tokens_stand_in_the_database_as_digests(alice: Caller) -> None:
    made = told(await alice.send("POST", "/api/tokens", {"name": "laptop"}))
    stored = await read(lambda: list(ApiToken.objects.values_list("digest", "name")))
    assert all(made["token"] not in value for row in stored for value in row)
    listed = told(await alice.get("/api/tokens"))
    assert "token" not in listed["items"][-1]
    assert listed["items"][0]["last_used_at"] is not None
    second = Caller(alice.user, made["token"])
    assert (await second.get("/api/server")).status_code == 200
    assert (await alice.send("DELETE", f"/api/tokens/{made['id']}")).status_code == 204
    problem(await second.get("/api/server"), 401, "not_authenticated")


async def test_a_token_of_somebody_else_cannot_be_revoked(alice: Caller, bob: Caller) -> None:
    row, _ = await write(issue_token, alice.user, "")
    problem(await bob.send("DELETE", f"/api/tokens/{row.id}"), 404, "not_found")


async def test_staff_reading_anothers_session_leaves_a_trace(
    alice: Caller, staff: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    session = await alice.make_session()
    caplog.set_level("INFO", "albedo.audit")
    await alice.get(f"/api/sessions/{session['id']}")
    assert caplog.records == [] or all(record.name != "albedo.audit" for record in caplog.records)
    assert (await staff.get(f"/api/sessions/{session['id']}")).status_code == 200
    traces = [record.getMessage() for record in caplog.records if record.name == "albedo.audit"]
    assert traces == [f"user {staff.user.pk} reads session {session['id']} of user {alice.user.pk}"]
