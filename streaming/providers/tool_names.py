"""Names of called tools as models leak and servers split them, and as servers take them back."""

from __future__ import annotations

import re

# gpt-oss writes its control tokens behind the name, and the namespace before it.
_CONTROL_MARK = "<|"
_NAMESPACE = "functions."
SENDABLE_CHARS = 64
_SENDABLE = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_NOT_SENDABLE = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)


def clean_name(raw: str, known: frozenset[str]) -> str:
    """`raw` without what is no part of a name; kept as it is where that would leave nothing."""
    name = raw.strip()
    if name in known:
        return name
    name = name.partition(_CONTROL_MARK)[0].strip() or name
    bare = name.removeprefix(_NAMESPACE)
    return bare if bare in known else name


def joined_name(so_far: str, fragment: str, known: frozenset[str]) -> str:
    """The name after one more fragment: restated whole, restated so far, or really split."""
    if not so_far:
        return fragment
    joined = so_far + fragment
    if fragment == so_far:
        return joined if joined in known and so_far not in known else so_far
    if fragment.strip() == so_far.strip():
        return so_far
    if fragment.startswith(so_far) and joined not in known:
        return fragment
    return joined


def cut_name(name: str, most_bytes: int) -> str:
    """What is kept of a name: one that is longer names no tool, and its call is told so like any other."""
    if len(name) <= most_bytes and len(name.encode("utf-8", "replace")) <= most_bytes:
        return name
    return name[:most_bytes].encode("utf-8", "replace")[:most_bytes].decode("utf-8", "ignore")


def sendable_name(name: str) -> str:
    """The name of a call as it goes back: servers refuse a whole history for one that they do not take."""
    return name if _SENDABLE.fullmatch(name) else _NOT_SENDABLE.sub("_", name)[:SENDABLE_CHARS] or "_"
