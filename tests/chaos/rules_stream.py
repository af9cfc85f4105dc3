"""Rules 3 and 4: what readers saw, against each other and against what lasts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.chaos.history import Final, History, Reading, Reset, Seen

Found = Iterator[tuple[int, str]]


def one_log(history: History) -> Found:
    for reading in history.readings:
        yield from _gapless(reading)
    yield from _one_function(history)
    yield from _dense(history)
    for final in history.finals:
        if not final.deleted:
            yield from _dense_positions(final)
    yield from _lasting(history)


def _gapless(reading: Reading) -> Found:
    """One reader: each event follows the one before or a reset, and a reset says truly why it came."""
    where = f"{reading.session}: reader {reading.reader}"
    at: tuple[str, int] | None = None
    for item in reading.log:
        if isinstance(item, Reset):
            yield from _reset_faults(where, at, item)
            at = (item.generation, item.cursor)
            continue
        if at is None:
            yield 3, f"{where} got event {item.sequence} before any snapshot"
        elif item.generation != at[0]:
            yield 3, f"{where} got generation {item.generation} without a reset"
        elif item.sequence != at[1] + 1:
            yield 3, f"{where} got event {item.sequence} behind {at[1]}"
        at = (item.generation, item.sequence)


def _reset_faults(where: str, at: tuple[str, int] | None, reset: Reset) -> Found:
    if at is None:
        return
    same = at[0] == reset.generation
    if reset.reason == "generation_changed" and same:
        yield 3, f"{where} was told of a new generation, which is the old one"
    if reset.reason == "replay_unavailable" and not same:
        yield 3, f"{where} was told of a lost window and got another generation"
    if same and reset.cursor < at[1]:
        yield 3, f"{where} was taken back from {at[1]} to {reset.cursor}"


def _one_function(history: History) -> Found:
    """All readers together: one event for each place."""
    known: dict[tuple[str, str, int], str] = {}
    for reading in history.readings:
        for item in reading.log:
            if isinstance(item, Seen):
                place = (reading.session, item.generation, item.sequence)
                if known.setdefault(place, item.digest) != item.digest:
                    yield 3, f"{reading.session}: two events at {item.sequence} of {item.generation}"


def _dense(history: History) -> Found:
    """All readers together: what no snapshot covers was seen by somebody, up to the last one seen."""
    seen: dict[tuple[str, str], set[int]] = defaultdict(set)
    covered: dict[tuple[str, str], int] = defaultdict(int)
    for reading in history.readings:
        for item in reading.log:
            place = (reading.session, item.generation)
            if isinstance(item, Reset):
                covered[place] = max(covered[place], item.cursor)
            else:
                seen[place].add(item.sequence)
    for place, sequences in seen.items():
        beyond = sum(1 for sequence in sequences if sequence > covered[place])
        if beyond and max(sequences) - covered[place] != beyond:
            yield 3, f"{place[0]}: sequences of {place[1]} have a hole that nobody saw"


def _dense_positions(final: Final) -> Found:
    positions = [entry.position for entry in final.entries]
    if positions != list(range(1, len(positions) + 1)):
        yield 3, f"{final.session}: positions are not dense: {_first_break(positions)}"


def _first_break(positions: list[int]) -> str:
    for expected, position in enumerate(positions, start=1):
        if position != expected:
            return f"{position} where {expected} belongs"
    return "none"


def _lasting(history: History) -> Found:
    """What a reader was told to be committed is what lasts, at its place."""
    finals = {final.session: final for final in history.finals if not final.deleted}
    lasts = {
        session: {entry.position: entry.id for entry in final.entries} for session, final in finals.items()
    }
    for reading in history.readings:
        entries = lasts.get(reading.session)
        if entries is None:
            continue
        for item in reading.log:
            if isinstance(item, Reset):
                if item.high_water > len(entries):
                    yield 3, f"{reading.session}: a snapshot knew position {item.high_water}, which is gone"
            elif item.position is not None and entries.get(item.position) != item.entry_id:
                yield 3, f"{reading.session}: position {item.position} is not what readers were told"


def fenced(history: History) -> Found:
    resets: dict[str, list[Reset]] = defaultdict(list)
    for reading in history.readings:
        yield from _forward(reading, history.ranks.get(reading.session, {}))
        resets[reading.session] += [item for item in reading.log if isinstance(item, Reset)]
    for final in history.finals:
        if not final.deleted:
            yield from _old_behind_new(final)
            yield from _behind_takeover(final, resets[final.session], history.ranks.get(final.session, {}))


def _forward(reading: Reading, ranks: dict[str, int]) -> Found:
    """A reader is never taken back to an older generation."""
    highest = 0
    for item in reading.log:
        rank = ranks[item.generation]
        if rank < highest:
            yield 4, f"{reading.session}: reader {reading.reader} got generation {item.generation} again"
        highest = max(highest, rank)


def _entry_ranks(final: Final) -> list[tuple[int, int]]:
    """(position, rank) of each entry of a run. A `lost` result is written by the claim of the next
    generation, before anything of its own, and counts to the run that it closes."""
    ranks = {run.run_id: run.rank for run in final.runs}
    return [(entry.position, ranks[entry.run_id]) for entry in final.entries if entry.run_id in ranks]


def _old_behind_new(final: Final) -> Found:
    highest = 0
    for position, rank in _entry_ranks(final):
        if rank < highest:
            yield 4, f"{final.session}: position {position} is of generation {rank}, behind one of {highest}"
        highest = max(highest, rank)


def _behind_takeover(final: Final, resets: list[Reset], ranks: dict[str, int]) -> Found:
    """A generation's first snapshot has all that older ones ever wrote."""
    first: dict[int, int] = {}
    for reset in resets:
        rank = ranks[reset.generation]
        first[rank] = min(first.get(rank, reset.high_water), reset.high_water)
    # From the oldest snapshot on, the newest generation known to be there when a position was written.
    known = sorted(first.items(), key=lambda item: item[1])
    newest, at = 0, 0
    for position, rank in _entry_ranks(final):
        while at < len(known) and known[at][1] < position:
            newest = max(newest, known[at][0])
            at += 1
        if rank < newest:
            yield (
                4,
                f"{final.session}: position {position} of generation {rank} came after {newest} had begun",
            )
