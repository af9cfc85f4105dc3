"""Closes the server's memory and environment to processes of the same user, such as its kernels.

Half of a pair: kernels give up the right to look into others when they start (`inside/boot.py`).
It is no sandbox. Model code has the server's user id, and may still send it signals.
"""

from __future__ import annotations

import ctypes

PR_SET_DUMPABLE = 4


def forbid_inspection() -> bool:
    """Call once, early, in the process that holds secrets. False where the system does not do it.

    From then on `/proc/<pid>/environ` and `mem` of this process, and ptrace, need a privilege. The
    process loses core dumps, and without privileges the look into its own `/proc/self/fd`.
    """
    return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
