"""Live state, interrupt and restart: through the port and the store, as the API does, and only by who may."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from sessions_app import live as port
from sessions_app.admin import live_panel
from sessions_app.live import Cursor, LiveReply
from sessions_app.models import Run
from tests.integration.admin.conftest import World
from tests.integration.admin.test_looking import list_url, page_url


class Recorded:
    """The live half of these tests: says what it was told to say, remembers what it was asked."""

    asked: list[tuple[str, UUID, Any]] = []
    counts: dict[str, Any] | None = None
    silent = False

    async def inspect(self, session_id: UUID) -> dict[str, Any] | None:
        if Recorded.silent:
            await asyncio.Event().wait()
        return Recorded.counts

    async def capture(self, session_id: UUID, cursor: Cursor | None, *, start: bool) -> LiveReply | None:
        assert not start
        live = {
            "status": {"phase": "generating", "run_id": "r"},
            "pending_inputs": [],
            "current_progress": [
                {
                    "call_id": "call-7",
                    "name": "<b>python</b>",
                    "phase": "generating",
                    "arguments_chars": 42,
                    "started_at": "t",
                }
            ],
        }
        return LiveReply("1-abc", 9, "reset", "initial", 1, 9, [], False, live)

    async def interrupt(self, session_id: UUID, run_id: UUID, *, superseded: bool = False) -> None:
        Recorded.asked.append(("interrupt", session_id, run_id))

    async def stop(self, session_id: UUID, reason: str) -> None:
        Recorded.asked.append(("stop", session_id, reason))


@pytest.fixture(autouse=True)
def _recorded(settings: Settings) -> Iterator[None]:
    settings.LIVE_BACKEND = f"{__name__}.Recorded"
    Recorded.asked, Recorded.counts, Recorded.silent = [], None, False
    port.live.cache_clear()
    yield
    port.live.cache_clear()


def act(client: Client, world: World, action: str) -> int:
    data = {"action": action, "_selected_action": str(world.session.pk)}
    return client.post(list_url("session"), data).status_code


def test_the_page_shows_what_the_actor_says_of_itself_escaped(looking: Client, world: World) -> None:
    Recorded.counts = {"watchers": 3, "generation": "1-abc", "window_bytes": 77}
    text = looking.get(page_url(world.session)).content.decode()
    for shown in ("watchers", "1-abc", "77", "generating", "call-7", "&lt;b&gt;python&lt;/b&gt;"):
        assert shown in text


def test_a_session_at_rest_says_so_and_no_actor_is_started(looking: Client, world: World) -> None:
    assert live_panel.ASLEEP in looking.get(page_url(world.session)).content.decode()


def test_an_actor_that_does_not_answer_costs_a_bounded_wait(
    looking: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_panel, "ANSWER_SECONDS", 0.05)
    Recorded.silent = True
    assert live_panel.SILENT in looking.get(page_url(world.session)).content.decode()


def test_a_broken_live_half_does_not_take_the_page_away(
    looking: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: Recorded, session_id: UUID) -> None:
        raise ConnectionError("no layer")

    monkeypatch.setattr(Recorded, "inspect", broken)
    assert live_panel.FAILED in looking.get(page_url(world.session)).content.decode()


def test_interrupt_puts_it_on_record_and_tells_the_actor(
    operating: Client, operator: User, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    Run.objects.filter(pk=world.run.pk).update(state="running")
    with caplog.at_level("INFO", logger="albedo.audit"):
        assert act(operating, world, "interrupt") == 302
    run = Run.objects.get(pk=world.run.pk)
    assert (run.interrupt_by, run.interrupt_requested_at is not None) == ("operator", True)
    assert Recorded.asked == [("interrupt", world.session.pk, world.run.pk)]
    assert any(f"user {operator.pk} interrupts" in record.getMessage() for record in caplog.records)


def test_interrupting_a_session_without_a_run_asks_nobody(operating: Client, world: World) -> None:
    assert act(operating, world, "interrupt") == 302
    assert Recorded.asked == []


def test_restart_ends_the_actor(operating: Client, world: World) -> None:
    assert act(operating, world, "restart") == 302
    assert Recorded.asked == [("stop", world.session.pk, "restart")]


@pytest.mark.parametrize("action", ["interrupt", "restart"])
def test_who_may_only_look_cannot_act(looking: Client, world: World, action: str) -> None:
    Run.objects.filter(pk=world.run.pk).update(state="running")
    act(looking, world, action)
    assert Recorded.asked == []
    assert Run.objects.get(pk=world.run.pk).interrupt_requested_at is None
    assert "Restart the actor" not in looking.get(page_url(world.session)).content.decode()
