"""What all attempts of a process share. A plain holder: it does nothing by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from streaming.limits import WireLimits
from streaming.providers.breaker import Breaker
from streaming.providers.streamless import StreamModes
from streaming.providers.transport import Transport


@dataclass(frozen=True, slots=True)
class Shared:
    """`clock` reads monotonic seconds, `wall` aware UTC."""

    limits: WireLimits
    clock: Callable[[], float]
    wall: Callable[[], datetime]
    breaker: Breaker
    modes: StreamModes
    transport: Transport
