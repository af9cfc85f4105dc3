"""A model's stream event by event, in either protocol, for tests that hold it at a barrier in its middle.

What `scripted` builds is always well formed and whole; here a test says which bytes come when.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from streaming.providers.scripted_http import Out


class RawModel:
    """Writes one response. Calls are named by their index on the wire."""

    def __init__(self, out: Out, protocol: str) -> None:
        self._out = out
        self._chat = protocol == "chat_completions"
        self._done: list[dict[str, Any]] = []
        self._items: dict[int, dict[str, Any]] = {}

    async def begin(self) -> None:
        if self._chat:
            await self._delta({"role": "assistant", "content": ""})
        else:
            await self._event("response.created", response=self._response("in_progress"))

    async def text(self, text: str) -> None:
        if self._chat:
            await self._delta({"content": text})
        else:
            await self._event("response.output_text.delta", item_id="msg", output_index=0, delta=text)

    async def call(self, index: int, name: str | None, call_id: str | None, arguments: str = "") -> None:
        """Open a call; without a name where the protocol lets it come later."""
        self._items[index] = {"name": name, "call_id": call_id, "arguments": arguments}
        if self._chat:
            function = {"arguments": arguments, **({"name": name} if name else {})}
            head = {"id": call_id} if call_id else {}
            await self._delta(
                {"tool_calls": [{"index": index, "type": "function", **head, "function": function}]}
            )
            return
        if name:
            item = self._item(index, "in_progress")
            await self._event(
                "response.output_item.added", output_index=index, item={**item, "arguments": ""}
            )
        if arguments:
            await self._argument_event(index, arguments)

    async def arguments(self, index: int, fragment: str) -> None:
        self._items[index]["arguments"] += fragment
        if self._chat:
            await self._delta({"tool_calls": [{"index": index, "function": {"arguments": fragment}}]})
        else:
            await self._argument_event(index, fragment)

    async def name(self, index: int, name: str, call_id: str) -> None:
        """The name that was kept back."""
        self._items[index] |= {"name": name, "call_id": call_id}
        if self._chat:
            call = {"index": index, "id": call_id, "function": {"name": name}}
            await self._delta({"tool_calls": [call]})
        else:
            item = self._item(index, "in_progress")
            await self._event("response.output_item.added", output_index=index, item=item)

    async def end(self) -> None:
        """The terminal event, and the end of the body."""
        if self._chat:
            await self._chunk([{"index": 0, "delta": {}, "finish_reason": self._finish_reason()}])
            await self._out.write("data: [DONE]\n\n")
        else:
            for index in sorted(self._items):
                item = self._item(index, "completed")
                await self._event("response.output_item.done", output_index=index, item=item)
            await self._event("response.completed", response=self._response("completed"))
        await self._out.end()

    def _finish_reason(self) -> str:
        return "tool_calls" if self._items else "stop"

    def _item(self, index: int, status: str) -> dict[str, Any]:
        call = self._items[index]
        return {
            "type": "function_call",
            "id": f"fc_{index}",
            "call_id": call["call_id"],
            "name": call["name"],
            "arguments": call["arguments"],
            "status": status,
        }

    def _response(self, status: str) -> dict[str, Any]:
        output = [self._item(index, "completed") for index in sorted(self._items) if status == "completed"]
        return {"id": "resp", "object": "response", "status": status, "model": "scripted", "output": output}

    async def _argument_event(self, index: int, fragment: str) -> None:
        await self._event(
            "response.function_call_arguments.delta",
            output_index=index,
            item_id=f"fc_{index}",
            delta=fragment,
        )

    async def _event(self, kind: str, **fields: Any) -> None:
        await self._out.event({"type": kind, **fields}, name=kind)

    async def _delta(self, delta: Mapping[str, Any]) -> None:
        await self._chunk([{"index": 0, "delta": delta, "finish_reason": None}])

    async def _chunk(self, choices: list[dict[str, Any]]) -> None:
        chunk = {"id": "chatcmpl", "object": "chat.completion.chunk", "model": "scripted", "choices": choices}
        await self._out.event(chunk)


def python_arguments(code: str) -> str:
    """The arguments of `python`, every character beyond ASCII escaped as JSON has it."""
    return json.dumps({"code": code})


def fragments(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
