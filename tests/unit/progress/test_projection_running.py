from __future__ import annotations

from typing import Any

import pytest

from streaming.limits import ProgressLimits
from streaming.progress.projection import Change, Projection
from streaming.providers.events import (
    ArgumentsDelta,
    ArgumentsReplaced,
    CallIdentified,
    CallOpened,
    StepEvent,
)
from tests.unit.progress.builders import STARTED
from tests.unit.progress.views import CLEARED, PREFIX, apply, folded, preview_of, projection, run, write


def test_the_33rd_call_clears_and_all_still_run_one_by_one() -> None:
    made = projection()
    for slot in range(32):
        write(made, slot)
    assert len(made.snapshot()) == 32

    assert write(made, 32) == [CLEARED]
    assert made.snapshot() == []
    assert write(made, 33) == []
    assert write(made, 0) == []

    for slot in range(34):
        [change] = run(made, slot, '{"code":"x"}')
        assert change.immediate
        assert change.progress is not None
        assert change.progress["phase"] == "running"
        assert change.progress["preview"] == {"offset_scalars": 0, "text": "x"}
        assert made.snapshot() == [change.progress]
        made.remove(f"{PREFIX}-{slot}")
        assert made.snapshot() == []


def test_the_next_attempt_shows_previews_again() -> None:
    made = projection()
    for slot in range(33):
        write(made, slot)
    assert made.begin("next") == []
    write(made, 0)
    assert [item["call_id"] for item in made.snapshot()] == ["next-0"]
    assert made.begin("third") == [CLEARED]


def test_a_flood_of_nameless_calls_ends_the_previews_as_well() -> None:
    made = projection()
    write(made, 0)
    opened = [change for slot in range(1, 65) for change in apply(made, CallOpened(slot))]
    assert opened == [CLEARED]
    assert write(made, 1) == []


def test_running_keeps_the_preview_and_no_generating_change_follows() -> None:
    made = projection()
    write(made, 0, '{"code":"x"}')
    write(made, 1)
    [change] = run(made, 0, tool_call_id="distinct", arguments_chars=40)

    assert change == Change(made.snapshot()[0], immediate=True)
    assert change.progress is not None
    assert change.progress["phase"] == "running"
    assert change.progress["tool_call_id"] == "distinct"
    assert change.progress["arguments_chars"] == 40
    assert change.progress["started_at"] == STARTED
    assert change.progress["preview"] == {"offset_scalars": 0, "text": "x"}
    late: list[StepEvent] = [
        ArgumentsDelta(0, "x"),
        ArgumentsReplaced(0, "{}"),
        CallIdentified(0, "other", "x"),
        CallOpened(0),
    ]
    assert apply(made, *late) == []
    assert made.snapshot()[0] == change.progress
    assert made.snapshot()[1]["phase"] == "generating"


def test_running_shows_a_call_that_was_not_shown_in_its_place() -> None:
    made = projection()
    apply(made, CallOpened(0), ArgumentsDelta(0, '{"code":"hidden"}'))
    shown = folded([], write(made, 1))

    shown = folded(shown, run(made, 0))

    assert shown == made.snapshot()
    assert [item["phase"] for item in shown] == ["running", "generating"]
    assert preview_of(made) == {"offset_scalars": 0, "text": "hidden"}


def test_running_with_edited_arguments_shows_these() -> None:
    made = projection()
    write(made, 0, '{"code":"as written"}')
    run(made, 0, '{"code":"as edited"}')
    assert preview_of(made) == {"offset_scalars": 0, "text": "as edited"}


def test_a_call_whose_arguments_are_not_given_runs_without_preview() -> None:
    made = projection()
    [change] = run(made, 4)
    assert change.progress is not None
    assert "preview" not in change.progress
    assert change.progress["started_at"] == "later"


def test_a_call_of_an_earlier_actor_runs_where_nothing_else_is_shown() -> None:
    made = Projection(ProgressLimits(), {"python": "code"})
    facts: dict[str, Any] = {
        "tool_call_id": None,
        "name": "python",
        "arguments_chars": 2,
        "started_at": STARTED,
    }
    made.running("2-aa-r-1-1-3", **facts)

    assert made.snapshot()[0]["call_id"] == "2-aa-r-1-1-3"
    with pytest.raises(ValueError, match="not of the attempt"):
        made.running("3-bb-r-1-1-0", **facts)
    made.remove("3-bb-r-1-1-3")
    assert len(made.snapshot()) == 1
    made.remove("2-aa-r-1-1-3")
    assert made.snapshot() == []


def test_a_late_word_on_an_earlier_attempt_does_not_rename_the_present_one() -> None:
    made = projection()
    made.begin("next")
    assert made.set_tool_call_id(f"{PREFIX}-0", "x") == []
    made.remove(f"{PREFIX}-0")
    write(made, 0)
    assert made.snapshot()[0]["call_id"] == "next-0"


def test_after_a_clear_the_attempt_is_over() -> None:
    made = projection()
    assert made.clear() == []
    made.begin(PREFIX)
    write(made, 0)
    assert made.clear() == [CLEARED]
    assert made.clear() == []
    assert write(made, 1) == []
    assert made.snapshot() == []
    assert made.text_bytes() == 0


def test_a_snapshot_is_a_copy() -> None:
    made = projection()
    write(made, 0)
    made.snapshot()[0]["preview"]["text"] = "changed"
    assert preview_of(made) == {"offset_scalars": 0, "text": "x"}
