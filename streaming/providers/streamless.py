"""Which endpoints refuse what we ask of a stream: remembered, so that they are asked without it.

Bounded, in memory, one per process. It reads an error's code and safe detail, never a body.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from itertools import islice

from streaming.providers.errors import ProviderError

MAX_ENDPOINTS = 1_024
# What one report names.
MAX_REPORTED = 200
_STATUSES = frozenset({400, 404, 405, 415, 422, 501})


@dataclass(frozen=True, slots=True)
class StreamMode:
    """What to ask for: a stream at all, and usage inside of it."""

    stream: bool = True
    stream_usage: bool = True


class StreamModes:
    """By (base_url, model)."""

    def __init__(self) -> None:
        self._modes: OrderedDict[tuple[str, str], StreamMode] = OrderedDict()

    def of(self, base_url: str, model: str) -> StreamMode:
        return self._modes.get((base_url, model), StreamMode())

    def streamless(self) -> list[tuple[str, str]]:
        """Those that are asked without a stream, the last learnt first; at most `MAX_REPORTED`."""
        found = (key for key, mode in reversed(self._modes.items()) if not mode.stream)
        return list(islice(found, MAX_REPORTED))

    def learn(self, base_url: str, model: str, error: ProviderError) -> bool:
        """True where the refusal taught something, so that asking again at once is worth it."""
        asked = self.of(base_url, model)
        mode = _without(asked, error)
        if mode == asked:
            return False
        self._modes[(base_url, model)] = mode
        self._modes.move_to_end((base_url, model))
        while len(self._modes) > MAX_ENDPOINTS:
            self._modes.popitem(last=False)
        return True


def _without(asked: StreamMode, error: ProviderError) -> StreamMode:
    if error.http_status not in _STATUSES or not asked.stream:
        return asked
    # Named first: a sentence about the option also speaks of a stream that is not supported.
    if asked.stream_usage and ("stream_options" in error.detail or "include_usage" in error.detail):
        return replace(asked, stream_usage=False)
    if error.code == "streaming_unsupported":
        return replace(asked, stream=False)
    return asked
