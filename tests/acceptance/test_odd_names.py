"""A model that calls what is no name of a tool is told so, and the session goes on."""

from __future__ import annotations

import pytest

from streaming.providers.scripted import Reply
from streaming.providers.scripted_parts import Call, Say
from tests.acceptance.conftest import MakeModel

NAMES = {"long": "n" * 5_000, "odd": "do it! \N{COLLISION SYMBOL}", "known and more": "python" + "n" * 300}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_call_of_no_tool_s_name_is_an_error_result(model: MakeModel, name: str) -> None:
    made = model(Reply(Call(name, {"code": "1"})), Reply(Say("sorry")), Reply(Say("yes")))
    with made.session.follow() as follower:
        accepted = made.session.ask("compute")
        follower.until_answered(accepted["id"])
        (tool,) = follower.of("tool")
        shown = [progress["name"] for progress in follower.progress() if progress is not None]
        ended = follower.of("turn_completed")[0]["outcome"]
    assert (ended, tool["status"]) == ("completed", "error")
    assert "there is no tool named" in tool["result"]
    assert name.startswith(tool["name"])
    assert shown
    assert all(len(each.encode()) <= 100 and name.startswith(each) for each in shown)
    # Nothing was tried again, and what went back is what servers take (the fixture looks at each request).
    assert len(made.requests) == 2
    made.session.answer("go on")
    assert len(made.requests) == 3
