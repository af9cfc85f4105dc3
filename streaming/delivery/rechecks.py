"""Whether those who have a stream may still have it: asked every few seconds, once for all of one claim.

Within 5 s of the end of a login, a token or a session its streams are over.
"""

from __future__ import annotations

import asyncio
import logging
from uuid import UUID

from django.contrib.auth.models import User
from django.db import Error

from sessions_app import access
from sessions_app.models import Session
from sessions_app.store.executor import read
from streaming.delivery.codes import Close, Ended
from streaming.delivery.guard import Guest

logger = logging.getLogger(__name__)

EVERY_SECONDS = 3.0
# An answer this old still counts: many streams of one login then cost one look.
FRESH_SECONDS = 1.0

Key = tuple[access.Credentials, bool, UUID | None]


class Rechecks:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._fresh: dict[Key, asyncio.Task[Close | None]] = {}

    async def watch(self, guest: Guest, session_id: UUID | None) -> None:
        """Ends only by raising Ended."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            code = await asyncio.shield(self._look((guest.credentials, guest.user.is_staff, session_id)))
            if code is not None:
                raise Ended(code)

    def _look(self, key: Key) -> asyncio.Task[Close | None]:
        task = self._fresh.get(key)
        if task is None:
            task = self._fresh[key] = asyncio.create_task(_verdict(*key))
            asyncio.get_running_loop().call_later(FRESH_SECONDS, self._fresh.pop, key)
        return task


async def _verdict(credentials: access.Credentials, was_staff: bool, session_id: UUID | None) -> Close | None:
    """The code that a stream with this claim must end with; None while it is good."""
    try:
        identity = await access.identify(credentials)
        if identity is None or identity.user.is_staff != was_staff:
            return Close.UNAUTHENTICATED
        if session_id is not None and not await read(_still_theirs, identity.user, session_id):
            return Close.UNKNOWN_SESSION
    except Error:
        # While it is away nobody can be shut out there either; streams outlast it.
        logger.warning("Open streams could not be checked")
    return None


def _still_theirs(user: User, session_id: UUID) -> bool:
    rows = Session.objects.filter(id=session_id)
    return rows.exists() if user.is_staff else rows.filter(owner_id=user.pk).exists()
