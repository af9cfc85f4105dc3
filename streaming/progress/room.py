"""Who yields where many calls together would pass the memory bound of a projection.

32 full windows of any characters fit while ids and names are of usual length. Where they do not, the
largest windows are shortened from the left: their offsets stay exact.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

from streaming.limits import KIB
from streaming.progress.call import TrackedCall

# More than any call takes with one preview: as long as there is that much for each, nobody need count.
_ROOMY_BYTES: Final = 4 * KIB
# Small, so that windows end up alike.
_STEP_SCALARS: Final = 16


def make_room(calls: Mapping[int, TrackedCall], room_bytes: int) -> set[int]:
    """Shortens until `calls` and their mapping take `room_bytes`, or no window is left; who lost text."""
    if sum(max(1, call.preview_count) for call in calls.values()) * _ROOMY_BYTES <= room_bytes:
        return set()
    sizes = {slot: call.size() for slot, call in calls.items()}
    frame_bytes = sum(map(sys.getsizeof, (calls, *calls)))
    shortened: set[int] = set()
    while frame_bytes + sum(sizes.values()) > room_bytes:
        slot = max(calls, key=lambda slot: calls[slot].largest_window())
        if not calls[slot].shorten(_STEP_SCALARS):
            break
        sizes[slot] = calls[slot].size()
        shortened.add(slot)
    return shortened
