"""How calls, requests and rest can go wrong: rules 5, 7 and 8."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.chaos.corruption import any_final, breaks
from tests.chaos.history import (
    History,
    LedgerLine,
    ProviderRequest,
)

# Rule 5


@breaks(5)
def call_ran_twice(history: History, rng: Random) -> None:
    history.ledger.append(replace(rng.choice(history.ledger), pid=8))


@breaks(5)
def call_is_ok_and_never_ran(history: History, rng: Random) -> None:
    calls = [call for final in history.finals for call in final.calls if call.status == "ok"]
    nonce = rng.choice(calls).nonce
    history.ledger = [line for line in history.ledger if line.nonce != nonce]


@breaks(5)
def call_ran_without_a_start(history: History, rng: Random) -> None:
    nonce = rng.choice(history.ledger).nonce
    for final in history.finals:
        for call in final.calls:
            if call.nonce == nonce:
                call.started, call.status = False, "interrupted"


@breaks(5)
def call_has_no_end(history: History, rng: Random) -> None:
    rng.choice(any_final(history, rng).calls).status = rng.choice(["pending", "running"])


@breaks(5)
def code_ran_that_nobody_recorded(history: History, rng: Random) -> None:
    history.ledger.append(LedgerLine("unheard of", 9, 1.0))


# Rule 7


@breaks(7)
def call_without_a_result_goes_to_the_provider(history: History, rng: Random) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "python", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "run"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "user", "content": "go on"},
    ]
    body = {"model": "scripted", "messages": messages}
    history.requests.append(ProviderRequest("/v1/chat/completions", body))


@breaks(7)
def result_without_a_call_goes_to_the_provider(history: History, rng: Random) -> None:
    output = {"type": "function_call_output", "call_id": "call_1", "output": "{}"}
    body = {
        "model": "scripted",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "input": [output],
    }
    history.requests.append(ProviderRequest("/v1/responses", body))


# Rule 8


@breaks(8)
def busy_and_nobody_holds_it(history: History, rng: Random) -> None:
    any_final(history, rng).phase = rng.choice(["preparing", "generating", "running", "interrupting"])


@breaks(8)
def idle_with_an_unfinished_run(history: History, rng: Random) -> None:
    rng.choice(any_final(history, rng).runs).state = "running"


@breaks(8)
def idle_with_inputs_that_wait(history: History, rng: Random) -> None:
    any_final(history, rng).pending = 1
