"""The embedded server's storage takes nothing for a while, locked or full, while users work."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.chaos.load import ENDS, Load, until_refused
from tests.chaos.rig import Rig
from tests.chaos.seeds import MANY, row
from tests.chaos.target import Embedded
from tests.support.small_disk import MakeDisk

HELD_SECONDS = 30.0
# A lock is given up before a test has to wait for long.
SHORT = {"ALBEDO_DATABASE_BUSY_SECONDS": "1"}
DISK_MEGABYTES = 48


@pytest.fixture(scope="module")
def lockable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """With the settings of every day for those who ask for many trials."""
    target = Embedded(tmp_path_factory.mktemp("lockable"), **({} if MANY else SHORT))
    yield target
    target.close()


@row("F40", seeds=1)
def test_f40_another_program_is_in_the_middle_of_a_write(
    seed: int, tmp_path: Path, lockable: Embedded
) -> None:
    """What is there is read; what is written waits, then is refused, and nobody's work is lost."""
    with Rig(lockable, seed, tmp_path) as rig:
        load, other = Load(rig), rig.session()
        readers = load.readers()
        with load.on():
            load.goes_on()
            with lockable.database.hold():
                free_at = time.monotonic() + (HELD_SECONDS if MANY else rig.rng.uniform(0, 2))
                until_refused(rig, other)
                assert all(user.get("/history", limit=200)["items"] for user in load.users)
                time.sleep(max(0.0, free_at - time.monotonic()))
            load.goes_on()
        rig.check()
        assert {reader.connections for reader in readers} == {1}
        assert load.said() <= {429, 503}
        assert set(load.run_states()) == {"completed"}


@row("F41", seeds=1)
def test_f41_the_disk_is_full_and_then_has_room_again(seed: int, tmp_path: Path, make_disk: MakeDisk) -> None:
    """Nothing is accepted that is not stored; with room again the same process goes on."""
    disk, folder = make_disk(DISK_MEGABYTES), tmp_path / "server"
    folder.mkdir()
    # Workspaces are on it, too; the log is beside it.
    (folder / "data").symlink_to(disk.path)
    with closing(Embedded(folder)) as target, Rig(target, seed, tmp_path) as rig:
        pid = target.server.pid
        load, other = Load(rig), rig.session()
        load.readers()
        with load.on():
            for _ in range(5 if MANY else 1):
                load.goes_on()
                disk.fill()
                try:
                    until_refused(rig, other)
                    time.sleep(rig.rng.uniform(0, 1))
                finally:
                    disk.free()
                load.goes_on()
        rig.check()
        assert load.said() <= {429, 503}
        assert set(load.run_states()) <= ENDS
        assert target.server.alive()
        assert target.server.pid == pid
        assert integrity(target) == "ok"


def integrity(target: Embedded) -> str:
    with closing(sqlite3.connect(target.database.file)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
