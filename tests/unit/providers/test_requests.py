"""Requests of both protocols, held to a strict server's rules over histories of every kind."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.requests import build, secrets_of
from streaming.providers.streamless import StreamMode
from streaming.providers.types import (
    AssistantItem,
    ImagePart,
    Item,
    Profile,
    Protocol,
    ResultItem,
    StepRequest,
    ThinkingItem,
    ToolSpec,
    UserItem,
)
from tests.support.provider_requests import PROTOCOLS, SCHEMA, call, good, request
from tests.support.request_checker import faults
from tests.unit.providers.test_history_steps import ITEMS


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_33_calls_of_one_step_go_back_with_their_results(protocol: Protocol) -> None:
    calls: list[Item] = [call(f"c{number}") for number in range(33)]
    results: list[Item] = [ResultItem(f"c{number}", f"r{number}") for number in range(33)]
    body = good(protocol, [UserItem("go"), *calls, *results])
    told = json.dumps(body)
    assert all(f'"r{number}"' in told for number in range(33))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_interrupted_and_lost_calls_make_a_good_request(protocol: Protocol) -> None:
    items: list[Item] = [
        UserItem("go"),
        AssistantItem("now"),
        call("a"),
        call("b"),
        call("c"),
        ResultItem("a", "done"),
        ResultItem("b", '{"status":"lost"}'),
        UserItem("go on"),
    ]
    assert "interrupted" in json.dumps(good(protocol, items))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=150)
@given(items=st.lists(ITEMS, min_size=1, max_size=20))
def test_any_history_makes_a_good_request(protocol: Protocol, items: list[Item]) -> None:
    good(protocol, [UserItem("go"), *items])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_long_ids_are_short_on_the_wire_and_equal_in_call_and_result(protocol: Protocol) -> None:
    good(protocol, [UserItem("go"), call("toolu_" + "x" * 80), ResultItem("toolu_" + "x" * 80, "r")])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_images_go_as_data(protocol: Protocol) -> None:
    items: list[Item] = [
        UserItem("look", (ImagePart("image/png", b"PNG"),)),
        UserItem("", (ImagePart("image/gif", b"G"),)),
    ]
    told = json.dumps(good(protocol, items))
    assert "data:image/png;base64," + base64.b64encode(b"PNG").decode() in told


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("strict", [None, True, False])
def test_strict_is_sent_only_where_declared(protocol: Protocol, strict: bool | None) -> None:
    body = good(protocol, [UserItem("go")], tools=(ToolSpec("t", "d", SCHEMA, strict=strict),))
    (tool,) = body["tools"]
    sent = tool if protocol == "responses" else tool["function"]
    assert sent["parameters"] == SCHEMA
    assert sent.get("strict") is strict
    assert ("strict" in sent) is (strict is not None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_without_tools_none_are_sent(protocol: Protocol) -> None:
    assert "tools" not in good(protocol, [UserItem("go")], tools=())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_endpoint_that_does_not_stream_is_not_asked_to(protocol: Protocol) -> None:
    url, headers, body = request(protocol, [UserItem("go")], mode=StreamMode(stream=False))
    assert faults(url, body) == []
    assert body["stream"] is False
    assert headers["accept"] == "application/json"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_history_of_the_other_protocol_leaves_no_trace(protocol: Protocol) -> None:
    foreign: dict[Protocol, dict[str, Any]] = {
        "responses": {"reasoning_details": [{"canary": 1}]},
        "chat_completions": {"type": "reasoning", "id": "canary", "encrypted_content": "canary"},
    }
    items: list[Item] = [
        UserItem("go"),
        ThinkingItem("hm", foreign[protocol]),
        call("a"),
        ResultItem("a", "r"),
    ]
    assert "canary" not in json.dumps(good(protocol, items))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_lone_surrogate_does_not_end_the_run(protocol: Protocol) -> None:
    good(protocol, [UserItem("go"), call("a"), ResultItem("a", "\ud800 half")])


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://h/v1", "http://h/v1/responses"),
        ("http://h/v1/", "http://h/v1/responses"),
        ("http://h/v1?api-version=2", "http://h/v1/responses?api-version=2"),
    ],
)
def test_the_path_is_put_behind_the_base_url(base_url: str, url: str) -> None:
    assert request("responses", [UserItem("go")], base_url=base_url)[0] == url


def test_the_profile_adds_headers_but_not_framing() -> None:
    extra = {"X-Team": "blue", "Host": "evil", "Content-Length": "0", "authorization": "Token t"}
    _, headers, _ = request("responses", [UserItem("go")], api_key="secret-key", headers=extra)
    assert headers["x-team"] == "blue"
    assert headers["authorization"] == "Token t"
    assert not {"host", "content-length"} & headers.keys()


def test_without_a_key_no_authorization_is_sent() -> None:
    assert "authorization" not in request("responses", [UserItem("go")])[1]


def test_a_request_shows_neither_key_nor_text() -> None:
    made = build(
        StepRequest("", [UserItem("canary-text")], ()),
        Profile("p", "http://h/v1", "responses", "m", api_key="canary-key"),
        StreamMode(),
    )
    assert "canary" not in repr(made)


def test_secrets_are_keys_and_header_values_and_no_flags() -> None:
    profile = Profile(
        "p", "u", "responses", "m", api_key="sk-long-key", headers={"a": "Token abcdefgh", "b": "1"}
    )
    assert set(secrets_of(profile)) == {"sk-long-key", "Token abcdefgh", "abcdefgh"}
