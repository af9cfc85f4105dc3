"""Rules 1, 2 and 6: what became of every input that a client sent."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.chaos.history import Final, History, InputEnd, Operation, Seen

Found = Iterator[tuple[int, str]]


@dataclass(slots=True)
class Asked:
    """All requests that carried one input id, as one: accepted somewhere between the two times."""

    input_id: str
    outcome: str
    orders: set[int]
    first: float
    known: float


def asked_inputs(operations: Sequence[Operation]) -> dict[str, dict[str, Asked]]:
    """By session and input id. One `ok` makes it ok; it is refused only where every request was."""
    found: dict[str, dict[str, Asked]] = defaultdict(dict)
    for operation in operations:
        if operation.kind != "input":
            continue
        mine = found[operation.session]
        known = mine.get(operation.input_id)
        if known is None:
            known = Asked(operation.input_id, "fail", set(), operation.invoked, operation.ended)
            mine[operation.input_id] = known
        _join(known, operation)
    return found


def _join(known: Asked, operation: Operation) -> None:
    known.first = min(known.first, operation.invoked)
    if operation.outcome == "ok":
        known.known = operation.ended if known.outcome != "ok" else min(known.known, operation.ended)
        known.outcome = "ok"
        if operation.order is not None:
            known.orders.add(operation.order)
    elif operation.outcome == "unknown" and known.outcome == "fail":
        known.outcome = "unknown"


def accepted_once(history: History) -> Found:
    asked = asked_inputs(history.operations)
    removable = _removable(history.operations)
    turns = _completed_turns(history)
    for final in history.finals:
        if not final.deleted:
            takes = removable.get(final.session, set())
            yield from _session_inputs(final, asked.get(final.session, {}), takes)
    for (session, input_id), count in turns.items():
        if count > 1:
            yield 1, f"{session}: the turn of input {input_id} was completed {count} times"


def _session_inputs(final: Final, asked: dict[str, Asked], removable: set[str] | None) -> Found:
    rows = Counter(item.input_id for item in final.inputs)
    ends = {item.input_id: item for item in final.inputs}
    said = Counter(entry.input_id for entry in final.entries if entry.kind == "user")
    runs = {run.run_id for run in final.runs}
    for input_id, one in asked.items():
        where = f"{final.session}: input {input_id}"
        end = ends.get(input_id)
        if one.outcome == "fail":
            if rows[input_id] or said[input_id]:
                yield 2, f"{where} was refused and is in the log"
        elif end is None:
            if one.outcome == "ok":
                yield 1, f"{where} was accepted and is gone"
            elif said[input_id]:
                yield 2, f"{where} is in the history and nowhere else"
        else:
            rule = 1 if one.outcome == "ok" else 2
            if rows[input_id] > 1 or said[input_id] > 1:
                yield rule, f"{where} is in the log more than once"
            else:
                for fault in _end_faults(end, said[input_id], runs, final.pending, removable):
                    yield 1, f"{where} {fault}"
    for input_id in said:
        if input_id not in asked:
            yield 2, f"{final.session}: nobody sent input {input_id}"


def _end_faults(
    end: InputEnd, said: int, runs: set[str], waiting: int, removable: set[str] | None
) -> Iterator[str]:
    """Work that still goes on is no fault here: rule 8 says who must be there for it."""
    if end.state == "committed":
        if said != 1:
            yield "was taken by a run and is not in the history"
        if end.run_id not in runs:
            yield "has no end: no run of the session took it"
    elif end.state == "cancelled":
        if said:
            yield "was cancelled and is in the history all the same"
        if removable is not None and end.input_id not in removable:
            yield "was cancelled by nobody"
    elif not waiting:
        yield f"has no end: it is {end.state}, and nothing waits"


def _removable(operations: Sequence[Operation]) -> dict[str, set[str] | None]:
    """By session, the inputs that a user may have taken out; None for any."""
    found: dict[str, set[str] | None] = {}
    for operation in operations:
        if operation.kind not in ("cancel", "interrupt") or operation.outcome == "fail":
            continue
        known = found.setdefault(operation.session, set())
        if operation.targets is None:
            found[operation.session] = None
        elif known is not None:
            known.update(operation.targets)
    return found


def _completed_turns(history: History) -> Counter[tuple[str, str]]:
    """How many events completed an input's turn; one event seen by many readers is one."""
    events = {
        (reading.session, seen.generation, seen.sequence): seen.ends
        for reading in history.readings
        for seen in reading.log
        if isinstance(seen, Seen) and seen.ends
    }
    return Counter((key[0], input_id) for key, ends in events.items() for input_id in ends)


def in_order(history: History) -> Found:
    asked = asked_inputs(history.operations)
    for final in history.finals:
        if not final.deleted:
            yield from _orders(final, asked.get(final.session, {}))
            yield from _positions(final)


def _orders(final: Final, asked: dict[str, Asked]) -> Found:
    kept = {item.input_id: item.order for item in final.inputs}
    if len(set(kept.values())) != len(kept):
        yield 6, f"{final.session}: two inputs have one order"
    mine = [one for one in asked.values() if one.outcome == "ok" and one.input_id in kept]
    for one in mine:
        if one.orders - {kept[one.input_id]}:
            yield 6, f"{final.session}: input {one.input_id} was told the orders {sorted(one.orders)}"
    # A sweep over time: everything known before a request began has a smaller order than it.
    starts = sorted(mine, key=lambda one: one.first)
    ends = sorted(mine, key=lambda one: one.known)
    highest, at = 0, 0
    for one in starts:
        while at < len(ends) and ends[at].known < one.first:
            highest = max(highest, kept[ends[at].input_id])
            at += 1
        if kept[one.input_id] < highest:
            yield 6, f"{final.session}: input {one.input_id} stands before one acknowledged earlier"


def _positions(final: Final) -> Found:
    """History has the user entries in the order of their inputs."""
    orders = {item.input_id: item.order for item in final.inputs}
    highest = 0
    for entry in final.entries:
        if entry.kind != "user" or entry.input_id not in orders:
            continue
        order = orders[entry.input_id]
        if order < highest:
            yield 6, f"{final.session}: position {entry.position} answers an earlier input than before"
        highest = max(highest, order)
