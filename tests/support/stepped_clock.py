"""A wall clock that a test steps while the processes that go by it run."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent / "stepped"


class SteppedClock:
    """`environment` is for the processes that go by it."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.step(0)
        self.environment = {"PYTHONPATH": str(HERE), "STEPPED_CLOCK_FILE": str(self._file)}

    def step(self, seconds: float) -> None:
        """To so many seconds from the true time, forward or back."""
        draft = self._file.with_suffix(".draft")
        draft.write_text(f"{seconds}\n", "ascii")
        draft.rename(self._file)
