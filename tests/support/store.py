"""Shorthand for what leads up to a store test: a claim, an accepted input, a step."""

from __future__ import annotations

from uuid import UUID, uuid4

from django.contrib.auth.models import User

from sessions_app.ids import new_id
from sessions_app.models import Session
from sessions_app.store import claims, inputs
from sessions_app.store.steps import NewCall, StepFacts


def claimed(session: Session, host: str = "one", lease_seconds: float = 60) -> claims.Claim:
    claim = claims.claim(session.id, host=host, channel=f"actor.{host}", lease_seconds=lease_seconds)
    assert claim is not None
    return claim


def accepted(session: Session, author: User, text: str = "hello", when_busy: str = "queue") -> UUID:
    asked = inputs.NewInput(uid=new_id(), text=text, when_busy=when_busy, fingerprint=text)
    return inputs.accept_input(session.id, author, asked).input.uid


def call(index: int = 0, arguments: str = '{"code":"1"}', call_id: str = "") -> NewCall:
    return NewCall(
        call_id=call_id or f"c-{index}",
        tool_call_id=f"call_{index}",
        native_id=f"call_{index}",
        name="python",
        output_index=index,
        arguments=arguments,
        value={"code": "1"},
        valid=True,
    )


def step(run_id: UUID, *calls: NewCall, text: str = "", thinking: str = "") -> StepFacts:
    return StepFacts(
        run_id=run_id,
        step=1,
        attempt=1,
        message_id=uuid4(),
        text=text,
        thinking=thinking,
        truncated=False,
        calls=calls,
        usage={"input_tokens": 5, "output_tokens": None, "source": "reported"},
    )
