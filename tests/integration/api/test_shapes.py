"""What the document promises is what is answered: real answers against the published shapes."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema
import pytest

from sessions_app.api import api
from sessions_app.store.executor import read
from tests.integration.api.callers import Caller, told
from tests.integration.api.rows import add_call, add_call_entry, add_run, add_texts
from tests.integration.api.test_attempts import add_attempt
from tests.integration.api.test_stream import LIVE_PART, RESET

pytestmark = pytest.mark.django_db(transaction=True)


@cache
def published() -> dict[str, Any]:
    return api.get_openapi_schema(path_prefix="/api/")


def check(method: str, path: str, answer: Any) -> None:
    """Raises where an answer is not of the shape that the document has for it."""
    document = published()
    found = document["paths"][path][method]["responses"][answer.status_code]
    schema = found["content"]["application/json"]["schema"]
    jsonschema.validate(told(answer), {**schema, "components": document["components"]})


async def test_answers_have_the_documented_shapes(alice: Caller, staff: Caller, live: Any) -> None:
    made = await alice.send("POST", "/api/sessions", {"name": "n"})
    check("post", "/api/sessions", made)
    session_id = told(made)["id"]
    path, base = f"/api/sessions/{session_id}", "/api/sessions/{session_id}"
    run = await read(add_run, session_id, interrupt_requested_at="2026-01-01T00:00:00Z", kernel="idle")
    call = await read(add_call, session_id, run, "{}")
    entry = await read(add_call_entry, call, {"arguments": "{}" * 9})
    await read(add_texts, session_id, ["t"])
    attempt = await read(add_attempt, run, 1)
    asked = await alice.send("POST", f"{path}/inputs", {"text": "x"})
    check("post", f"{base}/inputs", asked)
    for shape, target in (
        ("/api/sessions", "/api/sessions"),
        (base, path),
        (f"{base}/inputs", f"{path}/inputs"),
        (f"{base}/inputs/{{input_id}}", f"{path}/inputs/{told(asked)['id']}"),
        (f"{base}/runs", f"{path}/runs"),
        (f"{base}/runs/{{run_id}}", f"{path}/runs/{run.id}"),
        (f"{base}/attempts", f"{path}/attempts"),
        (f"{base}/attempts/{{attempt_id}}", f"{path}/attempts/{attempt.id}"),
        (f"{base}/history", f"{path}/history"),
        (f"{base}/entries/{{entry_id}}", f"{path}/entries/{entry.id}"),
        (f"{base}/entries/{{entry_id}}/content/{{field}}", f"{path}/entries/{entry.id}/content/arguments"),
        ("/api/tokens", "/api/tokens"),
        ("/api/server", "/api/server"),
        ("/api/health", "/api/health"),
    ):
        check("get", shape, await alice.get(target))
    check("get", "/api/providers", await staff.get("/api/providers"))
    usage = told(await alice.get(path))["usage"]
    live.reply = type(RESET)(*[*_values(RESET)[:-1], {**LIVE_PART, "usage": usage}])
    check("get", f"{base}/stream", await alice.get(f"{path}/stream"))


def _values(reply: Any) -> list[Any]:
    return [getattr(reply, name) for name in type(reply).__dataclass_fields__]
