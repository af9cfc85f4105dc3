"""Which server the terminal talks to, and what it says where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessions_app.terminal.where import NoServer, Server, find_server

FACTS = {"url": "http://127.0.0.1:8000", "token": "secret", "pid": 1}


def announce(folder: Path, text: str) -> Path:
    (folder / "server.json").write_text(text, "utf-8")
    return folder


def test_the_announced_server_is_taken(tmp_path: Path) -> None:
    found = find_server(announce(tmp_path, json.dumps(FACTS)))
    assert found == Server("http://127.0.0.1:8000", "secret")
    assert found.socket_url == "ws://127.0.0.1:8000"
    assert "secret" not in repr(found)


def test_a_named_server_takes_its_own_token_never_the_announced_one(tmp_path: Path) -> None:
    announce(tmp_path, json.dumps(FACTS))
    assert find_server(tmp_path, "https://h.example/", "other") == Server("https://h.example", "other")
    assert Server("https://h.example", "x").socket_url == "wss://h.example"
    with pytest.raises(NoServer, match="--token"):
        find_server(tmp_path, "https://h.example")
    with pytest.raises(NoServer):
        find_server(tmp_path, "ftp://h.example", "x")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"url": 1}', "{"])
def test_without_a_readable_announcement_it_says_how_to_get_one(tmp_path: Path, text: str) -> None:
    with pytest.raises(NoServer, match=r"manage\.py serve"):
        find_server(announce(tmp_path, text))
    with pytest.raises(NoServer, match=r"manage\.py serve"):
        find_server(tmp_path / "absent")
