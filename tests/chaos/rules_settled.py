"""Rules 5 and 8: what ran, and what still claims to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.chaos.history import CallEnd, Final, History

Found = Iterator[tuple[int, str]]

OPEN_CALLS = ("pending", "running")


def started_once(history: History) -> Found:
    runs = Counter(line.nonce for line in history.ledger)
    known = set()
    for final in history.finals:
        for call in final.calls:
            known.add(call.nonce)
            if fault := _call_fault(call, runs[call.nonce]):
                yield 5, f"{final.session}: call {call.call_id} {fault}"
    # The calls of a deleted session are gone with it: that none ran twice can still be seen.
    deleted = any(final.deleted for final in history.finals)
    for nonce, count in runs.items():
        if nonce not in known and (count > 1 or not deleted):
            yield 5, f"code ran {count} times that no call on record has: {nonce}"


def _call_fault(call: CallEnd, count: int) -> str:
    if call.status in OPEN_CALLS:
        return f"has no end: it is {call.status}"
    if not call.nonce:
        return ""
    if count > 1:
        return f"ran {count} times"
    if count and not call.started:
        return "ran, and is on record as never started"
    if call.status == "ok" and count != 1:
        return "is ok and never ran"
    return ""


def at_rest(history: History) -> Found:
    for final in history.finals:
        if not final.deleted and (fault := _rest_fault(final)):
            yield 8, f"{final.session} {fault}"


def _rest_fault(final: Final) -> str:
    unfinished = sum(1 for run in final.runs if run.state == "running")
    if final.phase == "idle":
        if unfinished:
            return "says idle and has an unfinished run"
        if final.pending:
            return "says idle and has inputs that wait"
    elif not final.lease_live:
        return f"says {final.phase} and nobody holds it"
    return ""
