"""The in-memory channel layer for one process, at a cost per message that does not grow with the members.

The stock one walks every channel and every member on each call and deep-copies. This one cleans at most once
a second, copies flat messages flatly and measures time by a clock that nobody can set. Nothing durable may
depend on it: full channels drop group messages without a word.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import Any, cast

from channels.exceptions import ChannelFull
from channels.layers import InMemoryChannelLayer

Message = dict[str, Any]
Clock = Callable[[], float]

CLEAN_SECONDS = 1.0
# One hub's channel carries every session that its process watches: the stock 100 is one burst.
CAPACITY = 1_000
_FLAT = (str, int, float, bytes, type(None))


class MemoryChannelLayer(InMemoryChannelLayer):  # type: ignore[misc]
    """The stock layer's interface and promises; group memberships do not end by age."""

    def __init__(self, *, capacity: int = CAPACITY, clock: Clock = time.monotonic, **options: Any) -> None:
        super().__init__(capacity=capacity, **options)
        self._clock = clock
        self._clean_at = clock()
        self._receivers: Counter[str] = Counter()

    async def send(self, channel: str, message: Message) -> None:
        """Raises ChannelFull at capacity."""
        self.require_valid_channel_name(channel)
        self._clean_expired()
        self._put(channel, message)

    async def receive(self, channel: str) -> Message:
        """The oldest message; of several receivers of one channel any may get it."""
        self.require_valid_channel_name(channel)
        self._clean_expired()
        queue = self._queue(channel)
        self._receivers[channel] += 1
        try:
            _, message = await queue.get()
        finally:
            self._receivers[channel] -= 1
            if not self._receivers[channel]:
                del self._receivers[channel]
            self._drop_if_idle(channel)
        return message

    async def group_add(self, group: str, channel: str) -> None:
        self.require_valid_group_name(group)
        self.require_valid_channel_name(channel)
        self.groups.setdefault(group, {})[channel] = self._clock()

    def member_count(self, group: str) -> int:
        """Channels that have joined: all there are, since the layer is of one process."""
        return len(self.groups.get(group, ()))

    async def group_send(self, group: str, message: Message) -> None:
        self.require_valid_group_name(group)
        self._clean_expired()
        for channel in self.groups.get(group, ()):
            try:
                self._put(channel, message)
            except ChannelFull:
                # The promise of groups is at most once; receivers see gaps by sequence.
                continue

    def _put(self, channel: str, message: Message) -> None:
        queue = self._queue(channel)
        if queue.full():
            raise ChannelFull(channel)
        queue.put_nowait((self._clock() + self.expiry, _copied(message)))

    def _queue(self, channel: str) -> asyncio.Queue[tuple[float, Message]]:
        queue = self.channels.get(channel)
        if queue is None:
            queue = self.channels[channel] = asyncio.Queue(self.get_capacity(channel))
        return cast("asyncio.Queue[tuple[float, Message]]", queue)

    def _drop_if_idle(self, channel: str) -> None:
        # A queue that somebody still waits on stays: dropping it would leave that receiver deaf.
        queue = self.channels.get(channel)
        if queue is not None and queue.empty() and not self._receivers[channel]:
            del self.channels[channel]

    def _clean_expired(self) -> None:
        now = self._clock()
        if now < self._clean_at:
            return
        self._clean_at = now + CLEAN_SECONDS
        for channel in list(self.channels):
            self._clean_channel(channel, now)

    def _clean_channel(self, channel: str, now: float) -> None:
        queue = self._queue(channel)
        while not queue.empty() and queue._queue[0][0] < now:  # type: ignore[attr-defined]
            queue.get_nowait()
            # Nobody has read here for a whole expiry: a member that is gone.
            self._remove_from_groups(channel)
        self._drop_if_idle(channel)


def _copied(message: Message) -> Message:
    """A copy that shares nothing that could change."""
    if all(isinstance(value, _FLAT) for value in message.values()):
        return dict(message)
    return deepcopy(message)
