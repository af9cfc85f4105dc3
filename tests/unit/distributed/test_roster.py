"""processes.json."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from scripts.distributed.keeper import Keeper
from scripts.distributed.process import StartFailed
from scripts.distributed.roster import Roster


def keeper(pid: int | None) -> Keeper:
    return cast(Keeper, SimpleNamespace(pid=pid))


def told(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "processes.json").read_text("utf-8")))


def test_it_names_who_runs_and_leaves_out_who_does_not(tmp_path: Path) -> None:
    roster = Roster(tmp_path)
    for kind, pid in (("web", 1), ("web", None), ("web", 3), ("nginx", 4), ("redis", None)):
        with roster.added(kind, keeper(pid)):
            pass
    roster.write()
    assert told(tmp_path) == {"web": [1, 3], "actors": [], "nginx": 4, "redis": None, "postgres": None}
    assert stat.S_IMODE((tmp_path / "processes.json").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["processes.json"]
    roster.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_nothing_is_told_of_and_no_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Roster(tmp_path / "no such folder").write()
    assert caplog.messages == ["processes.json cannot be written: No such file or directory"]


def test_one_whose_start_failed_is_not_in_it(tmp_path: Path) -> None:
    roster = Roster(tmp_path)
    with pytest.raises(StartFailed), roster.added("web", keeper(7)):
        raise StartFailed
    roster.write()
    assert told(tmp_path)["web"] == []
    assert list(roster) == []
