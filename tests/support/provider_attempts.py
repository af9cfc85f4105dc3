"""What the attempt tests share: profiles with short deadlines, requests, and one attempt read to its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from streaming.limits import WireLimits
from streaming.providers.attempt import Attempt
from streaming.providers.client import ProviderClient
from streaming.providers.errors import ProviderError
from streaming.providers.events import Completed, StepEvent
from streaming.providers.types import Profile, Protocol, StepRequest, StepResponse, ToolSpec, UserItem

PROTOCOLS: tuple[Protocol, ...] = ("responses", "chat_completions")
PYTHON = ToolSpec(
    "python",
    "Runs code.",
    {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
    max_argument_chars=16 * 1024 * 1024,
    preview_argument="code",
)
LOOKUP = ToolSpec("lookup", "Looks up.", {"type": "object", "properties": {"key": {"type": "string"}}})
KEY = "sk-canary-9f8e7d6c5b4a"


def profile(base_url: str, protocol: Protocol = "responses", **changes: Any) -> Profile:
    return Profile("test", base_url, protocol, "scripted", api_key=KEY, **changes)


def ask(text: str = "do it") -> StepRequest:
    return StepRequest("Be brief.", [UserItem(text)], [PYTHON, LOOKUP])


@asynccontextmanager
async def provider_client(**options: Any) -> AsyncIterator[ProviderClient]:
    client = ProviderClient(**({"limits": WireLimits()} | options))
    try:
        yield client
    finally:
        await client.aclose()


@dataclass
class Outcome:
    """How one attempt ended."""

    record: dict[str, Any]
    lists: list[list[StepEvent]] = field(default_factory=list)
    error: ProviderError | None = None

    @property
    def events(self) -> list[StepEvent]:
        return [event for events in self.lists for event in events]

    @property
    def response(self) -> StepResponse:
        assert self.error is None, self.error
        last = self.events[-1]
        assert isinstance(last, Completed)
        return last.response

    @property
    def wire(self) -> dict[str, Any]:
        only: dict[str, Any]
        (only,) = self.record["wire_responses"]
        return only


async def run(
    client: ProviderClient,
    to: Profile,
    request: StepRequest | None = None,
    *,
    attempt: int = 1,
    run_deadline: float | None = None,
) -> Outcome:
    """One attempt, read to its end."""
    return await read(
        client.attempt(to, request or ask(), run_id="run", step=1, attempt=attempt, run_deadline=run_deadline)
    )


async def read(one: Attempt) -> Outcome:
    """An attempt that was made before, read to its end; its ProviderError is part of the outcome."""
    lists: list[list[StepEvent]] = []
    try:
        async with one:
            async for events in one.events():
                lists.append(events)
    except ProviderError as error:
        return Outcome(one.record.to_json(), lists, error)
    return Outcome(one.record.to_json(), lists)
