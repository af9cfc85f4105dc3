"""Full disks that are not the database's: of workspaces, of temporary files, of the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from uuid_utils.compat import uuid7

from streaming.providers.scripted import Reply
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say
from streaming.providers.scripted_signal import Barrier
from tests.acceptance.conftest import MakeModel
from tests.support.server import StartServer
from tests.support.session import SessionClient
from tests.support.small_disk import MakeDisk

# More than a web server keeps of a body in memory.
LARGE = 300_000
WRITE = "open('large', 'wb').write(bytes(1_000_000))"


def put(session: SessionClient, size: int) -> tuple[int, str]:
    answer = session.http.put(f"{session.path}/inputs/{uuid7()}", json={"text": "x" * size})
    return answer.status_code, answer.json().get("code", "")


def results(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [json.loads(event["data"]["result"]) for event in events if event["type"] == "tool"]


@pytest.mark.embedded(reason="what a front server keeps of a body is its own, and so is the launcher's log")
def test_full_disks_of_logs_workspaces_and_temporary_files_cost_a_call_and_a_large_body_and_no_more(
    make_disk: MakeDisk, make_server: StartServer, model_on: MakeModel
) -> None:
    temporary, working = make_disk(8), make_disk(2)
    folders = {"TMPDIR": str(temporary.path), "XDG_RUNTIME_DIR": str(temporary.path)}
    server = make_server(ALBEDO_KERNEL_PREWARMED="0", **folders)
    # It takes nothing: not what a start says, nor that a stranger was turned away.
    server.log = Path("/dev/full")
    server.start()
    assert server.client("").get("/api/sessions").status_code == 401
    call, freed = Reply(Call("python", {"code": WRITE})), Barrier()

    async def call_later(request: ScriptedRequest, out: Out) -> None:
        await out.pause(freed)
        await call(request, out)

    made = model_on(
        server, "responses", Reply(Say("large")), call, call_later, Reply(Say("done")), Reply(Say("small"))
    )
    session = SessionClient.create(server, provider=made.profile, workspace=str(working.path / "workspace"))
    # Its folder for temporary files is chosen at the first use.
    session.answer("x" * LARGE)
    temporary.fill()
    working.fill()
    with session.follow() as follower:
        first = session.ask("write twice")
        follower.until(lambda: len(follower.of("tool")) == 1, "the first call")
        temporary.free()
        freed.release.set()
        follower.until_answered(first["id"])
        no_kernel, no_room = results(follower.events)
        assert [data["outcome"] for data in follower.of("turn_completed")] == ["completed"]
    assert (no_kernel["error"]["name"], no_room["error"]["name"]) == ("KernelStartFailed", "OSError")
    assert "No space left on device" in no_room["error"]["message"]
    temporary.fill()
    assert put(session, LARGE) == (503, "storage_full")
    assert put(session, 10)[0] == 202
    temporary.free()
    session.settled()
    assert put(session, LARGE)[0] == 202
    assert server.terminate() == 0
