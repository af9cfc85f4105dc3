"""Histories that keep every promise, made up from a seed: what the checker must pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.chaos.history import (
    CallEnd,
    Entry,
    Final,
    History,
    InputEnd,
    LedgerLine,
    Operation,
    ProviderRequest,
    Reading,
    Reset,
    RunEnd,
    Seen,
)

READERS = 3


@dataclass(slots=True)
class Lifetime:
    """One generation: its events, and the last position before each of them."""

    name: str
    begun_at: int
    events: list[Seen] = field(default_factory=list)
    high_waters: list[int] = field(default_factory=list)

    def reset(self, reason: str, cursor: int) -> Reset:
        after = self.high_waters[cursor - 1] if cursor else self.begun_at
        return Reset(self.name, reason, cursor, after)


class Story:
    """One session's life, told step by step."""

    def __init__(self, history: History, name: str, rng: Random) -> None:
        self.history, self.rng = history, rng
        self.final = Final(name)
        history.finals.append(self.final)
        self.lifetimes: list[Lifetime] = []
        self.order = 0
        self.clock = 0.0
        self.waiting: list[str] = []
        self.begin()

    def begin(self) -> None:
        rank = len(self.lifetimes) + 1
        name = f"{rank}-{self.rng.randrange(16**4):04x}"
        self.lifetimes.append(Lifetime(name, len(self.final.entries)))
        self.history.ranks.setdefault(self.final.session, {})[name] = rank

    def ask(self) -> None:
        """An input, perhaps with an answer that got lost first, perhaps with one that was refused."""
        self.order += 1
        input_id = f"{self.final.session}-input-{self.order}"
        if self.rng.random() < 0.3:
            self._operation("unknown", input_id, None)
        self._operation("ok", input_id, self.order)
        self.waiting.append(input_id)
        if self.rng.random() < 0.2:
            self._operation("fail", f"{input_id}-refused", None)

    def cancel(self) -> None:
        if not self.waiting:
            return
        input_id = self.waiting.pop()
        self.clock += 2
        self.history.operations.append(
            Operation("cancel", self.final.session, self.clock - 1, self.clock, "ok", targets=(input_id,))
        )
        self.final.inputs.append(InputEnd(input_id, int(input_id.rsplit("-", 1)[1]), "cancelled"))

    def run(self, *, crash: bool = False) -> None:
        """Answer the first that waits: a call, and then text; or a crash in the call."""
        if not self.waiting:
            return
        input_id = self.waiting.pop(0)
        run_id = f"{self.final.session}-run-{len(self.final.runs)}"
        self.final.inputs.append(InputEnd(input_id, int(input_id.rsplit("-", 1)[1]), "committed", run_id))
        self.final.runs.append(RunEnd(run_id, "abandoned" if crash else "completed", len(self.lifetimes)))
        self._event(self._entry("user", run_id, input_id))
        self._event(self._entry("tool_call", run_id))
        call = CallEnd(f"{run_id}-call", f"{run_id}-nonce", "lost" if crash else "ok", started=True)
        self.final.calls.append(call)
        if not crash or self.rng.random() < 0.5:
            self.history.ledger.append(LedgerLine(call.nonce, 7, self.clock))
        result = self._entry("tool_result", run_id)
        if crash:
            self.begin()
            return
        self._event(result)
        for _ in range(self.rng.randrange(4)):
            self._event(None)
        self._event(self._entry("assistant", run_id))
        self._event(None, ends=(input_id,))

    def read(self, reader: str) -> None:
        """A reader that comes somewhere, is told of each new generation, and may lose the window once."""
        reading = Reading(reader, self.final.session)
        first = self.rng.randrange(len(self.lifetimes))
        for lifetime in self.lifetimes[first:]:
            reason = "generation_changed" if reading.log else "initial"
            at = self.rng.randrange(len(lifetime.events) + 1)
            reading.log.append(lifetime.reset(reason, at))
            until = self.rng.randrange(at, len(lifetime.events) + 1)
            reading.log += lifetime.events[at:until]
            if self.rng.random() < 0.3:
                again = self.rng.randrange(until, len(lifetime.events) + 1)
                reading.log.append(lifetime.reset("replay_unavailable", again))
                reading.log += lifetime.events[again:]
        self.history.readings.append(reading)

    def read_all(self, reader: str) -> None:
        """One that was there from the beginning to the end."""
        reading = Reading(reader, self.final.session)
        for lifetime in self.lifetimes:
            reading.log.append(lifetime.reset("generation_changed" if reading.log else "initial", 0))
            reading.log += lifetime.events
        self.history.readings.append(reading)

    def _operation(self, outcome: str, input_id: str, order: int | None) -> None:
        self.clock += 2
        operation = Operation("input", self.final.session, self.clock - 1, self.clock, "ok", input_id, order)
        operation.outcome = outcome  # type: ignore[assignment]
        self.history.operations.append(operation)

    def _entry(self, kind: str, run_id: str, input_id: str = "") -> Entry:
        position = len(self.final.entries) + 1
        entry = Entry(f"{self.final.session}-entry-{position}", position, kind, run_id, input_id)
        self.final.entries.append(entry)
        return entry

    def _event(self, entry: Entry | None, ends: tuple[str, ...] = ()) -> None:
        life = self.lifetimes[-1]
        sequence = len(life.events) + 1
        seen = Seen(life.name, sequence, f"{life.name}/{sequence}", ends=ends)
        if entry is not None:
            seen.position, seen.entry_id = entry.position, entry.id
        life.events.append(seen)
        before = life.high_waters[-1] if life.high_waters else life.begun_at
        life.high_waters.append(entry.position if entry else before)


def good_history(seed: int, sessions: int = 2, steps: int = 12) -> History:
    """Always with a cancelled input, a completed run and a crash in each session."""
    rng, history = Random(seed), History()
    for number in range(sessions):
        story = Story(history, f"session-{number}", rng)
        begun = ["ask", "ask", "ask", "cancel", "run", "crash"]
        more = rng.choices(["ask", "run", "crash"], k=steps)
        for step in [*begun, *more, "ask", *["run"] * (steps + 6)]:
            if step == "ask":
                story.ask()
            elif step == "cancel":
                story.cancel()
            else:
                story.run(crash=step == "crash")
        story.read_all("all")
        for reader in range(READERS):
            story.read(f"{reader}")
    history.requests.append(good_request())
    return history


def good_request() -> ProviderRequest:
    messages = [{"role": "user", "content": "hello"}]
    body = {"model": "scripted", "stream": True, "messages": messages}
    return ProviderRequest("/v1/chat/completions", body)
