"""A step as the body of a Chat Completions request. Pure: values in, JSON values out."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from streaming.providers.history_steps import PairedCall, Step, turns
from streaming.providers.streamless import StreamMode
from streaming.providers.tool_names import sendable_name
from streaming.providers.types import Profile, StepRequest, ToolSpec, UserItem

# These have done away with `max_tokens`; most other servers know nothing else.
_NEW_LIMIT_NAME_HOSTS = ("api.openai.com", ".openai.azure.com", ".cognitiveservices.azure.com")
# Items of the other protocol carry a `type`; nothing that belongs in an assistant message does.
_FOREIGN_TYPES = frozenset({"reasoning", "message", "function_call"})
# What a message is made of is ours to say; an echo adds to it and never replaces it. `phase` is the other
# protocol's.
_OWN_MESSAGE_KEYS = frozenset({"role", "content", "tool_calls", "name", "phase"})
_OWN_CALL_KEYS = frozenset({"id", "type", "index", "function"})


def chat_body(request: StepRequest, profile: Profile, mode: StreamMode) -> dict[str, Any]:
    """Well formed for any history: each call has its result behind its message, no message is empty."""
    body: dict[str, Any] = {"model": profile.model, "messages": _messages(request), "stream": mode.stream}
    if mode.stream and mode.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if profile.max_output_tokens is not None:
        body[_limit_name(profile.base_url)] = profile.max_output_tokens
    return body


def _limit_name(base_url: str) -> str:
    host = base_url.partition("://")[2].partition("/")[0].partition(":")[0].lower()
    return "max_completion_tokens" if host.endswith(_NEW_LIMIT_NAME_HOSTS) else "max_tokens"


def _messages(request: StepRequest) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if request.instructions.strip():
        messages.append({"role": "system", "content": request.instructions})
    for turn in turns(request.items):
        if isinstance(turn, UserItem):
            messages.append({"role": "user", "content": _user_content(turn)})
        else:
            messages.append(_assistant(turn))
            messages.extend(_result(pair) for pair in turn.paired)
    return messages


def _user_content(item: UserItem) -> str | list[dict[str, Any]]:
    if not item.images:
        return item.text
    parts: list[dict[str, Any]] = [{"type": "text", "text": item.text}] if item.text.strip() else []
    return parts + [
        {"type": "image_url", "image_url": {"url": data_url(image.mime_type, image.data)}}
        for image in item.images
    ]


def data_url(mime_type: str, data: bytes) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(data).decode('ascii')}"


def _assistant(step: Step) -> dict[str, Any]:
    text = "\n\n".join(item.text for item in step.texts if item.text)
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    for echo in (*(item.echo for item in step.thinking), *(item.echo for item in step.texts)):
        _merge_echo(message, echo)
    if step.paired:
        message["tool_calls"] = [_call(pair) for pair in step.paired]
        _echo_reasoning(message, step)
    return message


def _merge_echo(message: dict[str, Any], echo: Mapping[str, Any] | None) -> None:
    if echo is None or echo.get("type") in _FOREIGN_TYPES:
        return
    for key, value in echo.items():
        if key in _OWN_MESSAGE_KEYS:
            continue
        before = message.get(key)
        # Several pieces of thinking may each have brought their own list of details.
        message[key] = [*before, *value] if isinstance(before, list) and isinstance(value, list) else value


def _echo_reasoning(message: dict[str, Any], step: Step) -> None:
    """Some thinking models refuse a call that comes back without the thinking that led to it."""
    thinking = "".join(item.text for item in step.thinking)
    if thinking and not {"reasoning_content", "reasoning", "reasoning_details"} & message.keys():
        message["reasoning_content"] = thinking


def _call(pair: PairedCall) -> dict[str, Any]:
    function = {"name": sendable_name(pair.call.name), "arguments": pair.call.arguments or "{}"}
    call: dict[str, Any] = {"id": pair.wire_id, "type": "function", "function": function}
    echo = pair.call.echo
    if echo is not None and echo.get("type") not in _FOREIGN_TYPES:
        call |= {key: value for key, value in echo.items() if key not in _OWN_CALL_KEYS}
    return call


def _result(pair: PairedCall) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": pair.wire_id, "content": pair.result}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def tool_names(tools: Sequence[ToolSpec]) -> frozenset[str]:
    return frozenset(tool.name for tool in tools)
