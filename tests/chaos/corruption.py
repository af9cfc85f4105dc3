"""Ways in which a history can break a promise, one clause each: what the checker must find.

A corruption changes one place of a good history and names the rule that it breaks.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.chaos.history import Entry, Final, History, InputEnd, Reading, Seen

Corrupt = Callable[[History, Random], None]
CORRUPTIONS: dict[str, tuple[int, Corrupt]] = {}


def breaks(rule: int) -> Callable[[Corrupt], Corrupt]:
    def register(corrupt: Corrupt) -> Corrupt:
        CORRUPTIONS[corrupt.__name__] = (rule, corrupt)
        return corrupt

    return register


def any_final(history: History, rng: Random) -> Final:
    return rng.choice(history.finals)


def committed(final: Final, rng: Random) -> InputEnd:
    return rng.choice([item for item in final.inputs if item.state == "committed"])


def unseen(history: History, final: Final) -> None:
    """Nobody watched: for what would else be seen in the stream as well."""
    history.readings = [reading for reading in history.readings if reading.session != final.session]


def append(final: Final, kind: str, run_id: str, input_id: str = "") -> None:
    position = len(final.entries) + 1
    final.entries.append(Entry(f"extra-{position}", position, kind, run_id, input_id))


def whole(history: History, rng: Random) -> Reading:
    """A reader who saw everything, so that there is something to change in every lifetime."""
    return rng.choice([reading for reading in history.readings if reading.reader == "all"])


def events(reading: Reading) -> list[int]:
    return [at for at, item in enumerate(reading.log) if isinstance(item, Seen)]
