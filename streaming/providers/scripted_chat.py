"""A scripted answer in Chat Completions form: a stream of chunks, or one whole object. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streaming.providers.scripted_parts import Answer, Call, Say, Think, pieces, sse

_CREATED = 1_700_000_000


def chat_frames(answer: Answer) -> Iterator[bytes]:
    """One server-sent event each, the last one `[DONE]`."""
    yield _chunk(answer, {"role": "assistant", "content": ""})
    index = 0
    for part in answer.parts:
        match part:
            case Say(text, fragments):
                yield from (_chunk(answer, {"content": piece}) for piece in pieces(text, fragments))
            case Think(text, fragments):
                yield from (_chunk(answer, {"reasoning_content": piece}) for piece in pieces(text, fragments))
            case Call():
                yield from _call_frames(answer, part, index)
                index += 1
    yield _chunk(answer, {}, finish=_finish(answer))
    if answer.usage is not None:
        yield sse(_envelope(answer, "chat.completion.chunk") | {"choices": [], "usage": _usage(answer.usage)})
    yield sse("[DONE]")


def chat_object(answer: Answer) -> dict[str, Any]:
    """The same answer as a server gives it without streaming."""
    message: dict[str, Any] = {"role": "assistant", "content": _joined(answer, Say) or None}
    if thinking := _joined(answer, Think):
        message["reasoning_content"] = thinking
    if answer.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
            for call in answer.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer)}
    body = _envelope(answer, "chat.completion") | {"choices": [choice]}
    return body | ({"usage": _usage(answer.usage)} if answer.usage is not None else {})


def _call_frames(answer: Answer, call: Call, index: int) -> Iterator[bytes]:
    opening = {
        "index": index,
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": ""},
    }
    yield _chunk(answer, {"tool_calls": [opening]})
    for piece in pieces(call.text, call.fragments):
        yield _chunk(answer, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def _chunk(answer: Answer, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse(_envelope(answer, "chat.completion.chunk") | {"choices": [choice]})


def _envelope(answer: Answer, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-scripted", "object": kind, "created": _CREATED, "model": answer.model}


def _finish(answer: Answer) -> str:
    if answer.finish == "length":
        return "length"
    return "tool_calls" if answer.calls else "stop"


def _joined(answer: Answer, kind: type[Say] | type[Think]) -> str:
    return "".join(part.text for part in answer.parts if isinstance(part, kind))


def _usage(usage: tuple[int, int]) -> dict[str, int]:
    sent, written = usage
    return {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written}
