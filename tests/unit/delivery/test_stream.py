from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from django.contrib.auth.models import User

from sessions_app.access import Credentials
from streaming.delivery import process, stream
from streaming.delivery.codes import Close, Ended
from streaming.delivery.guard import Guest

GUEST = Guest(User(pk=1), Credentials(), "websocket")


@pytest.fixture(autouse=True)
async def closed_process() -> AsyncIterator[None]:
    yield
    await process.close()


async def never() -> Close | None:
    await asyncio.Event().wait()
    return None


async def raising(error: BaseException) -> None:
    raise error


async def sending(error: OSError) -> None:
    with stream.client_there():
        raise error


async def test_a_client_that_is_gone_when_it_is_sent_to_is_no_fault() -> None:
    assert await stream.until_ended(sending(ConnectionResetError()), GUEST, None, never) is None


async def test_a_send_that_is_refused_because_the_socket_is_closed_is_no_fault_either() -> None:
    told = asyncio.Event()

    async def refused() -> None:
        told.set()
        raise RuntimeError("sent after the close")

    async def departs() -> Close | None:
        await told.wait()
        # The server tells a little later, as a queue does.
        for _ in range(3):
            await asyncio.sleep(0)
        return None

    assert await stream.until_ended(refused(), GUEST, None, departs) is None


async def test_a_fault_of_our_own_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "TELLING_SECONDS", 0.0)
    with pytest.raises(ZeroDivisionError):
        await stream.until_ended(raising(ZeroDivisionError()), GUEST, None, never)


async def test_the_code_is_that_of_what_ended_it() -> None:
    assert await stream.until_ended(raising(Ended(Close.TOO_SLOW)), GUEST, None, never) is Close.TOO_SLOW
    process.end_streams()
    waiting = asyncio.Event().wait()

    async def forever() -> None:
        await waiting

    assert await stream.until_ended(forever(), GUEST, None, never) is Close.RESTARTING
