"""A step as the body of a Responses request. Pure: values in, JSON values out."""

from __future__ import annotations

from typing import Any

from streaming.providers.history_steps import PairedCall, Step, turns
from streaming.providers.requests_chat import data_url
from streaming.providers.streamless import StreamMode
from streaming.providers.tool_names import sendable_name
from streaming.providers.types import AssistantItem, Profile, StepRequest, ThinkingItem, ToolSpec, UserItem

# What this protocol's messages bring beyond their text; an echo of the other protocol has none of it.
_MESSAGE_ECHO_KEYS = ("phase",)


def responses_body(request: StepRequest, profile: Profile, mode: StreamMode) -> dict[str, Any]:
    """Nothing is stored over there: reasoning comes back encrypted and goes back as it came."""
    body: dict[str, Any] = {
        "model": profile.model,
        "input": _input(request),
        "stream": mode.stream,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if request.instructions.strip():
        body["instructions"] = request.instructions
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if profile.max_output_tokens is not None:
        body["max_output_tokens"] = profile.max_output_tokens
    return body


def _input(request: StepRequest) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for turn in turns(request.items):
        if isinstance(turn, UserItem):
            items.append({"type": "message", "role": "user", "content": _user_content(turn)})
        else:
            items.extend(_step(turn))
    return items


def _user_content(item: UserItem) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"type": "input_text", "text": item.text}] if item.text.strip() else []
    return parts + [
        {"type": "input_image", "image_url": data_url(image.mime_type, image.data)} for image in item.images
    ]


def _step(step: Step) -> list[dict[str, Any]]:
    items = [dict(item.echo) for item in step.thinking if item.echo is not None and _goes_back(item)]
    items.extend(_message(item) for item in step.texts if item.text.strip())
    for pair in step.paired:
        # Side by side: servers that turn items into chat messages one by one need it so.
        items.extend((_call(pair), _output(pair)))
    return items


def _goes_back(item: ThinkingItem) -> bool:
    """A reasoning item that holds nothing but an id points to what the provider was told not to store."""
    echo = item.echo
    if echo is None or echo.get("type") != "reasoning":
        return False
    return bool(echo.get("encrypted_content") or echo.get("content"))


def _message(item: AssistantItem) -> dict[str, Any]:
    message: dict[str, Any] = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": item.text}],
    }
    echo = item.echo or {}
    return message | {key: echo[key] for key in _MESSAGE_ECHO_KEYS if key in echo}


def _call(pair: PairedCall) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": pair.wire_id,
        "name": sendable_name(pair.call.name),
        "arguments": pair.call.arguments or "{}",
    }


def _output(pair: PairedCall) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": pair.wire_id, "output": pair.result}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    declared: dict[str, Any] = {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    if tool.strict is not None:
        declared["strict"] = tool.strict
    return declared
