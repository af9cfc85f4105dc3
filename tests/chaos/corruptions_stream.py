"""How the one log can go wrong: rules 3 and 4."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from random import Random

from tests.chaos.corruption import any_final, append, breaks, events, unseen, whole
from tests.chaos.history import (
    History,
    Reading,
    Reset,
    RunEnd,
    Seen,
)

# Rule 3


@breaks(3)
def event_is_missing_in_one_reading(history: History, rng: Random) -> None:
    reading = whole(history, rng)
    inner = [at for at in events(reading)[:-1] if isinstance(reading.log[at + 1], Seen)]
    del reading.log[rng.choice(inner)]


@breaks(3)
def event_comes_twice(history: History, rng: Random) -> None:
    reading = whole(history, rng)
    at = rng.choice(events(reading))
    reading.log.insert(at, copy(reading.log[at]))


@breaks(3)
def event_differs_between_readers(history: History, rng: Random) -> None:
    reading = whole(history, rng)
    at = rng.choice(events(reading))
    other = reading.log[at]
    assert isinstance(other, Seen)
    fork = Reading("fork", reading.session)
    (final,) = [final for final in history.finals if final.session == reading.session]
    reset = Reset(other.generation, "initial", other.sequence - 1, len(final.entries))
    fork.log += [reset, replace(other, digest="another")]
    history.readings.append(fork)


@breaks(3)
def event_comes_before_any_snapshot(history: History, rng: Random) -> None:
    reading = whole(history, rng)
    seen = reading.log[rng.choice(events(reading))]
    history.readings.append(Reading("early", reading.session, [seen]))


@breaks(3)
def generation_changes_without_a_reset(history: History, rng: Random) -> None:
    reading = whole(history, rng)
    later = [at for at, item in enumerate(reading.log) if isinstance(item, Reset)][1:]
    del reading.log[rng.choice(later)]


@breaks(3)
def reset_says_new_generation_in_the_old_one(history: History, rng: Random) -> None:
    _insert_reset(history, rng, "generation_changed", back=0)


@breaks(3)
def reset_says_lost_window_in_a_new_generation(history: History, rng: Random) -> None:
    reading = whole(history, rng)
    later = [item for item in reading.log if isinstance(item, Reset)][1:]
    rng.choice(later).reason = "replay_unavailable"


@breaks(3)
def reset_goes_back(history: History, rng: Random) -> None:
    _insert_reset(history, rng, "replay_unavailable", back=1)


def _insert_reset(history: History, rng: Random, reason: str, back: int) -> None:
    reading = whole(history, rng)
    at = rng.choice(events(reading))
    seen = reading.log[at]
    assert isinstance(seen, Seen)
    waters = [item.high_water for item in reading.log if isinstance(item, Reset)]
    waters += [item.position or 0 for item in reading.log[: at + 1] if isinstance(item, Seen)]
    reset = Reset(seen.generation, reason, seen.sequence - back, max(waters))
    reading.log[at + 1 :] = [reset]


@breaks(3)
def hole_that_no_reader_saw(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    unseen(history, final)
    (newest,) = [name for name, rank in history.ranks[final.session].items() if rank == final.runs[-1].rank]
    log: list[Seen | Reset] = [
        Reset(newest, "initial", 0, len(final.entries)),
        Seen(newest, 1, "a"),
        Seen(newest, 3, "b"),
    ]
    history.readings.append(Reading("hole", final.session, log))


@breaks(3)
def position_is_left_out(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    unseen(history, final)
    at = rng.randrange(len(final.entries))
    for entry in final.entries[at:]:
        entry.position += 1


@breaks(3)
def position_is_used_twice(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    unseen(history, final)
    at = rng.randrange(1, len(final.entries))
    final.entries[at].position -= 1


@breaks(3)
def committed_entry_changed_later(history: History, rng: Random) -> None:
    reading = whole(history, rng)
    told = rng.choice([item for item in reading.log if isinstance(item, Seen) and item.position is not None])
    told.entry_id = "what readers were told"


@breaks(3)
def end_of_the_history_is_gone(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    reset = next(item for item in whole(history, rng).log if isinstance(item, Reset))
    name = max(history.ranks[final.session], key=lambda name: history.ranks[final.session][name])
    late = replace(reset, generation=name, cursor=10**6, high_water=len(final.entries) + 1)
    history.readings.append(Reading("late", final.session, [late]))


# Rule 4


@breaks(4)
def old_generation_writes_behind_a_new_one(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    assert final.runs[0].rank < final.runs[-1].rank
    append(final, "assistant", final.runs[0].run_id)


@breaks(4)
def old_generation_writes_after_the_takeover(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    newest = max(history.ranks[final.session].values())
    final.runs.append(RunEnd("zombie", "abandoned", newest))
    history.ranks[final.session]["later"] = newest + 1
    taken = Reset("later", "initial", 0, len(final.entries))
    history.readings.append(Reading("taken", final.session, [taken]))
    append(final, "assistant", "zombie")


@breaks(4)
def reader_is_taken_back_to_an_old_generation(history: History, rng: Random) -> None:
    reading = whole(history, rng)
    resets = [item for item in reading.log if isinstance(item, Reset)]
    reading.log.append(replace(resets[0], reason="generation_changed"))
