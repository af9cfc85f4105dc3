"""A scripted answer in Responses form: its typed events, or one whole object. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streaming.providers.scripted_parts import Answer, Call, Part, Say, Think, pieces, sse


def responses_frames(answer: Answer) -> Iterator[bytes]:
    """One server-sent event each, the last one terminal."""
    writer = _Writer()
    begun = _response(answer, "in_progress", [])
    yield writer.event("response.created", response=begun)
    yield writer.event("response.in_progress", response=begun)
    for index, part in enumerate(answer.parts):
        yield from _item_frames(writer, index, part)
    final = responses_object(answer)
    yield writer.event(f"response.{final['status']}", response=final)


def responses_object(answer: Answer) -> dict[str, Any]:
    """The same answer as a server gives it without streaming."""
    output = [_item(index, part, done=True) for index, part in enumerate(answer.parts)]
    body = _response(answer, "completed", output)
    if answer.finish == "length":
        body |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    if answer.usage is not None:
        sent, written = answer.usage
        body["usage"] = {"input_tokens": sent, "output_tokens": written, "total_tokens": sent + written}
    return body


class _Writer:
    def __init__(self) -> None:
        self._sequence = 0

    def event(self, kind: str, **fields: Any) -> bytes:
        self._sequence += 1
        return sse({"type": kind, "sequence_number": self._sequence, **fields}, kind)


def _item_frames(writer: _Writer, index: int, part: Part) -> Iterator[bytes]:
    yield writer.event("response.output_item.added", output_index=index, item=_item(index, part, done=False))
    match part:
        case Say():
            yield from _text_frames(writer, index, part)
        case Think():
            yield from _summary_frames(writer, index, part)
        case Call():
            yield from _argument_frames(writer, index, part)
    yield writer.event("response.output_item.done", output_index=index, item=_item(index, part, done=True))


def _text_frames(writer: _Writer, index: int, part: Say) -> Iterator[bytes]:
    at: dict[str, Any] = {"output_index": index, "content_index": 0, "item_id": f"msg_{index}"}
    empty = {"type": "output_text", "text": "", "annotations": []}
    yield writer.event("response.content_part.added", **at, part=empty)
    for piece in pieces(part.text, part.fragments):
        yield writer.event("response.output_text.delta", **at, delta=piece)
    yield writer.event("response.output_text.done", **at, text=part.text)
    yield writer.event("response.content_part.done", **at, part=empty | {"text": part.text})


def _summary_frames(writer: _Writer, index: int, part: Think) -> Iterator[bytes]:
    at: dict[str, Any] = {"output_index": index, "summary_index": 0, "item_id": f"rs_{index}"}
    empty = {"type": "summary_text", "text": ""}
    yield writer.event("response.reasoning_summary_part.added", **at, part=empty)
    for piece in pieces(part.text, part.fragments):
        yield writer.event("response.reasoning_summary_text.delta", **at, delta=piece)
    yield writer.event("response.reasoning_summary_text.done", **at, text=part.text)
    yield writer.event("response.reasoning_summary_part.done", **at, part=empty | {"text": part.text})


def _argument_frames(writer: _Writer, index: int, part: Call) -> Iterator[bytes]:
    at: dict[str, Any] = {"output_index": index, "item_id": f"fc_{index}"}
    for piece in pieces(part.text, part.fragments):
        yield writer.event("response.function_call_arguments.delta", **at, delta=piece)
    yield writer.event("response.function_call_arguments.done", **at, arguments=part.text)


def _item(index: int, part: Part, *, done: bool) -> dict[str, Any]:
    status = "completed" if done else "in_progress"
    match part:
        case Say(text):
            content = [{"type": "output_text", "text": text, "annotations": []}] if done else []
            kind = {"type": "message", "role": "assistant", "content": content}
            return {"id": f"msg_{index}", "status": status} | kind
        case Think(text):
            return _reasoning(index, text, done=done)
        case Call():
            arguments = part.text if done else ""
            names = {"type": "function_call", "name": part.name, "call_id": part.id}
            return {"id": f"fc_{index}", "status": status, "arguments": arguments} | names


def _reasoning(index: int, text: str, *, done: bool) -> dict[str, Any]:
    item: dict[str, Any] = {"id": f"rs_{index}", "type": "reasoning", "summary": []}
    if done:
        item["summary"] = [{"type": "summary_text", "text": text}]
        item["encrypted_content"] = f"scripted-{index}"
    return item


def _response(answer: Answer, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    identity = {"id": "resp_scripted", "object": "response", "model": answer.model}
    return identity | {"status": status, "output": output}
