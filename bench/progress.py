"""What the live preview of a growing argument costs, side by side with parsing it anew at each fragment.

Run: python -m bench.progress. The figures of one run belong together; between machines only ratios compare.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import pairwise

from streaming.limits import KIB, MIB, ProgressLimits
from streaming.progress.projection import Projection
from streaming.progress.scanner import PreviewScanner
from streaming.providers.events import ArgumentsDelta, CallIdentified

FRAGMENT_CHARS = 64
LINE = 'for name, größe in sorted(table.items()):\n    print(f"{name}: {größe}")  # 漢\n'


def arguments(size_bytes: int) -> list[str]:
    """The fragments of arguments with about `size_bytes` of code."""
    raw = json.dumps({"code": LINE * (size_bytes // len(LINE.encode()))}, ensure_ascii=False)
    return [raw[start:end] for start, end in pairwise([*range(0, len(raw), FRAGMENT_CHARS), len(raw)])]


def scanned(fragments: list[str]) -> str:
    scanner, window = PreviewScanner("code"), ""
    for fragment in fragments:
        window = (window + scanner.feed(fragment))[-512:]
    return window


def projected(fragments: list[str]) -> str:
    """All of it: scanner, window, live object of each change."""
    projection = Projection(ProgressLimits(), {"python": "code"})
    projection.begin("bench")
    projection.apply(CallIdentified(0, "python", "call_1"), "")
    for fragment in fragments:
        projection.apply(ArgumentsDelta(0, fragment), "")
    return projection.snapshot()[0]["preview"]["text"]


def parsed_anew(fragments: list[str]) -> str:
    """The obvious way: close what has come so far, and parse it."""
    raw, window = "", ""
    for fragment in fragments:
        raw += fragment
        for ending in ('"}', "", '\\"}'):
            try:
                window = json.loads(raw + ending).get("code", "")[-512:]
                break
            except json.JSONDecodeError:
                continue
    return window


def seconds(work: Callable[[list[str]], str], fragments: list[str]) -> float:
    started = time.process_time()
    window = work(fragments)
    spent = time.process_time() - started
    assert window == json.loads("".join(fragments))["code"][-512:]
    return spent


def main() -> None:
    for size_bytes in (32 * KIB, 64 * KIB, 128 * KIB):
        fragments = arguments(size_bytes)
        anew, scan, full = (seconds(work, fragments) for work in (parsed_anew, scanned, projected))
        print(
            f"{size_bytes // KIB:>5} KiB in {len(fragments):>6} fragments:"
            f" scanner {scan * 1e3:8.1f} ms, projection {full * 1e3:8.1f} ms, anew {anew * 1e3:8.1f} ms"
            f" = {anew / scan:6.1f} x scanner, {anew / full:6.1f} x projection"
        )
    half, whole = arguments(8 * MIB), arguments(16 * MIB)
    for name, work in (("scanner", scanned), ("projection", projected)):
        first, second = seconds(work, half), seconds(work, whole)
        print(
            f"{name}: 8 MiB {first:.2f} s, 16 MiB {second:.2f} s: {second / first:.2f} x for twice the size,"
            f" {second / len(whole) * 1e6:.1f} µs a fragment"
        )


if __name__ == "__main__":
    main()
