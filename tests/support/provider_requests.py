"""Requests made of a history, held to a strict server's rules as they are made."""

from __future__ import annotations

import json
from typing import Any

from streaming.providers.requests import build
from streaming.providers.streamless import StreamMode
from streaming.providers.types import CallItem, Item, Profile, Protocol, StepRequest, ToolSpec
from tests.support.request_checker import faults

PROTOCOLS: tuple[Protocol, ...] = ("responses", "chat_completions")
SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}
PYTHON = ToolSpec("python", "Runs code.", SCHEMA)


def request(
    protocol: Protocol,
    items: list[Item],
    *,
    tools: tuple[ToolSpec, ...] = (PYTHON,),
    mode: StreamMode | None = None,
    base_url: str = "http://127.0.0.1/v1",
    **profile: Any,
) -> tuple[str, dict[str, str], Any]:
    made = build(
        StepRequest("Be brief.", items, tools),
        Profile("p", base_url, protocol, "m", **profile),
        mode or StreamMode(),
    )
    return made.url, made.headers, json.loads(made.body)


def good(protocol: Protocol, items: list[Item], **options: Any) -> Any:
    url, _, body = request(protocol, items, **options)
    assert faults(url, body) == []
    return body


def call(tool_call_id: str, echo: dict[str, Any] | None = None) -> CallItem:
    return CallItem(tool_call_id, "python", '{"code":"1"}', echo)
