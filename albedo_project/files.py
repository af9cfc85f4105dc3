"""How many files a process of ours may have open."""

from __future__ import annotations

import resource

FILES = 16_384


def raise_file_limit() -> None:
    """Every connection is a file; the usual soft limit of 1,024 is for programs that use `select`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
