"""Starting the embedded server, as contract section 1 has it."""

from __future__ import annotations

import stat
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.server import ServerProcess, StartServer


def test_a_fresh_server_answers_and_tells_where_it_is(server: ServerProcess) -> None:
    with httpx.Client(trust_env=False) as bare:
        assert bare.get(f"{server.url}/api/health").json() == {"status": "ok"}
        assert bare.get(f"{server.url}/api/server").status_code == 401
    told = server.client().get("/api/server")
    assert told.status_code == 200
    assert server.facts.keys() >= {"url", "token", "pid", "instance_id"}


def test_it_prints_one_line_that_can_be_clicked_and_no_token(server: ServerProcess) -> None:
    output = server.log.read_text("utf-8")
    assert len([line for line in output.splitlines() if server.url in line]) == 1
    assert server.token not in server.output()


def test_what_it_makes_is_its_owner_s_alone(server: ServerProcess) -> None:
    """Sockets of a kernel included: whoever could open one could run code."""
    data = server.data_dir
    assert [path for path in (data, *data.rglob("*")) if mode(path) & 0o077] == []
    assert mode(data / "server.json") == 0o600


def mode(path: Path) -> int:
    """Its rights; none for what has gone meanwhile, as files of a database and of starting kernels do."""
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except FileNotFoundError:
        return 0


def test_it_listens_on_loopback_alone(server: ServerProcess) -> None:
    port = f"{urlsplit(server.url).port:04X}"
    rows = [
        line.split()
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text("ascii").splitlines()[1:]
    ]
    listening = [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[1].endswith(f":{port}")]
    # 127.0.0.1, as the kernel writes it
    assert listening == ["0100007F"]


def test_a_foreign_host_name_is_refused(server: ServerProcess) -> None:
    response = server.client().get("/api/server", headers={"Host": "evil.example"})
    assert response.status_code == 400


def test_data_and_token_outlive_a_crash_and_a_restart(fresh_server: ServerProcess) -> None:
    token = fresh_server.token
    made = fresh_server.client().post("/api/sessions", json={"name": "kept"})
    assert made.status_code == 201
    fresh_server.restart(crash=True)
    assert fresh_server.token == token
    kept = fresh_server.client().get(f"/api/sessions/{made.json()['id']}")
    assert kept.json()["name"] == "kept"
    assert fresh_server.terminate() == 0
    assert not (fresh_server.data_dir / "server.json").exists()


def test_a_bad_setting_stops_the_start_with_its_name(start_server: StartServer) -> None:
    with pytest.raises(AssertionError, match="ALBEDO_QUEUE_LIMIT"):
        start_server(ALBEDO_QUEUE_LIMIT="many")
