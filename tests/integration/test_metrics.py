"""What Prometheus may read, and who may."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient
from pytest_django import Settings

from sessions_app.store import executor
from sessions_app.store.tokens import issue_token

pytestmark = pytest.mark.django_db(transaction=True)


@sync_to_async
def token_of(name: str, *, staff: bool) -> str:
    user = User.objects.create_user(name, is_staff=staff)
    return issue_token(user, "for metrics")[1]


async def ask(token: str | None) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    response = await AsyncClient().get("/metrics", headers=headers)
    executor.close()
    return response.status_code, response.content.decode()


async def test_staff_read_them() -> None:
    status, text = await ask(await token_of("staff", staff=True))
    assert status == 200
    for line in ("albedo_inputs_pending 0.0", "albedo_runs_unfinished 0.0", "albedo_leases_live 0.0"):
        assert line in text.splitlines()
    assert "process_resident_memory_bytes" in text
    assert "albedo_sessions_watched 0.0" in text.splitlines()


async def test_others_do_not() -> None:
    assert (await ask(None))[0] == 401
    assert (await ask("no-such-token"))[0] == 401
    assert (await ask(await token_of("somebody", staff=False)))[0] == 403


async def test_a_token_for_metrics_reads_them_and_nothing_else(settings: Settings) -> None:
    settings.METRICS_TOKEN = "scrape-canary"
    assert (await ask("scrape-canary"))[0] == 200
    assert (await ask("scrape-canary2"))[0] == 401
    response = await AsyncClient().get("/api/sessions", headers={"Authorization": "Bearer scrape-canary"})
    executor.close()
    assert response.status_code == 401


async def test_without_such_a_token_an_empty_one_opens_nothing(settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    assert (await ask(""))[0] == 401


async def test_they_are_only_read() -> None:
    response = await AsyncClient(enforce_csrf_checks=False).post("/metrics")
    assert response.status_code == 405
