"""A session of somebody's, which every store test begins with."""

from __future__ import annotations

from tests.support.rows import alice, session

__all__ = ["alice", "session"]
