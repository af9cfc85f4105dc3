"""A proxy that many put between their agents and their models: whole runs through LiteLLM."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from streaming.providers.scripted import Reply, ScriptedThread
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say
from tests.acceptance.conftest import define_profile
from tests.support.litellm import KEY, litellm_proxy
from tests.support.server import ServerProcess
from tests.support.session import SessionClient

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_800),
    pytest.mark.skipif(
        os.environ.get("ALBEDO_TEST_SLOW") != "1",
        reason="installs LiteLLM, which takes minutes; ALBEDO_TEST_SLOW=1 runs it",
    ),
]

PROTOCOLS = ("chat_completions", "responses")
CODE = "print('ok' * 3)"
RESULT = "okokok"


@dataclass(frozen=True, slots=True)
class Proxy:
    """Its base URL, and the scripted model behind it for each protocol."""

    base_url: str
    behind: dict[str, ScriptedThread]


async def call_then_say(request: ScriptedRequest, out: Out) -> None:
    """A call, and with its result in the request the answer. The proxy asks for more than completions."""
    if request.body is None:
        await out.json(404, {"error": {"message": "not here"}})
    elif RESULT in request.raw.decode():
        await Reply(Say("It is done.", fragments=3))(request, out)
    else:
        call = Call("python", {"code": CODE}, id="call_a", fragments=3)
        await Reply(Say("I will."), call)(request, out)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with ExitStack() as stack:
        behind = {protocol: stack.enter_context(ScriptedThread(call_then_say)) for protocol in PROTOCOLS}
        models = {
            protocol: {"model": "openai/scripted", "api_base": made.base_url, "api_key": "none"}
            for protocol, made in behind.items()
        }
        mocked = {"model": "openai/gpt-4o-mini", "api_key": "none", "mock_response": "It is 42, é."}
        folder = tmp_path_factory.mktemp("litellm")
        yield Proxy(stack.enter_context(litellm_proxy(folder, {**models, "mocked": mocked})), behind)


def session_on(server: ServerProcess, proxy: Proxy, protocol: str, model: str) -> SessionClient:
    profile = define_profile(server, proxy.base_url, protocol, model=model, api_key=KEY)
    return SessionClient.create(server, provider=profile)


def test_a_mocked_model_answers(server: ServerProcess, proxy: Proxy) -> None:
    session = session_on(server, proxy, "chat_completions", "mocked")
    session.answer("What is 6 times 7?")
    assert session.history()[-1]["content"] == [{"kind": "text", "text": "It is 42, é."}]
    (run,) = session.get("/runs")["items"]
    assert (run["state"], run["steps"]) == ("completed", 1)
    assert run["usage"]["output_tokens"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_call_runs_and_its_result_goes_back(server: ServerProcess, proxy: Proxy, protocol: str) -> None:
    session = session_on(server, proxy, protocol, protocol)
    events = session.answer("Print it.")
    (run,) = session.get("/runs")["items"]
    assert run["error"] is None
    (run,) = session.get("/runs")["items"]
    assert run["error"] is None
    (tool,) = [event["data"] for event in events if event["type"] == "tool"]
    assert tool["arguments"] == {"code": CODE}
    assert json.loads(tool["result"])["output"] == f"{RESULT}\n"
    assert [entry["kind"] for entry in session.history()] == [
        "user",
        "assistant",
        "tool_call",
        "tool_result",
        "assistant",
    ]
    assert session.history()[-1]["content"] == [{"kind": "text", "text": "It is done."}]
    last = json.dumps(proxy.behind[protocol].requests[-1].body, ensure_ascii=False)
    assert RESULT in last
    assert tool["tool_call_id"] in last


def test_a_key_that_the_proxy_does_not_know_is_final(server: ServerProcess, proxy: Proxy) -> None:
    profile = define_profile(server, proxy.base_url, "chat_completions", model="mocked", api_key="sk-wrong")
    session = SessionClient.create(server, provider=profile)
    events = session.answer("Hello?")
    (completed,) = [event["data"] for event in events if event["type"] == "turn_completed"]
    assert completed["outcome"] == "failed"
    assert completed["error"]["retryable"] is False
    assert "sk-wrong" not in json.dumps(events)
