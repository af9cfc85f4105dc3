"""The program that the demo model writes: standard library only, a little work on the task's own words."""

from __future__ import annotations

import re

_FENCED = re.compile(r"```(?:python|py)[ \t]*\r?\n(.*?)(?:\r?\n)?```", re.S | re.I)
_TASK_CHARS = 400

_PROGRAM = """\
import collections, pathlib, re, statistics, struct, zlib
from IPython.display import Image, display

task = {task!r}

# What is in the request itself?
words = re.findall(r"[^\\W\\d_]+", task.lower())
numbers = [float(n) for n in re.findall(r"-?\\d{{1,12}}(?:\\.\\d{{1,6}})?", task)]
letters = collections.Counter(c for word in words for c in word)
print(f"{{len(task)}} characters, {{len(words)}} words, {{len(set(words))}} of them different")
if numbers:
    print(f"numbers {{numbers}}: sum {{sum(numbers):g}}, mean {{statistics.fmean(numbers):g}}")

# The primes up to the largest number (or 50), by a sieve.
top = min(10_000, max([50, *(int(n) for n in numbers)]))
sieve = bytearray([1]) * (top + 1)
for n in range(2, int(top ** 0.5) + 1):
    if sieve[n]:
        sieve[n * n :: n] = bytes(len(sieve[n * n :: n]))
primes = [n for n in range(2, top + 1) if sieve[n]]
print(f"{{len(primes)}} primes up to {{top}}, the last one is {{primes[-1]}}")

# A bar for each frequent letter, drawn by hand: a PNG is rows, deflated.
bars = letters.most_common(16) or [("-", 1)]
wide, high = 20 * len(bars) + 4, 120
rows = [bytearray(b"\\xff" * (3 * wide)) for _ in range(high)]
for i, (_, count) in enumerate(bars):
    for y in range(high - 4 - int(100 * count / bars[0][1]), high - 4):
        rows[y][3 * (20 * i + 6) : 3 * (20 * i + 20)] = bytes((60, 90 + 8 * i, 200)) * 14

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

header = struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)
pixels = zlib.compress(b"".join(b"\\0" + bytes(row) for row in rows))
png = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
display(Image(data=png))

note = pathlib.Path("demo-note.md")
note.write_text(f"# Demo\\n\\n{{task}}\\n\\nFrequent letters: {{dict(bars[:5])}}\\n", encoding="utf-8")
print(f"wrote {{note}} ({{note.stat().st_size}} bytes)")
"""


def program_for(task: str) -> str:
    """The fenced Python block of the task where it has one, else a small program about the task."""
    fenced = _FENCED.search(task)
    if fenced is not None and fenced[1].strip():
        return fenced[1]
    return _PROGRAM.format(task=task[:_TASK_CHARS])


def has_own_code(task: str) -> bool:
    fenced = _FENCED.search(task)
    return fenced is not None and bool(fenced[1].strip())
