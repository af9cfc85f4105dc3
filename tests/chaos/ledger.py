"""What tool code did, written down by the code itself, outside of everything that the product stores."""

from __future__ import annotations

import json
from pathlib import Path

from tests.chaos.history import LedgerLine
from tests.support.processes import wait_for

_LINE = """import json as _json, os as _os, time as _time
_file = _os.open({path!r}, _os.O_WRONLY | _os.O_APPEND | _os.O_CREAT, 0o600)
_os.write(_file, (_json.dumps([{nonce!r}, _os.getpid(), _time.monotonic()]) + "\\n").encode())
_os.close(_file)
"""
QUICK = "print('done')"


def wait_for_file(path: Path) -> str:
    """A program that goes on when `path` is there."""
    begin = "import os, time\nprint('begun', flush=True)\n"
    return begin + f"while not os.path.exists({str(path)!r}): time.sleep(0.02)"


class Ledger:
    """One file that every call of a rig appends to. A line is written by one `write`, so none is torn."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def code(self, nonce: str, program: str = QUICK) -> str:
        """Python that writes its line first and then runs `program`."""
        return _LINE.format(path=str(self.path), nonce=nonce) + program

    def lines(self) -> list[LedgerLine]:
        if not self.path.exists():
            return []
        return [LedgerLine(*json.loads(line)) for line in self.path.read_text("utf-8").splitlines()]

    def of(self, nonce: str) -> list[LedgerLine]:
        return [line for line in self.lines() if line.nonce == nonce]

    def wait(self, nonce: str) -> LedgerLine:
        """Its first line, as soon as it is there."""
        wait_for(lambda: bool(self.of(nonce)), f"the ledger's line of {nonce}", 60)
        return self.of(nonce)[0]
