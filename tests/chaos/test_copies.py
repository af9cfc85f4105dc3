"""What a crash would leave of the database at any instant has everything that was acknowledged before."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

from tests.chaos.client import Client
from tests.chaos.database import Sqlite
from tests.chaos.plan import Step
from tests.chaos.rig import Rig
from tests.chaos.seeds import MANY, row
from tests.support.processes import wait_for


@row("F58", seeds=1)
def test_f58_copies_of_the_files_have_every_acknowledged_input(rig: Rig) -> None:
    """The server stands still for each copy, so that it is of one instant, as after a kill."""
    database = rig.target.database
    if not isinstance(database, Sqlite):
        pytest.skip("a PostgreSQL server keeps its own files")
    users, enough = rig.sessions(4), threading.Event()
    with ThreadPoolExecutor(len(users)) as threads:
        asking = [threads.submit(ask_on, rig, user, enough) for user in users]
        try:
            for number in range(25 if MANY else 8):
                beyond = len(rig.recording.operations) + rig.rng.randrange(1, 12)
                wait_for(lambda beyond=beyond: len(rig.recording.operations) >= beyond, "inputs", 60)  # type: ignore[misc]
                check_copy(rig, database, rig.folder / f"copy-{number}")
        finally:
            enough.set()
        for one in asking:
            one.result()
    rig.check()


def ask_on(rig: Rig, user: Client, enough: threading.Event) -> None:
    while not enough.is_set():
        user.ask(rig.plan(Step(words=1)))


def check_copy(rig: Rig, database: Sqlite, folder: Path) -> None:
    folder.mkdir()
    acknowledged = {UUID(one.input_id).hex for one in list(rig.recording.operations) if one.outcome == "ok"}
    (server,) = rig.target.actor_processes()
    server.send_signal(signal.SIGSTOP)
    try:
        for suffix in ("", "-wal"):
            file = Path(f"{database.file}{suffix}")
            if file.exists():
                shutil.copy(file, folder / file.name)
    finally:
        server.send_signal(signal.SIGCONT)
    with closing(sqlite3.connect(folder / database.file.name)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        kept = {uid for (uid,) in copy.execute("SELECT uid FROM sessions_app_input")}
    assert acknowledged - kept == set()
    shutil.rmtree(folder)
