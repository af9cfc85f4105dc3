"""How inputs can go wrong: rules 1, 2 and 6."""

from __future__ import annotations

from random import Random

from tests.chaos.corruption import any_final, append, breaks, committed, whole
from tests.chaos.history import (
    History,
    InputEnd,
    Operation,
    Seen,
)

# Rule 1


@breaks(1)
def accepted_input_is_gone(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    end = rng.choice([item for item in final.inputs if item.state == "cancelled"])
    final.inputs.remove(end)


@breaks(1)
def accepted_input_is_stored_twice(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    # The same place twice, so that the order of inputs has nothing to say.
    end = max((item for item in final.inputs if item.state == "committed"), key=lambda item: item.order)
    (entry,) = [item for item in final.entries if item.input_id == end.input_id]
    append(final, "user", final.runs[-1].run_id, entry.input_id)


@breaks(1)
def accepted_input_never_reaches_the_history(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    end = committed(final, rng)
    for entry in final.entries:
        if entry.input_id == end.input_id:
            entry.input_id, entry.kind = "", "note"


@breaks(1)
def accepted_input_has_a_run_that_nobody_knows(history: History, rng: Random) -> None:
    committed(any_final(history, rng), rng).run_id = "no such run"


@breaks(1)
def accepted_input_waits_where_nothing_waits(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    end = committed(final, rng)
    end.state, end.run_id = "pending", ""


@breaks(1)
def accepted_input_was_cancelled_by_nobody(history: History, rng: Random) -> None:
    for operation in history.operations:
        if operation.kind == "cancel":
            operation.outcome = "fail"


@breaks(1)
def cancelled_input_was_answered(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    committed(final, rng).state = "cancelled"
    for operation in history.operations:
        if operation.kind == "cancel":
            operation.targets = None


@breaks(1)
def turn_was_completed_twice(history: History, rng: Random) -> None:
    reading = whole(history, rng)
    done = [item for item in reading.log if isinstance(item, Seen) and item.ends]
    again = rng.choice(done)
    other = rng.choice([item for item in reading.log if isinstance(item, Seen) and not item.ends])
    other.ends = again.ends


# Rule 2


@breaks(2)
def refused_input_is_in_the_log(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    end = max(final.inputs, key=lambda item: item.order)
    refuse = Operation("input", final.session, 0.0, 0.1, "fail", "refused")
    history.operations.append(refuse)
    final.inputs.append(InputEnd("refused", end.order + 1, "cancelled"))


@breaks(2)
def input_of_unknown_outcome_is_there_twice(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    end = max((item for item in final.inputs if item.state == "committed"), key=lambda item: item.order)
    for operation in history.operations:
        if operation.input_id == end.input_id:
            operation.outcome = "unknown"
    append(final, "user", final.runs[-1].run_id, end.input_id)


@breaks(2)
def input_of_unknown_outcome_is_half_there(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    end = committed(final, rng)
    for operation in history.operations:
        if operation.input_id == end.input_id:
            operation.outcome = "unknown"
    final.inputs.remove(end)


@breaks(2)
def input_in_the_history_was_sent_by_nobody(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    append(final, "user", final.runs[-1].run_id, "nobody")


# Rule 6


@breaks(6)
def inputs_stand_in_another_order_than_acknowledged(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    early, late = sorted(final.inputs, key=lambda item: item.order)[:2]
    _swap_orders(history, early, late)
    # Answered in the order that they have now: the acknowledgements alone tell.
    mine = {item.input_id: item.order for item in final.inputs}
    users = [entry for entry in final.entries if entry.input_id]
    ids = sorted((entry.input_id for entry in users), key=lambda input_id: mine[input_id])
    for entry, input_id in zip(users, ids, strict=True):
        entry.input_id = input_id


@breaks(6)
def inputs_are_answered_in_another_order_than_accepted(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    users = [entry for entry in final.entries if entry.input_id]
    at = rng.randrange(len(users) - 1)
    one, other = users[at], users[at + 1]
    one.input_id, other.input_id = other.input_id, one.input_id


@breaks(6)
def two_inputs_have_one_order(history: History, rng: Random) -> None:
    final = any_final(history, rng)
    early, late = sorted(final.inputs, key=lambda item: item.order)[:2]
    late.order = early.order
    for operation in history.operations:
        if operation.outcome == "ok" and operation.input_id == late.input_id:
            operation.order = late.order


@breaks(6)
def order_is_not_what_was_acknowledged(history: History, rng: Random) -> None:
    told = [op for op in history.operations if op.kind == "input" and op.outcome == "ok"]
    rng.choice(told).order = 10**6


def _swap_orders(history: History, one: InputEnd, other: InputEnd) -> None:
    one.order, other.order = other.order, one.order
    now = {one.input_id: one.order, other.input_id: other.order}
    for operation in history.operations:
        if operation.outcome == "ok" and operation.input_id in now:
            operation.order = now[operation.input_id]
