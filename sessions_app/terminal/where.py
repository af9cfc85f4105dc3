"""Finding the server: its own announcement in the data folder, or what the caller names."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

NOT_ANNOUNCED = (
    "No server is announced in the data folder. Start one with `manage.py serve`, or give --url and --token."
)


class NoServer(Exception):
    """No server is announced there; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    token: str = field(repr=False)

    @property
    def socket_url(self) -> str:
        """`ws` for `http`, `wss` for `https`."""
        return "ws" + self.url.removeprefix("http")


def find_server(data_dir: Path, url: str = "", token: str = "") -> Server:
    """Raises NoServer. A named URL needs its token too: the announced one is not sent elsewhere."""
    if url:
        if not url.startswith(("http://", "https://")) or not token:
            raise NoServer("--url takes an http or https URL, and --token with it.")
        return Server(url.rstrip("/"), token)
    file = data_dir / "server.json"
    try:
        facts = json.loads(file.read_text("utf-8"))
        return Server(str(facts["url"]).rstrip("/"), token or str(facts["token"]))
    except (OSError, ValueError, KeyError, TypeError):
        raise NoServer(NOT_ANNOUNCED) from None
