"""The launcher of the distributed mode, whose processes have a clock that leaps. Run as a module."""

from __future__ import annotations

import sys

from scripts.distributed import whole
from scripts.distributed.__main__ import main


def leaping(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "tests.support.leaping_manage", *arguments)


if __name__ == "__main__":
    whole.command = leaping  # type: ignore[attr-defined]
    sys.exit(main())
