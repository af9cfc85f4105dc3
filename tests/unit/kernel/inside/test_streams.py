"""Order and pieces of what is printed, without a kernel around it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from streaming.kernel.inside import streams


class Recorder:
    """Stands where a stream stands, and notes what it would send."""

    def __init__(self, name: str, sent: list[tuple[str, str, str]]) -> None:
        self.name = name
        self._sent = sent

    def publish(self, parent: dict[str, Any], text: str) -> None:
        self._sent.append((self.name, parent["id"], text))


def test_neighbours_of_one_stream_and_cell_go_together_and_order_stays() -> None:
    sent: list[tuple[str, str, str]] = []
    out: Any = Recorder("out", sent)
    err: Any = Recorder("err", sent)
    outlet = streams.Outlet()
    for stream, cell, text in [
        (out, "1", "a"), (out, "1", "b"), (err, "1", "c"), (out, "1", "d"), (out, "2", "e"),
    ]:  # fmt: skip
        outlet.put(stream, {"id": cell}, text)
    outlet.send()
    outlet.send()
    assert sent == [("out", "1", "ab"), ("err", "1", "c"), ("out", "1", "d"), ("out", "2", "e")]
    assert outlet.chars == 0


def test_threads_run_in_the_context_of_who_started_them(monkeypatch: pytest.MonkeyPatch) -> None:
    import contextvars

    monkeypatch.setattr(threading.Thread, "start", threading.Thread.start)
    streams.threads_keep_their_cell()
    cell: contextvars.ContextVar[str] = contextvars.ContextVar("cell", default="none")
    seen: list[str] = []
    cell.set("first")
    thread = threading.Thread(target=lambda: seen.append(cell.get()))
    thread.start()
    cell.set("second")
    thread.join()
    assert seen == ["first"]
