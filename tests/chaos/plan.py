"""What the model is to do for one input, written in the input's own text: it lives through every crash.

A plan has steps. Each is one response: some words, then some calls; the run ends with a step without calls.
Every word and every call names the plan, the step and its place, so that whatever turns up can be told apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

MARK = "plan "
WORD = re.compile(r"(?P<nonce>\w+)\.(?P<step>\d+)\.(?P<number>\d+) ")


@dataclass(frozen=True, slots=True)
class Step:
    """`words` is how many deltas of text come; `calls` are the programs that run behind their ledger line."""

    words: int = 3
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """`nonce` is unique in a rig. `pace_seconds` is waited between the deltas."""

    nonce: str
    steps: tuple[Step, ...] = (Step(),)
    pace_seconds: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The input that carries it."""
        return MARK + json.dumps(asdict(self), separators=(",", ":"))

    def words(self, step: int) -> Iterator[str]:
        for number in range(self.steps[step].words):
            yield f"{self.nonce}.{step}.{number} "

    def call_nonce(self, step: int, number: int) -> str:
        """Names a call in the ledger; its native id, too."""
        return f"{self.nonce}.{step}.{number}"


def read_plan(text: str) -> Plan | None:
    if not text.startswith(MARK):
        return None
    fields = json.loads(text.removeprefix(MARK))
    steps = tuple(Step(step["words"], tuple(step["calls"])) for step in fields.pop("steps"))
    return Plan(steps=steps, **fields)


def find_step(body: Mapping[str, Any]) -> tuple[Plan, int] | None:
    """The newest plan in a request, and how many of its steps are done; None where there is no plan."""
    items: Sequence[Mapping[str, Any]] = body.get("messages") or body.get("input") or []
    plan, since = None, 0
    for at, item in enumerate(items):
        if item.get("role") == "user" and (found := read_plan(_text(item))) is not None:
            plan, since = found, at
    if plan is None:
        return None
    done = {step for item in items[since:] for step in _called_steps(item, plan)}
    return plan, min(len(done), len(plan.steps) - 1)


def _called_steps(item: Mapping[str, Any], plan: Plan) -> Iterator[int]:
    ids = [call.get("id") for call in item.get("tool_calls") or ()]
    if item.get("type") == "function_call":
        ids.append(item.get("call_id"))
    for call_id in ids:
        nonce, _, rest = str(call_id).partition(".")
        if nonce == plan.nonce:
            yield int(rest.partition(".")[0])


def _text(item: Mapping[str, Any]) -> str:
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content or ())


def is_whole(text: str, plans: Mapping[str, Plan]) -> bool:
    """Whether an answer is all of one step's words and nothing else: never two attempts joined."""
    first = WORD.match(text)
    if first is None or first["nonce"] not in plans:
        return False
    plan, step = plans[first["nonce"]], int(first["step"])
    return text.rstrip() == "".join(plan.words(step)).rstrip()
