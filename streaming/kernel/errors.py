"""What can go wrong with a kernel, in words that may be shown."""

from __future__ import annotations


class KernelStartFailed(Exception):
    """A kernel did not come up in time, ended while starting, or cannot use its folder."""
