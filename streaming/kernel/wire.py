"""Jupyter's wire format: frames to messages and back. Sans-io; every byte that comes in is hostile."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

DELIMITER = b"<IDS|MSG>"
VERSION = "5.3"


@dataclass(frozen=True, slots=True)
class Message:
    """One message whose signature was right. `parent_id` is "" where it answers nothing."""

    kind: str
    parent_id: str
    content: Mapping[str, Any]


def new_message_id() -> str:
    return os.urandom(16).hex()


def encode(key: bytes, kind: str, message_id: str, content: Mapping[str, Any]) -> list[bytes]:
    header = {
        "msg_id": message_id,
        "msg_type": kind,
        "username": "",
        "session": "",
        "date": "2000-01-01T00:00:00Z",
        "version": VERSION,
    }
    parts = [orjson.dumps(header), b"{}", b"{}", json.dumps(content).encode()]
    return [DELIMITER, _sign(key, parts), *parts]


def decode(key: bytes, frames: Sequence[bytes], wanted: Callable[[str], bool]) -> Message | None:
    """The message, or None where frames, signature or JSON are not right, or nobody waits for its answer.

    What it carries is neither checked nor read before `wanted` has said yes to the id that it answers.
    """
    try:
        start = list(frames[:8]).index(DELIMITER) + 1
    except ValueError:
        return None
    parts = frames[start + 1 : start + 5]
    if len(parts) != 4:
        return None
    parent_id = _text(_object(parts[1]).get("msg_id"))
    if not wanted(parent_id) or not hmac.compare_digest(frames[start], _sign(key, parts)):
        return None
    return Message(_text(_object(parts[0]).get("msg_type")), parent_id, _object(parts[3]))


def _sign(key: bytes, parts: Sequence[bytes]) -> bytes:
    mac = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        mac.update(part)
    return mac.hexdigest().encode()


def _object(data: bytes) -> dict[str, Any]:
    value = _load(data)
    return value if isinstance(value, dict) else {}


def _load(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except ValueError:
        pass
    try:
        # Lone surrogates and bytes that are no UTF-8 are shown, not lost.
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
