"""Remove a marked session to the end: its rows in small pieces, its workspace, and at last its own row.

Between two pieces everybody else's writes have their turn. Each piece can be the last one: whoever takes the
removal up again goes on from there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

from sessions_app import workspaces
from sessions_app.store import retention
from sessions_app.store.executor import read, write
from sessions_app.store.retention import Removal, RemovalLost
from sessions_app.store.retention_rows import remove_some, row_pace

log = logging.getLogger("albedo.removal")

FOLDER_TRIES = 5
FOLDER_PAUSE_SECONDS = 0.3


async def remove(removal: Removal, seconds: float | None = None) -> bool:
    """Whether all is gone. After `seconds` the rest is left to whoever sweeps; None goes on to the end.

    Raises the database's errors: then the lease runs out, and somebody goes on.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    pace = row_pace()
    try:
        while await write(remove_some, removal, pace):
            if deadline is not None and time.monotonic() > deadline:
                await write(retention.let_go, removal)
                return False
        folder = await read(retention.workspace_to_remove, removal.session_id)
        if folder is not None:
            await _remove_folder(folder)
        await write(retention.finish, removal)
    except RemovalLost:
        log.info("session %s is removed by somebody else", removal.session_id)
        return False
    return True


async def _remove_folder(folder: Path) -> None:
    """Its kernel was told to end, and may write for another moment."""
    for _ in range(FOLDER_TRIES):
        if await asyncio.to_thread(workspaces.remove, folder):
            return
        await asyncio.sleep(FOLDER_PAUSE_SECONDS)
    log.warning("something of the workspace %s could not be removed", folder.name)
