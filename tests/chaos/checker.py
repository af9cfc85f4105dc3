"""Does a history keep the promises? Pure, and linear in the size of the history.

`check` names the rule that each violation breaks:

1. an accepted input stands in the log once and has one end
2. one of unknown outcome stands there at most once, a refused one never
3. all readers see prefixes of one log, without a gap that was not announced; nothing committed changes
4. nothing of an older generation behind something of a newer one
5. the code of a tool call is started at most once, and exactly once where it ended well
6. inputs stand in the order in which they were acknowledged
7. whatever goes to a provider is a well-formed request
8. when all is settled no session is busy without somebody who works on it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.chaos import rules_inputs, rules_settled, rules_stream
from tests.chaos.history import History
from tests.support.request_checker import faults

RULES = {1, 2, 3, 4, 5, 6, 7, 8}


@dataclass(frozen=True, slots=True)
class Violation:
    rule: int
    what: str

    def __str__(self) -> str:
        return f"rule {self.rule}: {self.what}"


def check(history: History) -> list[Violation]:
    """Every violation; empty for a history that keeps all promises."""
    return [Violation(rule, what) for rule, what in _found(history)]


def _found(history: History) -> Iterator[tuple[int, str]]:
    yield from rules_inputs.accepted_once(history)
    yield from rules_inputs.in_order(history)
    yield from rules_stream.one_log(history)
    yield from rules_stream.fenced(history)
    yield from rules_settled.started_once(history)
    for number, request in enumerate(history.requests):
        for fault in faults(request.path, request.body):
            yield 7, f"provider request {number}: {fault}"
    yield from rules_settled.at_rest(history)
