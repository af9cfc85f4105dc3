"""The admin's two actions on a session, by the same store functions and live port as the API's."""

from __future__ import annotations

import logging
from uuid import UUID

from asgiref.sync import async_to_sync
from django.contrib.auth.models import User

from sessions_app.live import live
from sessions_app.store.inputs import ask_open_run_to_stop

audit = logging.getLogger("albedo.audit")


def interrupt_session(user: User, session_id: UUID) -> bool:
    """Interrupt the session's unfinished run; False where there is none. What waits goes on waiting."""
    run_id = ask_open_run_to_stop(session_id, user)
    audit.info("user %s interrupts run %s of session %s", user.pk, run_id, session_id)
    if run_id is None:
        return False
    async_to_sync(live().interrupt)(session_id, run_id)
    return True


def restart_actor(user: User, session_id: UUID) -> None:
    """End the session's actor as a crash would."""
    audit.info("user %s restarts the actor of session %s", user.pk, session_id)
    async_to_sync(live().stop)(session_id, "restart")
