"""What every request passes: size, identity, method, query, body. All refusals have one shape."""

from __future__ import annotations

import re
from functools import cache
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from sessions_app.api import api
from sessions_app.models import ApiToken, Input, ProviderProfile, Session
from sessions_app.store.executor import read
from tests.integration.api.callers import Caller, RecordedLive, fresh, problem, told

pytestmark = pytest.mark.django_db(transaction=True)

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def routes() -> list[str]:
    """Every path of the API as the resolver has it, `/api/` before it."""
    return [f"/api/{pattern.pattern}" for pattern in api.urls[0] if str(pattern.pattern)]


@cache
def documented_paths() -> dict[str, Any]:
    paths: dict[str, Any] = api.get_openapi_schema(path_prefix="/api/")["paths"]
    return paths


def allowed(route: str) -> list[str]:
    """The methods of a path, as the document has them."""
    path = route.replace("<", "{").replace(">", "}")
    return [method.upper() for method in documented_paths().get(path, ())]


def filled(route: str, **names: str) -> str:
    return re.sub(r"<(\w+)>", lambda match: names.get(match[1], fresh()), route)


def counts() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Session, Input, ApiToken, ProviderProfile, User))


async def test_no_route_answers_without_credentials(alice: Caller) -> None:
    before = await read(counts)
    client = AsyncClient()
    for route in [*routes(), "/api/nothing/here", "/api/"]:
        for method in METHODS:
            if route == "/api/health":
                continue
            answer = await client.generic(method, filled(route), b"{}", "application/json")
            problem(answer, 401, "not_authenticated")  # type: ignore[arg-type]
            assert answer["WWW-Authenticate"].startswith("Bearer")
    assert await read(counts) == before


async def test_health_is_bare(transactional_db: None, live: RecordedLive, host_here: None) -> None:
    answer = await AsyncClient().get("/api/health")
    assert answer.content == b'{"status":"ok"}'


async def test_every_answer_to_a_stranger_is_that_to_an_unknown_session(alice: Caller, bob: Caller) -> None:
    session = await alice.make_session(name="mine")
    await alice.send("POST", f"/api/sessions/{session['id']}/inputs", {"text": "secret"})
    bodies: dict[str, Any] = {
        "inputs": {"text": "x"},
        "interrupt": {"run_id": None, "through_input_order": 0},
    }
    for route in routes():
        child = fresh()
        for method in allowed(route):
            if "<session_id>" not in route or (method == "PUT" and route.endswith("<session_id>")):
                continue  # such a PUT makes a session where the id is free
            body = bodies.get("interrupt" if route.endswith("interrupt") else "inputs")
            shown = []
            for session_id in (session["id"], str(uuid4())):
                path = re.sub(r"<\w+>", child, route.replace("<session_id>", session_id))
                answer = await bob.send(method, path, body if method in ("POST", "PUT") else None)
                assert answer.status_code >= 400
                shown.append((answer.status_code, answer.content, sorted(answer.headers.items())))
            assert shown[0] == shown[1], (method, route)
    assert (await read(Session.objects.get, id=session["id"])).name == "mine"
    assert await read(Input.objects.count) == 1


async def test_a_child_must_belong_to_the_session_in_its_path(alice: Caller) -> None:
    one, two = await alice.make_session(), await alice.make_session()
    made = told(await alice.send("POST", f"/api/sessions/{one['id']}/inputs", {"text": "x"}))
    problem(await alice.get(f"/api/sessions/{two['id']}/inputs/{made['id']}"), 404, "not_found")
    cancel = f"/api/sessions/{two['id']}/inputs/{made['id']}/cancel"
    problem(await alice.send("POST", cancel), 404, "not_found")


async def test_methods_that_are_not_there_name_those_that_are(alice: Caller) -> None:
    answer = await alice.send("DELETE", "/api/sessions")
    problem(answer, 405, "method_not_allowed")
    assert answer["Allow"] == "GET, POST"


@pytest.mark.parametrize("path", ["/api/", "/api/x", "/api/sessions/", "/api/sessions/../x", "/api/%00"])
async def test_paths_that_are_not_there_are_problems(alice: Caller, path: str) -> None:
    problem(await alice.get(path), 404, "not_found")


@pytest.mark.parametrize("query", ["search=%ff", "search=%ED%A0%80", "%ff=1"])
async def test_a_query_that_is_not_utf8_is_400(alice: Caller, query: str) -> None:
    problem(await alice.get(f"/api/sessions?{query}"), 400, "invalid_request")
    assert (await alice.get("/api/sessions?search=%c3%a9")).status_code == 200


@pytest.mark.parametrize("path", ["/api/sessions", "/api/nothing", "/api/health", "/api/docs", "/api/server"])
async def test_nothing_is_to_be_cached_and_nobody_else_may_read(alice: Caller, path: str) -> None:
    answer = await alice.send("GET", path, headers={"origin": "https://evil.example"})
    assert answer["Cache-Control"] == "no-store"
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


async def test_a_foreign_host_is_refused(alice: Caller) -> None:
    problem(
        await alice.send("GET", "/api/sessions", headers={"host": "evil.example"}), 400, "invalid_request"
    )


MALFORMED: list[bytes] = [
    b" ",
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"{'text': 'x'}",
    b'{"text": "x"} {}',
    b'{"text": "x",}',
    b'\xef\xbb\xbf{"text": "x"}',
    '{"text": "x"}'.encode("utf-16"),
    b'{"text": "\xff"}',
    b'{"text": "\xed\xa0\x80"}',
    b'{"text": "\\u0000"}',
    b'{"text": "\\ud800"}',
    b'{"text": "x", "text": "y"}',
    b'{"text": "x", "\\u0000": 1}',
    b'{"text": NaN}',
    b'{"text": Infinity}',
    b'{"text": 1e400}',
    b'{"text": ' + b"9" * 5_000 + b"}",
    b'{"text": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    b'{"text": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}",
    b'{"text": "x", "__proto__": {}}',
    b'{"text": ["x"]}',
    b'{"text": true}',
    b'{"text": "x", "n": -0}',
]


BODY_ROUTES = [
    ("POST", "/api/sessions"),
    ("PATCH", "/api/sessions/<session_id>"),
    ("POST", "/api/sessions/<session_id>/inputs"),
    ("PUT", "/api/sessions/<session_id>/inputs/<input_id>"),
    ("POST", "/api/sessions/<session_id>/interrupt"),
    ("PUT", "/api/providers/<name>"),
    ("PATCH", "/api/providers/<name>"),
    ("POST", "/api/tokens"),
]


@pytest.mark.parametrize(("method", "route"), BODY_ROUTES)
async def test_a_malformed_body_is_400_and_changes_nothing(staff: Caller, method: str, route: str) -> None:
    session = await staff.make_session()
    before = await read(counts)
    path = filled(route, session_id=session["id"], name="some")
    for data in MALFORMED:
        problem(await staff.send(method, path, data=data), 400, "invalid_request")
    assert await read(counts) == before


def test_the_routes_that_take_a_body_are_all_tried() -> None:
    taking = {
        (method.upper(), path.replace("{", "<").replace("}", ">"))
        for path, methods in documented_paths().items()
        for method, operation in methods.items()
        if "requestBody" in operation
    }
    assert taking == {*BODY_ROUTES, ("PUT", "/api/sessions/<session_id>")}


async def test_a_malformed_body_is_not_repeated_in_its_problem(alice: Caller) -> None:
    for body in ({"name": {"canary-6f1e": 1}}, {"name": "x" * 300, "model": 5}):
        answer = await alice.send("POST", "/api/sessions", body)
        problem(answer, 400, "invalid_request")
        assert b"canary" not in answer.content.replace(b"/name/canary", b"")


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "application/json; charset=utf-16",
    ],
)
async def test_only_json_is_taken(alice: Caller, content_type: str) -> None:
    answer = await alice.send("POST", "/api/sessions", data=b'{"name": "x"}', content_type=content_type)
    problem(answer, 415, "unsupported_media_type")
    assert await read(Session.objects.count) == 0


async def test_a_body_beyond_the_bound_is_refused_before_identity(settings: Any) -> None:
    answer = await AsyncClient().post("/api/sessions", b"x" * 70_000, "application/json")
    problem(answer, 413, "too_large")  # type: ignore[arg-type]


async def test_u2028_and_astral_text_are_kept_as_they_are(alice: Caller) -> None:
    name = "a\u2028b😀e\u0301"
    assert (await alice.make_session(name=name))["name"] == name


async def test_the_document_names_every_route_with_its_shapes(alice: Caller) -> None:
    document = told(await alice.get("/api/openapi.json"))
    documented = {path.replace("{", "<").replace("}", ">") for path in document["paths"]}
    assert documented == {route for route in routes() if "openapi" not in route and "docs" not in route}
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation["description"]
            assert "application/problem+json" in operation["responses"]["default"]["content"]
    assert document["security"] == [{"bearer": []}, {"cookie": []}]
    page = await alice.get("/api/docs")
    assert page.status_code == 200
    assert b"swagger-ui-bundle.js" in page.content
    assert b"cdn" not in page.content


async def test_inspection_is_not_there_unless_opened(alice: Caller, staff: Caller, settings: Any) -> None:
    session = await alice.make_session()
    path = f"/api/inspect/sessions/{session['id']}"
    problem(await staff.get(path), 404, "not_found")
    settings.INSPECT = True
    problem(await alice.get(path), 404, "not_found")
    assert told(await staff.get(path))["generation"] is None
    assert (await staff.send("POST", f"{path}/restart")).status_code == 204
