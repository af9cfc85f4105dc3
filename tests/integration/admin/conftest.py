"""A session with everything in it, and who looks. Models come late: Django is set up after this loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client

    from sessions_app import models

PAYLOAD = "<script>window.__owned=1</script>\"'><img src=x onerror=alert(1)>"


@dataclass(frozen=True, slots=True)
class World:
    """One row of each kind; every text that a user or a model can choose is the payload."""

    session: models.Session
    run: models.Run
    input: models.Input
    attempt: models.ProviderAttempt
    call: models.ToolCall
    entry: models.Entry
    chunk: models.ContentChunk
    artifact: models.Artifact

    def rows(self) -> list[Any]:
        return [getattr(self, name) for name in self.__slots__]


@pytest.fixture
def alice(db: None) -> User:
    from django.contrib.auth.models import User

    return User.objects.create(username="alice")


@pytest.fixture
def operator(db: None) -> User:
    from django.contrib.auth.models import User

    return User.objects.create(username="operator", is_staff=True, is_superuser=True)


@pytest.fixture
def looker(db: None) -> User:
    from django.contrib.auth.models import User

    return User.objects.create(username="looker", is_staff=True)


@pytest.fixture
def looking(client: Client, looker: User) -> Client:
    client.force_login(looker)
    return client


@pytest.fixture
def operating(client: Client, operator: User) -> Client:
    client.force_login(operator)
    return client


@pytest.fixture
def world(alice: User) -> World:
    return make_world(alice)


def make_world(owner: User) -> World:
    from sessions_app import models
    from tests.integration.admin.records import RECORD

    now = timezone.now()
    session = models.Session.objects.create(
        owner=owner,
        name=PAYLOAD[:200],
        workspace=PAYLOAD,
        provider=PAYLOAD[:64],
        model=PAYLOAD,
        instructions=PAYLOAD,
        created_at=now,
        activity_at=now,
        head_position=1,
    )
    run = models.Run.objects.create(
        session=session,
        generation=1,
        state="failed",
        started_at=now,
        model=PAYLOAD,
        error={"detail": PAYLOAD},
    )
    item = models.Input.objects.create(
        session=session, author=owner, order=1, text=PAYLOAD, fingerprint="f", created_at=now, run=run
    )
    attempt = models.ProviderAttempt.objects.create(
        session=session,
        run=run,
        step=1,
        attempt=1,
        provider="default",
        model=PAYLOAD,
        protocol="responses",
        started_at=now,
        error_class=PAYLOAD[:64],
        record=RECORD | {"retry_cause": PAYLOAD},
    )
    call = models.ToolCall.objects.create(
        session=session,
        run=run,
        generation=1,
        step=1,
        attempt=1,
        output_index=0,
        call_id="c1",
        tool_call_id=PAYLOAD,
        native_id=PAYLOAD,
        name=PAYLOAD,
        arguments_text=PAYLOAD,
        result_text=PAYLOAD,
        created_at=now,
    )
    part = {"kind": "json", "field": "result", "value": PAYLOAD}
    large = {"kind": "reference", "reference": {"field": "output", "bytes": 3}}
    entry = models.Entry.objects.create(
        session=session,
        position=1,
        kind="tool_result",
        run=run,
        tool_call=call,
        created_at=now,
        content=[part, large],
    )
    chunk = models.ContentChunk.objects.create(
        entry=entry, field="output", offset_bytes=0, length_bytes=len(PAYLOAD), text=PAYLOAD
    )
    artifact = models.Artifact.objects.create(
        session=session,
        tool_call=call,
        name=PAYLOAD,
        mime_type="text/html",
        data=b"x",
        size_bytes=1,
        created_at=now,
    )
    return World(session, run, item, attempt, call, entry, chunk, artifact)
