from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.limits import ProgressLimits
from streaming.progress.call import ToolProgress, TrackedCall
from streaming.progress.sizes import deep_size
from tests.unit.progress.builders import KEY, STARTED, examples

LIMITS = ProgressLimits()


def shown(text: str, name: str, tool_call_id: str, call_id: str = "c-0") -> ToolProgress:
    call = TrackedCall(STARTED)
    call.choose_previews(KEY, [KEY], LIMITS)
    call.set_name(name, LIMITS)
    call.set_tool_call_id(tool_call_id, LIMITS)
    call.feed(json.dumps({KEY: text}))
    return call.show(call_id, LIMITS)


def event_bytes(progress: ToolProgress) -> int:
    event = {"type": "tool_progress", "sequence": 2**63, "data": {"progress": progress}}
    return len(json.dumps(event))


@pytest.mark.parametrize("tool_call_id", ["i" * 200, "\x01" * 200, "é" * 100, "漢" * 66, "😀" * 50, ""])
@pytest.mark.parametrize("name", ["n" * 100, "\x01" * 100, "é" * 50, "😀" * 25])
@pytest.mark.parametrize("character", ["a", "\x01", "é", "漢", "😀"])
def test_an_event_stays_within_8192_bytes_fully_escaped(character: str, name: str, tool_call_id: str) -> None:
    progress = shown(character * 600, name, tool_call_id, call_id="3-9f2c1ab4-" + "r" * 60 + "-12-3-31")
    preview = progress["preview"]

    assert event_bytes(progress) <= 8_192
    assert preview["offset_scalars"] + len(preview["text"]) == 600
    assert preview["text"] == character * len(preview["text"])
    escaped = len(json.dumps(character)) - 2
    assert len(preview["text"]) == 512 or event_bytes(progress) + escaped > 8_192 - 4


def test_the_widest_preview_is_whole_with_ids_of_usual_length() -> None:
    progress = shown("😀" * 600, "python", "call_" + "x" * 24, "3-9f2c1ab4-" + "r" * 60 + "-12-3-31")
    assert progress["preview"] == {"offset_scalars": 88, "text": "😀" * 512}


@examples(60)
@given(st.text(), st.text(), st.text(max_size=700), st.integers(0, 9_000))
def test_whatever_it_is_made_of_the_event_fits(
    name: str, tool_call_id: str, text: str, prefix_length: int
) -> None:
    progress = shown(text, name, tool_call_id, "p" * prefix_length)
    if prefix_length < 7_000:
        assert event_bytes(progress) <= 8_192
    else:
        assert event_bytes(progress) <= 8_192 or progress["preview"]["text"] == ""


def test_its_own_size_is_what_it_holds() -> None:
    call = TrackedCall(STARTED)
    call.choose_previews(KEY, [KEY, "other"], LIMITS)
    call.set_name("ñame", LIMITS)
    call.feed('{"a":' + "[" * 60 + "]" * 60 + ',"code":"' + "😀" * 600 + "\\ud83d\\u00")
    shared = deep_size(LIMITS, KEY, "other", (), "", b"", 0, 1, 2, None, True, False)

    assert call.size() <= deep_size(call) <= call.size() + shared
    assert call.preview_count == 2
