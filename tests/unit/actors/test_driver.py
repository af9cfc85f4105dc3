"""What a run's end says of a fault that is not the provider's."""

from __future__ import annotations

import sqlite3
from types import SimpleNamespace
from typing import cast
from uuid import uuid4

import pytest
from django.db import InterfaceError, OperationalError
from pytest_django import Settings

from sessions_app.store.fence import Fence
from streaming.actors.driver import Driver
from streaming.actors.interrupts import InterruptScope
from streaming.actors.mailbox import Mailbox
from streaming.actors.run import run_error
from streaming.actors.turn import Turn
from streaming.limits import Limits
from streaming.providers.types import Profile


def failing(error: Exception) -> Driver:
    """A driver whose first question, for the session's profile, meets `error`."""

    async def resolve_profile(name: str, model: str) -> Profile:
        raise error

    services = SimpleNamespace(limits=Limits(), resolve_profile=resolve_profile)
    session = SimpleNamespace(provider="p", model="")
    turn = SimpleNamespace(
        services=services, session=session, run_id="r", scope=InterruptScope(), fence=Fence(uuid4(), 1)
    )
    return Driver(cast(Turn, turn), cast(Mailbox, None), lambda message: None)


def full() -> OperationalError:
    """What Django makes of it."""
    cause = sqlite3.OperationalError("database or disk is full")
    cause.sqlite_errorcode = sqlite3.SQLITE_FULL
    error = OperationalError(*cause.args)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "code", "detail"),
    [
        (full(), "storage_full", "The server's storage is full."),
        (InterfaceError("closed"), "storage_unavailable", "The database does not answer."),
    ],
)
async def test_a_run_that_the_storage_failed_says_so_and_may_be_tried_again(
    error: Exception, code: str, detail: str, settings: Settings
) -> None:
    settings.ALBEDO = {**settings.ALBEDO, "actor_patience_seconds": 0}
    finish = await failing(error).drive()
    assert finish.state == "failed"
    assert finish.error == run_error(code, detail, True)


async def test_a_fault_of_ours_ends_the_run_and_names_nothing_of_it() -> None:
    finish = await failing(RuntimeError("a secret")).drive()
    assert finish.state == "failed"
    assert finish.error is not None
    assert (finish.error["code"], "secret" in str(finish.error)) == ("internal_error", False)
