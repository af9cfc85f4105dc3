"""The names under which a server's tools are offered: such as every provider takes, one for each. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container

SEPARATOR = "__"
NAME_CHARS = 64
TAG_CHARS = 8
ODD = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)


def offered_name(server: str, tool: str, taken: Container[str]) -> str:
    """`server__tool`. Where that is too long, odd or taken, it is cut and tagged by the tool's own name.

    The same tool of the same server gets the same name again, as history needs, unless it is taken.
    """
    plain = f"{server}{SEPARATOR}{ODD.sub('_', tool)}"
    if plain == f"{server}{SEPARATOR}{tool}" and len(plain) <= NAME_CHARS and plain not in taken:
        return plain
    tag = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:TAG_CHARS]
    return f"{plain[: NAME_CHARS - TAG_CHARS - 1]}_{tag}"


def server_of(name: str) -> str:
    """The server that an offered name belongs to; empty where it has none."""
    server, separator, _ = name.partition(SEPARATOR)
    return server if separator else ""
