"""What is stored is shown in one shape, and what is unknown is never made up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from sessions_app.ids import new_id
from sessions_app.models import Entry, Input, Run, ToolCall
from sessions_app.render import render_entry, render_input, render_run, render_time, render_tool, render_usage

NOW = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
SESSION = new_id()


def entry(kind: str, content: list[Any], **fields: Any) -> Entry:
    return Entry(session_id=SESSION, position=3, kind=kind, content=content, created_at=NOW, **fields)


def call(**fields: Any) -> ToolCall:
    values: dict[str, Any] = {
        "session_id": SESSION,
        "run_id": new_id(),
        "call_id": "c",
        "tool_call_id": "t",
        "name": "python",
        "state": "ok",
        "arguments_bytes": 2,
        "duration_ms": 7,
    }
    return ToolCall(**{**values, **fields})


def test_times_are_utc_and_of_one_length() -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert render_time(elsewhere) == "2026-01-02T03:04:05.000006Z"
    assert render_time(NOW.replace(microsecond=0)) == "2026-01-02T03:04:05.000000Z"
    assert render_time(None) is None


def test_unknown_usage_is_null_and_a_reported_zero_stays_zero() -> None:
    assert set(render_usage({}).values()) == {None, "unknown"}
    shown = render_usage({"input_tokens": 0, "source": "reported"})
    assert (shown["input_tokens"], shown["output_tokens"], shown["source"]) == (0, None, "reported")


def test_an_entry_without_a_call_has_no_tool_and_only_the_keys_that_it_needs() -> None:
    shown = render_entry(entry("assistant", [{"kind": "text", "text": "hi"}]))
    assert shown["content_complete"] is True
    assert {"tool", "truncated", "message_id"} & shown.keys() == set()
    marked = render_entry(entry("assistant", [], message_id=SESSION, truncated=True))
    assert (marked["message_id"], marked["truncated"]) == (str(SESSION), True)


def test_references_and_images_get_their_addresses() -> None:
    parts = [
        {
            "kind": "image",
            "artifact_id": "a1",
            "mime_type": "image/png",
            "bytes": 5,
            "width": 1,
            "height": None,
        },
        {"kind": "reference", "reference": {"field": "result", "bytes": 99}},
    ]
    made = entry("tool_result", parts, tool_call=call())
    image, reference = render_entry(made)["content"]
    assert image["url"] == f"/api/sessions/{SESSION}/artifacts/a1"
    assert "artifact_id" not in image
    expected = f"/api/sessions/{SESSION}/entries/{made.id}/content/result"
    assert reference["reference"] == {"field": "result", "url": expected, "bytes": 99}
    assert render_entry(made)["content_complete"] is False


@pytest.mark.parametrize(
    ("kind", "state", "status"),
    [("tool_call", "ok", "requested"), ("tool_result", "ok", "ok"), ("tool_result", "lost", "lost")],
)
def test_a_calls_own_entry_never_changes(kind: str, state: str, status: str) -> None:
    assert render_entry(entry(kind, [], tool_call=call(state=state)))["tool"]["status"] == status


def test_a_tool_event_has_both_values_while_they_are_small() -> None:
    result = entry("tool_result", [{"kind": "json", "field": "result", "value": "{}"}])
    shown = render_tool(call(), result, {"a": 1}, call_entry_id=new_id(), inline_bytes=2)
    assert (shown["arguments"], shown["result"], shown["content_complete"]) == ({"a": 1}, "{}", True)
    assert (shown["reference"], shown["references"], shown["images"]) == (None, [], [])


def test_a_tool_event_refers_to_what_is_large_each_in_its_own_entry() -> None:
    asked = new_id()
    large = entry("tool_result", [{"kind": "reference", "reference": {"field": "result", "bytes": 9}}])
    shown = render_tool(call(arguments_bytes=3), large, {"a": 1}, call_entry_id=asked, inline_bytes=2)
    assert (shown["arguments"], shown["result"], shown["content_complete"]) == (None, None, False)
    assert [item["field"] for item in shown["references"]] == ["arguments", "result"]
    assert [str(asked) in item["url"] for item in shown["references"]] == [True, False]
    assert shown["reference"] == shown["references"][0]


def test_a_preview_says_that_it_is_one() -> None:
    asked = Input(text="😀" * 10, order=1, created_at=NOW)
    whole = render_input(asked, 10)
    assert (whole["text"], whole["text_complete"]) == ("😀" * 10, True)
    cut = render_input(asked, 9)
    assert (cut["text"], cut["text_complete"]) == ("😀" * 8 + "…", False)


@pytest.mark.parametrize(("state", "outcome"), [("running", None), ("failed", "failed")])
def test_an_input_tells_how_its_run_ended_once_it_has(state: str, outcome: str | None) -> None:
    run = Run(session_id=SESSION, state=state)
    shown = render_input(Input(text="x", order=1, created_at=NOW, run=run))
    assert (shown["run_id"], shown["outcome"]) == (str(run.id), outcome)


def test_a_run_that_nobody_stopped_has_no_proof_of_a_stop() -> None:
    run = Run(session_id=SESSION, started_at=NOW)
    vars(run)["_prefetched_objects_cache"] = {"inputs": Input.objects.none()}
    assert render_run(run)["interrupt"] is None
    run.interrupt_requested_at, run.interrupt_by, run.kernel = NOW, "alice", "restarted"
    proof = render_run(run)["interrupt"]
    assert (proof["by"], proof["kernel"], proof["settled_at"]) == ("alice", "restarted", None)
