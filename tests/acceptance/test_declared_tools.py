"""A tool added by declaration: the page's own example, run by the real server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from streaming.providers.scripted import Reply
from streaming.providers.scripted_parts import Call, Say
from tests.acceptance.conftest import MakeModel
from tests.support.modes import Servers
from tests.support.server import PROJECT, ServerProcess, StartServer

PAGE = PROJECT / "docs" / "tools.md"


def example() -> str:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.S | re.M)
    return str(code)


@pytest.fixture(scope="module")
def counting(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that has the tool."""
    folder = tmp_path_factory.mktemp("declared")
    (folder / "my_tools.py").write_text(example(), "utf-8")
    tools = "streaming.tools.python.PythonTool, my_tools.CountLines"
    with servers.running(folder / "data", PYTHONPATH=str(folder), ALBEDO_TOOLS=tools) as server:
        yield server


def test_the_example_of_the_page_runs_as_it_stands(
    counting: ServerProcess, model_on: MakeModel, protocol: str
) -> None:
    made = model_on(
        counting,
        protocol,
        Reply(Call("count_lines", {"path": "three.txt"}, id="call_a", fragments=3)),
        Reply(Call("count_lines", {"path": "../outside.txt"}, id="call_b")),
        Reply(Call("count_lines", {"path": "three.txt", "more": 1}, id="call_c")),
        Reply(Say("done")),
    )
    workspace = Path(made.session.snapshot()["workspace"])
    (workspace / "three.txt").write_text("1\n2\n3\n", "utf-8")
    with made.session.follow() as follower:
        follower.until_answered(made.session.ask("How many lines?")["id"])
        counted, outside, unfit = follower.of("tool")
        previews = [shown["preview"]["text"] for shown in follower.progress() if shown and "preview" in shown]
    assert (counted["status"], counted["result"]) == ("ok", "3")
    assert (outside["status"], outside["result"]) == (
        "error",
        "error: there is no such file in the workspace",
    )
    assert unfit["status"] == "error"
    assert "Additional properties" in unfit["result"]
    assert "three.txt" in previews
    sent = {tool.get("name") or tool["function"]["name"]: tool for tool in made.requests[0].body["tools"]}
    assert list(sent) == ["python", "count_lines"]
    declared = sent["count_lines"].get("function", sent["count_lines"])
    assert declared["strict"] is True
    assert declared["parameters"] == {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    }
    assert "strict" not in sent["python"].get("function", sent["python"])


def test_a_path_that_names_no_tool_stops_the_start_with_its_reason(make_server: StartServer) -> None:
    server = make_server(ALBEDO_TOOLS="nowhere.Tool")
    with pytest.raises(AssertionError, match=r"ALBEDO_TOOLS: nowhere\.Tool"):
        server.start()
