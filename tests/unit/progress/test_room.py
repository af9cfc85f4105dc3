from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.limits import KIB, ProgressLimits
from streaming.progress.projection import Projection
from streaming.providers.events import (
    ArgumentsDelta,
    ArgumentsReplaced,
    CallDropped,
    CallIdentified,
    CallOpened,
    StepEvent,
)
from tests.unit.progress.builders import any_text, examples, scalars
from tests.unit.progress.views import folded

PREFIX = "3-9f2c1ab4-0197e8a2-7c1f-7d3a-8f00-1234567890ab-12-3"


def started(slot: int) -> str:
    return f"2026-01-02T03:04:05.{slot:06d}Z"


def filled(text: str, *, name: str = "python", id_bytes: int = 30, calls: int = 32) -> Projection:
    made = Projection(ProgressLimits(), {"python": "code", "n" * 100: "code"})
    made.begin(PREFIX)
    for slot in range(calls):
        tool_call_id = f"{slot:0{id_bytes}d}"
        made.apply(CallIdentified(slot, name, tool_call_id), started(slot))
        made.apply(ArgumentsDelta(slot, '{"code":"'), started(slot))
    shown = made.snapshot()
    for start in range(0, len(text), 100):
        for slot in range(calls):
            shown = folded(shown, made.apply(ArgumentsDelta(slot, text[start : start + 100]), started(slot)))
    assert shown == made.snapshot()
    return made


@pytest.mark.parametrize("characters", ["a", "é", "漢", "😀", "𝔸😀\U0010fffe漢", "aé漢😀"])
def test_32_full_windows_of_any_characters_fit_exactly(characters: str) -> None:
    text = "".join(random.Random(7).choices(characters, k=900))
    made = filled(text)

    assert made.deep_size() < 64 * KIB
    assert [item["preview"] for item in made.snapshot()] == [
        {"offset_scalars": 388, "text": text[-512:]}
    ] * 32


def test_with_the_longest_ids_the_windows_yield_and_stay_exact() -> None:
    text = "".join(chr(0x10000 + number * 7 % 0xFFFF) for number in range(900))
    made = filled(text, name="n" * 100, id_bytes=200)

    assert made.deep_size() < 64 * KIB
    for item in made.snapshot():
        preview = item["preview"]
        assert 256 <= len(preview["text"]) < 512
        assert preview["text"] == text[preview["offset_scalars"] :]


def test_few_calls_are_never_shortened_by_long_ids() -> None:
    made = filled("😀" * 600, name="n" * 100, id_bytes=150, calls=12)
    assert [len(item["preview"]["text"]) for item in made.snapshot()] == [512] * 12


def test_64_nameless_calls_with_many_kinds_of_previews_fit() -> None:
    made = Projection(ProgressLimits(), {f"tool{number}": f"argument{number}" for number in range(20)})
    made.begin(PREFIX)
    for slot in range(64):
        made.apply(CallOpened(slot), started(slot))
        made.apply(CallIdentified(slot, None, f"{slot:0200d}"), started(slot))
        made.apply(ArgumentsDelta(slot, '{"argument0":"' + "😀" * 600), started(slot))
    assert made.text_bytes() > 0
    assert made.deep_size() < 64 * KIB


slots = st.integers(0, 40)
names = st.sampled_from(["python", "py", "shell", "n" * 256, "漢" * 90]) | st.none()
fragments = any_text | st.sampled_from(
    [
        '{"code":"',
        '{"command":"',
        "😀" * 700,
        "漢\\n" * 300,
        "[" * 64,
        '{"a":' * 60,
        "9" * 500,
        '"',
        "\\ud83d",
    ]
)
events: st.SearchStrategy[StepEvent] = st.one_of(
    st.builds(CallOpened, slots),
    st.builds(CallIdentified, slots, names, st.text(max_size=210) | st.none()),
    st.builds(ArgumentsDelta, slots, fragments),
    st.builds(ArgumentsReplaced, slots, fragments),
    st.builds(CallDropped, slots),
)


@examples(60)
@given(st.lists(events, max_size=80), st.booleans())
def test_no_sequence_of_events_passes_the_bound_or_parts_view_and_changes(
    sequence: list[StepEvent], crowded: bool
) -> None:
    made = filled("😀" * 512, id_bytes=200, calls=30) if crowded else filled("")
    shown = list(made.snapshot())
    for event in sequence:
        shown = folded(shown, made.apply(event, started(0)))
        assert shown == made.snapshot()
    assert made.deep_size() < 64 * KIB
    for item in made.snapshot():
        assert item["preview"]["text"] == scalars(item["preview"]["text"]) if "preview" in item else True
