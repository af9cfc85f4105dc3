from __future__ import annotations

import json

import pytest

from streaming.providers.events import (
    ArgumentsDelta,
    ArgumentsReplaced,
    CallDropped,
    CallIdentified,
    CallOpened,
    TextDelta,
)
from tests.unit.progress.builders import STARTED, pieces
from tests.unit.progress.views import PREFIX, apply, folded, preview_of, projection, write


def test_a_call_is_shown_at_once_when_its_name_is_known() -> None:
    made = projection()
    assert apply(made, CallOpened(0), CallIdentified(0, None, "call_1")) == []
    assert made.snapshot() == []

    [change] = apply(made, CallIdentified(0, "python", "call_1"))

    assert change.immediate
    assert change.progress == {
        "call_id": f"{PREFIX}-0",
        "tool_call_id": "call_1",
        "name": "python",
        "phase": "generating",
        "arguments_chars": 0,
        "started_at": STARTED,
        "preview": {"offset_scalars": 0, "text": ""},
    }
    assert change.update.data == {"progress": change.progress}
    assert [change.progress] == made.snapshot()


def test_each_fragment_changes_the_view_but_need_not_be_told_at_once() -> None:
    made = projection()
    apply(made, CallIdentified(0, "python", "call_1"))
    changes = apply(made, *(ArgumentsDelta(0, piece) for piece in ['{"code":"pr', "", r"int(\u00e", '9)"}']))

    assert [change.immediate for change in changes] == [False] * 3
    assert [change.progress["preview"]["text"] for change in changes if change.progress] == [
        "pr",
        "print(",
        "print(é)",
    ]
    assert made.snapshot()[0]["arguments_chars"] == len(r'{"code":"print(\u00e9)"}')


def test_events_that_are_not_of_calls_change_nothing() -> None:
    made = projection()
    assert apply(made, TextDelta("x")) == []


def test_a_name_that_comes_after_its_arguments_finds_its_preview() -> None:
    made = projection(python="code", shell="command", other="code")
    assert apply(made, CallOpened(0), ArgumentsDelta(0, '{"command":"ls","code":"x"'), CallOpened(1)) == []

    [change] = apply(made, CallIdentified(0, "shell", None))
    assert change.immediate
    assert preview_of(made) == {"offset_scalars": 0, "text": "ls"}
    assert made.snapshot()[0]["arguments_chars"] == 26
    apply(made, ArgumentsDelta(0, "}"))
    assert preview_of(made) == {"offset_scalars": 0, "text": "ls"}


def test_a_name_in_pieces_is_shown_as_it_grows_and_ends_with_its_preview() -> None:
    made = projection(python="code", python_file="path")
    changes = apply(
        made,
        CallIdentified(0, "py", None),
        ArgumentsDelta(0, '{"path":"p","code":'),
        CallIdentified(0, "python", None),
        ArgumentsDelta(0, '"x"}'),
        CallIdentified(0, "python_file", None),
        CallIdentified(0, "python_file", None),
    )
    names = [change.progress["name"] for change in changes if change.progress]
    shown = [change.progress.get("preview", {}).get("text") for change in changes if change.progress]

    assert names == ["py", "py", "python", "python", "python_file"]
    assert shown == [None, None, "", "x", "p"]
    assert [change.immediate for change in changes] == [True] + [False] * 4


def test_a_tool_without_preview_argument_and_an_unknown_one_show_none() -> None:
    made = projection()
    write(made, 0, name="unknown")
    write(made, 1, name="pythonic")
    assert preview_of(made, 0) is None
    assert preview_of(made, 1) is None
    assert [shown["arguments_chars"] for shown in made.snapshot()] == [12, 12]


@pytest.mark.parametrize(
    "odd",
    [
        '{"code":"a","code":"b"',
        '{"c\\u006f',
        '{"code":7',
        '{"code":"a\n',
        "[",
        '{"a":' + "[" * 69,
        "not json",
    ],
)
def test_odd_arguments_lose_the_preview_and_nothing_else(odd: str) -> None:
    made = projection()
    changes = write(made, 0, odd)
    write(made, 1)

    assert preview_of(made, 0) is None
    assert changes[-1].progress is not None
    assert "preview" not in changes[-1].progress
    assert made.snapshot()[0]["arguments_chars"] == len(odd)
    assert preview_of(made, 1) == {"offset_scalars": 0, "text": "x"}


def test_replaced_arguments_begin_anew_and_may_bring_a_dropped_preview_back() -> None:
    made = projection()
    write(made, 0, '{"code":"a\nb"}')
    [change] = apply(made, ArgumentsReplaced(0, '{"code":"a\\nb"}'))

    assert change.progress is not None
    assert change.progress["arguments_chars"] == 15
    assert change.progress["preview"] == {"offset_scalars": 0, "text": "a\nb"}
    apply(made, ArgumentsReplaced(0, '{"code":"'), ArgumentsDelta(0, "new"))
    assert preview_of(made) == {"offset_scalars": 0, "text": "new"}


@pytest.mark.parametrize("fragments", [["\ud83d", "\ude00"], ["\ud83d\ude00"], ["😀"]])
def test_a_halved_pair_counts_as_one_character(fragments: list[str]) -> None:
    made = projection()
    write(made, 0, '{"code":"')
    apply(made, *(ArgumentsDelta(0, fragment) for fragment in fragments))

    assert made.snapshot()[0]["arguments_chars"] == 10
    assert preview_of(made) == {"offset_scalars": 0, "text": "😀"}
    apply(made, ArgumentsDelta(0, "\ud83d"))
    assert made.snapshot()[0]["arguments_chars"] == 11


def test_ids_too_long_are_none_and_names_are_cut_on_a_character() -> None:
    made = projection()
    apply(made, CallIdentified(0, "n" + "漢" * 40, "é" * 100), CallIdentified(1, "é\ud83d", "i" * 201))
    first, second = made.snapshot()

    assert first["name"] == "n" + "漢" * 33
    assert first["tool_call_id"] == "é" * 100
    assert second["name"] == "é\ufffd"
    assert second["tool_call_id"] is None


def test_a_distinct_id_of_our_own_stays() -> None:
    made = projection()
    write(made, 0)
    [change] = made.set_tool_call_id(f"{PREFIX}-0", "id0-2")

    assert change.progress is not None
    assert change.progress["tool_call_id"] == "id0-2"
    assert made.set_tool_call_id(f"{PREFIX}-0", "id0-2") == []
    assert apply(made, CallIdentified(0, None, "id0")) == []
    assert made.snapshot()[0]["tool_call_id"] == "id0-2"
    assert made.set_tool_call_id(f"{PREFIX}-7", "x") == []


def test_the_list_is_in_output_order_also_for_who_folds_the_changes() -> None:
    made = projection()
    shown = folded([], apply(made, CallOpened(0), CallOpened(1), CallOpened(2)))
    for slot in (1, 2, 0):
        shown = folded(shown, write(made, slot))
        assert shown == made.snapshot()
    assert [item["call_id"] for item in shown] == [f"{PREFIX}-{slot}" for slot in (0, 1, 2)]


def test_a_shown_call_that_was_none_disappears() -> None:
    made = projection()
    shown = folded([], [*write(made, 0), *write(made, 1), *apply(made, CallOpened(2))])
    assert apply(made, CallDropped(2)) == []

    changes = apply(made, CallDropped(0))

    assert all(change.immediate for change in changes)
    assert folded(shown, changes) == made.snapshot()
    assert [item["call_id"] for item in made.snapshot()] == [f"{PREFIX}-1"]
    assert apply(made, CallDropped(0)) == []


def test_128_kib_in_64_byte_fragments_end_exact() -> None:
    made = projection()
    code = "".join(f"x{number} = 'é漢😀'  # \"{number}\"\n" for number in range(4_096))
    raw = json.dumps({"code": code})
    assert len(raw) >= 128 * 1024
    apply(made, CallIdentified(0, "python", "id"))
    for fragment in pieces(raw, range(64, len(raw), 64)):
        apply(made, ArgumentsDelta(0, fragment))
    assert preview_of(made) == {"offset_scalars": len(code) - 512, "text": code[-512:]}
    assert made.snapshot()[0]["arguments_chars"] == len(raw)
    assert made.text_bytes() == len(code[-512:].encode())


def test_it_knows_which_calls_it_followed() -> None:
    shown = projection()
    shown.begin("a")
    shown.apply(CallOpened(3), STARTED)
    assert shown.tracks("a-3")
    assert not shown.tracks("a-4")
    assert not shown.tracks("b-3")
    shown.clear()
    assert not shown.tracks("a-3")
