"""Is a provider request well formed? Every fault as a sentence, after the protocols' documented shapes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_ROLES = {"system", "developer", "user", "assistant", "tool"}
_MAX_ID_CHARS = 64
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)


def faults(path: str, body: Any) -> list[str]:
    """What a strict server of the protocol that `path` names would refuse; empty for a good request."""
    if not isinstance(body, Mapping):
        return ["the body is not an object"]
    if path.endswith("/chat/completions"):
        return [*_common(body), *_chat(body)]
    if path.endswith("/responses"):
        return [*_common(body), *_responses(body)]
    return [f"no such path: {path}"]


def _common(body: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model is missing"
    if not isinstance(body.get("stream", False), bool):
        yield "stream is not a boolean"
    if "tools" in body and not body["tools"]:
        yield "tools is empty: it must be absent instead"


def _chat(body: Mapping[str, Any]) -> Iterator[str]:
    known = {
        "model", "messages", "stream", "stream_options", "tools", "max_tokens", "max_completion_tokens",
    }  # fmt: skip
    yield from (f"unknown field {name}" for name in set(body) - known)
    if "stream_options" in body and body.get("stream") is not True:
        yield "stream_options without stream"
    for tool in body.get("tools", []):
        if tool.get("type") != "function" or set(tool) != {"type", "function"}:
            yield "a tool is not {type: function, function}"
        yield from _function(tool.get("function", {}), allowed=set())
    yield from _chat_messages(body.get("messages"))


def _chat_messages(messages: Any) -> Iterator[str]:
    if not isinstance(messages, Sequence) or not messages:
        yield "messages is empty"
        return
    waiting: list[str] = []
    for message in messages:
        role = message.get("role")
        if role not in _ROLES:
            yield f"unknown role {role!r}"
        if role == "tool":
            yield from _tool_message(message, waiting)
            continue
        if waiting:
            yield f"calls {waiting} have no result before the next {role} message"
            waiting = []
        if role == "assistant":
            yield from _assistant_message(message)
            waiting = [call.get("id") for call in message.get("tool_calls", [])]
            yield from _ids(waiting)
        else:
            yield from _content(message.get("content"), {"text", "image_url"} if role == "user" else {"text"})
    if waiting:
        yield f"calls {waiting} have no result at the end"


def _tool_message(message: Mapping[str, Any], waiting: list[str]) -> Iterator[str]:
    if not isinstance(message.get("content"), str):
        yield "a tool result is not a string"
    if message.get("tool_call_id") in waiting:
        waiting.remove(message["tool_call_id"])
    else:
        yield f"a result for {message.get('tool_call_id')!r}, which nothing called"


def _assistant_message(message: Mapping[str, Any]) -> Iterator[str]:
    calls = message.get("tool_calls")
    content = message.get("content")
    if calls is not None and not calls:
        yield "tool_calls is empty: it must be absent instead"
    if not calls and not (isinstance(content, str) and content.strip()):
        yield "an assistant message is empty"
    for call in calls or []:
        function = call.get("function", {})
        if call.get("type") != "function":
            yield "a call is not of type function"
        yield from _call(function.get("name"), function.get("arguments"))


def _content(content: Any, kinds: set[str]) -> Iterator[str]:
    if isinstance(content, str):
        if not content.strip():
            yield "a message is blank"
        return
    if not content:
        yield "a message has no content"
        return
    for part in content:
        kind = part.get("type")
        if kind not in kinds:
            yield f"a part of kind {kind!r}"
        elif kind in ("image_url", "input_image"):
            url = part["image_url"]["url"] if kind == "image_url" else part["image_url"]
            if not url.startswith("data:image/") or ";base64," not in url:
                yield "an image is no data URL"
        elif not part.get("text", "").strip():
            yield "a text part is blank"


def _responses(body: Mapping[str, Any]) -> Iterator[str]:
    known = {
        "model", "input", "instructions", "stream", "store", "include", "tools", "max_output_tokens",
    }  # fmt: skip
    yield from (f"unknown field {name}" for name in set(body) - known)
    if body.get("store") is not False:
        yield "store is not false"
    if "reasoning.encrypted_content" not in body.get("include", []):
        yield "encrypted reasoning is not asked for"
    for tool in body.get("tools", []):
        if tool.get("type") != "function":
            yield "a tool is not of type function"
        yield from _function(tool, allowed={"type"})
    yield from _items(body.get("input"))


def _items(items: Any) -> Iterator[str]:
    if not isinstance(items, Sequence) or not items:
        yield "input is empty"
        return
    called = [item.get("call_id") for item in items if item.get("type") == "function_call"]
    answered = [item.get("call_id") for item in items if item.get("type") == "function_call_output"]
    yield from _ids(called)
    if sorted(called) != sorted(answered):
        yield f"calls {sorted(called)} and outputs {sorted(answered)} differ"
    for item, after in zip(items, [*items[1:], {}], strict=True):
        yield from _item(item, after)


def _item(item: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    match item.get("type"):
        case "message":
            kinds = {"output_text"} if item.get("role") == "assistant" else {"input_text", "input_image"}
            yield from _content(item.get("content"), kinds)
        case "reasoning":
            if not (item.get("encrypted_content") or item.get("content")):
                yield "a reasoning item that the server has not stored"
            if after.get("type") not in ("reasoning", "message", "function_call"):
                yield "a reasoning item without what followed it"
        case "function_call":
            yield from _call(item.get("name"), item.get("arguments"))
            if after.get("type") != "function_call_output" or after.get("call_id") != item.get("call_id"):
                yield f"the output of {item.get('call_id')!r} is not behind its call"
        case "function_call_output":
            if not isinstance(item.get("output"), str):
                yield "an output is not a string"
        case kind:
            yield f"an item of type {kind!r}"


def _call(name: Any, arguments: Any) -> Iterator[str]:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        yield f"a call of the name {name!r:.80}"
    if not isinstance(arguments, str):
        yield "arguments are not a string"
        return
    try:
        if not isinstance(json.loads(arguments), dict):
            yield "arguments are not an object"
    except ValueError:
        yield "arguments are not JSON"


def _ids(ids: Sequence[Any]) -> Iterator[str]:
    if len(set(ids)) != len(ids):
        yield f"ids come twice: {ids}"
    for value in ids:
        if not isinstance(value, str) or not value or len(value) > _MAX_ID_CHARS:
            yield f"a bad call id {value!r}"


def _function(function: Mapping[str, Any], allowed: set[str]) -> Iterator[str]:
    if set(function) - allowed - {"name", "description", "parameters", "strict"}:
        yield f"unknown fields in a tool: {sorted(function)}"
    if not isinstance(function.get("name"), str) or not function["name"]:
        yield "a tool without a name"
    if not isinstance(function.get("parameters"), Mapping) or function["parameters"].get("type") != "object":
        yield "a tool's parameters are not an object schema"
    if "strict" in function and not isinstance(function["strict"], bool):
        yield "strict is not a boolean"
