"""MCP servers in sessions and profiles: who may set which, and that no secret is read back."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.models import ProviderProfile, Session
from sessions_app.store.executor import read
from sessions_app.store.sessions import resolve_mcp_servers
from tests.integration.api.callers import Caller, Json, problem, told

pytestmark = pytest.mark.django_db(transaction=True)

CANARY = "canary-81c7e0"
STDIO = {
    "name": "files",
    "transport": "stdio",
    "command": "run-it",
    "args": ["-x"],
    "env": {"A_TOKEN": CANARY},
}
HTTP = {
    "name": "search",
    "transport": "http",
    "url": "http://127.0.0.1:9/mcp",
    "headers": {"Authorization": CANARY},
}
SHOWN = [
    {
        "name": "files",
        "transport": "stdio",
        "command": "run-it",
        "args": ["-x"],
        "env": {"A_TOKEN": {"has_value": True}},
    },
    {
        "name": "search",
        "transport": "http",
        "url": "http://127.0.0.1:9/mcp",
        "headers": {"Authorization": {"has_value": True}},
    },
]


async def resolved(session: Json) -> dict[str, Any]:
    row = await read(Session.objects.get, id=session["id"])
    return {server.name: server for server in await read(resolve_mcp_servers, row)}


async def test_secrets_are_sealed_and_never_shown(staff: Caller) -> None:
    made = await staff.send("POST", "/api/sessions", {"mcp_servers": [STDIO, HTTP]})
    assert told(made)["mcp_servers"] == SHOWN
    session = told(made)
    for answer in (made, await staff.get(f"/api/sessions/{session['id']}"), await staff.get("/api/sessions")):
        assert CANARY.encode() not in answer.content
    assert CANARY not in repr(await read(lambda: list(Session.objects.values_list())))
    servers = await resolved(session)
    assert servers["files"].env == {"A_TOKEN": CANARY}
    assert servers["search"].headers == {"Authorization": CANARY}
    assert CANARY not in repr(servers)


async def test_null_keeps_a_secret_that_goes_to_the_same_place(staff: Caller) -> None:
    session = await staff.make_session(mcp_servers=[HTTP])
    path = f"/api/sessions/{session['id']}"
    kept = {**HTTP, "headers": {"Authorization": None, "X-More": "m"}}
    changed = told(await staff.send("PATCH", path, {"mcp_servers": [kept]}))
    assert changed["mcp_servers"][0]["headers"] == {
        "Authorization": {"has_value": True},
        "X-More": {"has_value": True},
    }
    assert (await resolved(session))["search"].headers == {"Authorization": CANARY, "X-More": "m"}
    for moved in (
        {**kept, "url": "http://127.0.0.1:10/mcp"},
        {**kept, "name": "another"},
        {**kept, "headers": {"X-New": None}},
    ):
        refused = await staff.send("PATCH", path, {"mcp_servers": [moved]})
        assert problem(refused, 400, "invalid_request")["fields"] == ["/mcp_servers"]
    assert told(await staff.send("PATCH", path, {"mcp_servers": []}))["mcp_servers"] == []
    assert await resolved(session) == {}


async def test_a_command_is_for_staff_alone(alice: Caller, staff: Caller) -> None:
    problem(await alice.send("POST", "/api/sessions", {"mcp_servers": [STDIO]}), 403, "forbidden")
    session = await alice.make_session(mcp_servers=[HTTP])
    path = f"/api/sessions/{session['id']}"
    problem(await alice.send("PATCH", path, {"mcp_servers": [STDIO]}), 403, "forbidden")
    assert [server["name"] for server in told(await alice.get(path))["mcp_servers"]] == ["search"]
    assert (await staff.send("PATCH", path, {"mcp_servers": [STDIO]})).status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {**HTTP, "name": "a_b"},
        {**HTTP, "name": "A"},
        {**HTTP, "name": "x" * 33},
        {**HTTP, "transport": "sse"},
        {**HTTP, "url": "http://169.254.169.254/mcp"},
        {**HTTP, "url": "file:///etc/passwd"},
        {**HTTP, "command": "run-it"},
        {**HTTP, "headers": {"Host": "elsewhere"}},
        {**HTTP, "headers": {"X-A": "line\r\nX-B: b"}},
        {**STDIO, "command": ""},
        {**STDIO, "args": "-x"},
        {**STDIO, "env": {"LD_PRELOAD": "evil.so"}},
        {**STDIO, "env": {"A=B": "c"}},
    ],
)
async def test_a_description_that_cannot_be_meant_is_refused(staff: Caller, wrong: Json) -> None:
    refused = problem(
        await staff.send("POST", "/api/sessions", {"mcp_servers": [wrong]}), 400, "invalid_request"
    )
    assert all(field.startswith("/mcp_servers") for field in refused["fields"])
    assert await read(Session.objects.count) == 0


async def test_two_servers_of_one_name_are_refused(staff: Caller) -> None:
    refused = await staff.send("POST", "/api/sessions", {"mcp_servers": [HTTP, {**STDIO, "name": "search"}]})
    assert problem(refused, 400, "invalid_request")["fields"] == ["/mcp_servers"]


async def test_a_session_has_its_profile_s_servers_and_its_own_win(staff: Caller) -> None:
    body = {"base_url": "http://127.0.0.1:9/v1", "protocol": "responses", "model": "m"}
    path = "/api/providers/mine"
    made = await staff.send("PUT", path, {**body, "mcp_servers": [STDIO, HTTP]})
    assert told(made)["mcp_servers"] == SHOWN
    assert CANARY.encode() not in (await staff.get(path)).content
    assert CANARY not in repr(await read(lambda: list(ProviderProfile.objects.values_list())))
    own = {"name": "search", "transport": "http", "url": "http://127.0.0.1:8/own"}
    session = await staff.make_session(provider="mine", mcp_servers=[own])
    servers = await resolved(session)
    assert (servers["files"].command, servers["search"].url) == ("run-it", own["url"])
    assert servers["search"].headers == {}
    await staff.send("PATCH", path, {"model": "n"})
    assert told(await staff.get(path))["mcp_servers"] == SHOWN
    await staff.send("PUT", path, body)
    assert told(await staff.get(path))["mcp_servers"] == []


async def test_the_same_put_again_is_the_same_session(staff: Caller) -> None:
    path = "/api/sessions/01900000-0000-7000-8000-000000000001"
    assert (await staff.send("PUT", path, {"mcp_servers": [HTTP]})).status_code == 201
    assert (await staff.send("PUT", path, {"mcp_servers": [HTTP]})).status_code == 200
    problem(await staff.send("PUT", path, {"mcp_servers": []}), 409, "session_conflict")
    other = "/api/sessions/01900000-0000-7000-8000-000000000002"
    assert (await staff.send("PUT", other, {"name": "n"})).status_code == 201
    assert (await staff.send("PUT", other, {"name": "n", "mcp_servers": []})).status_code == 200
