"""What code of a model can read of the server that runs it: nothing that opens anything."""

from __future__ import annotations

import json

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_parts import Call, Say
from tests.acceptance.conftest import define_profile
from tests.support.server import StartServer
from tests.support.session import SessionClient

CANARY = "canary-9f1c7e"
PRY = """
import os, pathlib
seen = [str(dict(os.environ))]
for pid in (os.getpid(), os.getppid(), *SERVERS):
    for name in ("environ", "cmdline"):
        try:
            seen.append(pathlib.Path(f"/proc/{pid}/{name}").read_bytes().decode("utf-8", "replace"))
        except OSError as error:
            seen.append(type(error).__name__)
print("\\n".join(seen))
"""


def test_code_finds_no_key_in_any_environment(start_server: StartServer) -> None:
    server = start_server(OPENAI_API_KEY=CANARY, SECRET_KEY=f"secret-{CANARY}", MY_PRIVATE=CANARY)
    code = PRY.replace("SERVERS", repr(server.pids))
    with ScriptedThread([Reply(Call("python", {"code": code})), Reply(Say("done"))]) as provider:
        profile = define_profile(server, provider.base_url, "responses", api_key=f"key-{CANARY}")
        session = SessionClient.create(server, provider=profile)
        session.answer("look around")
        requests = list(provider.requests)
    assert dict(requests[0].headers)["authorization"] == f"Bearer key-{CANARY}"
    (result,) = [entry for entry in session.history() if entry["kind"] == "tool_result"]
    told = json.loads(result["content"][0]["value"])
    assert told["status"] == "ok", told
    assert "PATH" in told["output"]
    assert CANARY not in json.dumps(told)
    assert CANARY not in json.dumps(session.get("/attempts"))
    assert CANARY not in json.dumps(session.snapshot())
    profiles = server.client().get("/api/providers").text
    assert CANARY not in profiles
    assert CANARY not in server.output()
    stored = server.stored()
    assert b"look around" in stored
    assert CANARY.encode() not in stored
