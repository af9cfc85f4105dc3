"""A short name for what a body says, so that the same request again is known for the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def fingerprint(body: Mapping[str, Any]) -> str:
    """SHA-256 of the body's canonical JSON: order of keys and defaults written out do not matter."""
    text = json.dumps(dict(body), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
