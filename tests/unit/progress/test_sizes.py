from __future__ import annotations

import sys
from dataclasses import dataclass

from streaming.progress.sizes import deep_size, shallow_size


@dataclass(slots=True)
class Slotted:
    held: object


class Plain:
    def __init__(self, held: object) -> None:
        self.held = held


def test_it_counts_through_containers_slots_and_attributes() -> None:
    text = "x" * 1000
    plain = Plain(text)
    for holder in ([text], (text,), {text}, {1: text}, Slotted(text)):
        assert deep_size(holder) >= sys.getsizeof(holder) + sys.getsizeof(text)
    assert deep_size(plain) >= sys.getsizeof(plain) + sys.getsizeof(vars(plain)) + sys.getsizeof(text)


def test_what_is_shared_counts_once_and_a_ring_ends() -> None:
    text = "x" * 1000
    ring: list[object] = [text, text]
    ring.append(ring)
    assert deep_size(ring) == sys.getsizeof(ring) + sys.getsizeof(text)
    assert deep_size(text, text) == sys.getsizeof(text)


def test_code_is_not_counted() -> None:
    code: tuple[object, ...] = (len, Slotted, test_code_is_not_counted, sys)
    assert deep_size(code) == sys.getsizeof(code)


def test_a_shallow_size_leaves_out_what_exists_once_anyway() -> None:
    assert shallow_size("", b"", (), 0, 256, False) == 0
    assert shallow_size(257, "ab", [1]) == sum(map(sys.getsizeof, (257, "ab", [1])))
