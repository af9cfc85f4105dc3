"""The channel layer as both sides of the live half use it: its names, and how to live with one that fails.

A layer carries wake-ups and fast paths. It may refuse, lose, or answer nothing at all: who sends waits for a
moment at most, who receives goes on when it is back, and nothing durable relies on either.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, cast
from uuid import UUID

from channels.exceptions import ChannelFull

from streaming.endings import heed

log = logging.getLogger("albedo.layer")

Message = dict[str, Any]

# Where hosts take new work from, as competing readers.
HOSTS_CHANNEL = "actor-hosts"
# Every host, to be asked of itself; on the layer for groups.
HOSTS_GROUP = "actor-hosts-all"

# A layer that takes longer for one message is as good as away: nobody's request waits for it.
PATIENCE_SECONDS = 2.0
# After a failure to receive. The layer comes back by its own means; what was sent meanwhile is lost.
RETRY_SECONDS = 0.5
# A layer that is away for an hour fails thousands of calls: each kind of them is told this often.
COMPLAIN_SECONDS = 10.0


def session_group(session_id: UUID) -> str:
    """The group of all processes that watch a session."""
    return f"session.{session_id.hex}"


def losses(layer: Any) -> set[Callable[[], None]]:
    """What a layer calls when it was out of touch for a moment. One within the process never is."""
    found: set[Callable[[], None]] = getattr(layer, "losses", set())
    return found


async def attempt(call: Awaitable[Any], what: str) -> bool:
    """Whether the layer did `call` in time; a full channel is told to nobody. Never raises."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await call
    except ChannelFull:
        return False
    except Exception as error:
        complain(what, error)
        return False
    return True


async def send(layer: Any, channel: str, message: Message) -> bool:
    """Whether the layer took it."""
    return await attempt(layer.send(channel, message), "a message was not sent")


async def group_send(layer: Any, group: str, message: Message) -> bool:
    """Whether the layer took it."""
    return await attempt(layer.group_send(group, message), "a group was not told")


async def new_channel(layer: Any, prefix: str) -> str:
    """A channel of one's own, for as long as it takes."""
    while True:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return str(await layer.new_channel(prefix))
        except Exception as error:
            complain("no channel is to be had", error)
        heed()
        await asyncio.sleep(RETRY_SECONDS)


async def join(layer: Any, group: str, channel: str) -> bool:
    """Whether the channel is in the group now. Also again: joining twice changes nothing."""
    return await attempt(layer.group_add(group, channel), "a group was not joined")


async def join_patiently(layer: Any, group: str, channel: str) -> None:
    """The same, for as long as it takes."""
    while True:
        if await join(layer, group, channel):
            return
        heed()
        await asyncio.sleep(RETRY_SECONDS)


async def part(layer: Any, group: str, channel: str) -> bool:
    """Leaving is a courtesy: whether it went through matters to nobody but the layer."""
    return await attempt(layer.group_discard(group, channel), "a group was not left")


def _nothing() -> None:
    """Whoever does not care what got lost."""


async def listen(
    layer: Any, channel: str, take: Callable[[Message], Awaitable[None]], lost: Callable[[], None] = _nothing
) -> NoReturn:
    """Give every message of `channel` to `take`, for ever, whatever the layer does meanwhile.

    A message that cannot be handled is no reason to hear no other. `lost()`: the layer failed, and some
    messages may never come.
    """
    while True:
        try:
            message = cast("Message", await layer.receive(channel))
        except Exception as error:
            complain("nothing can be received", error)
            lost()
            heed()
            await asyncio.sleep(RETRY_SECONDS)
            continue
        try:
            await take(message)
        except Exception:
            log.exception("a message of the kind %s was not handled", message.get("type"))
        heed()


_told: dict[str, tuple[float, int]] = {}


def complain(what: str, error: BaseException) -> None:
    """Say it, unless the same was said just now: then count it. `what` is one of few phrases."""
    now = time.monotonic()
    told_at, unsaid = _told.get(what, (float("-inf"), 0))
    if now - told_at < COMPLAIN_SECONDS:
        _told[what] = (told_at, unsaid + 1)
        return
    _told[what] = (now, 0)
    log.warning("%s: %s%s", what, type(error).__name__, f" ({unsaid} more before)" if unsaid else "")
