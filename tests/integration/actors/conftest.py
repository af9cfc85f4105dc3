"""A session of somebody's, for the parts of an actor that read and write it."""

from __future__ import annotations

from tests.support.rows import alice, session

__all__ = ["alice", "session"]
