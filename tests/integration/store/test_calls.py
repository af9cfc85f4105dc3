from __future__ import annotations

import json
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User

from sessions_app.models import Artifact, ContentChunk, Entry, Session, ToolCall
from sessions_app.store import calls, runs
from sessions_app.store.content import pieces, read_text
from sessions_app.store.fence import Fence
from sessions_app.store.steps import NewCall, StepRecord, record_step
from tests.support.store import accepted, call, claimed, step


@pytest.fixture
def fence(session: Session, alice: User) -> Fence:
    accepted(session, alice)
    return claimed(session).fence


def recorded(fence: Fence, *new: NewCall) -> StepRecord:
    taken = runs.start_run(fence)
    assert taken is not None
    return record_step(fence, step(taken.run.id, *new))


def test_a_call_is_started_once(fence: Fence) -> None:
    pk = recorded(fence, call()).calls[0].id
    assert calls.start_call(fence, pk).state == "running"
    with pytest.raises(calls.CallNotPending):
        calls.start_call(fence, pk)


def test_large_arguments_are_kept_exactly_in_chunks_on_character_boundaries(fence: Fence) -> None:
    text = json.dumps({"code": "print('üñ😀')\n" * 8_000}, ensure_ascii=False)
    row = recorded(fence, call(0, text)).calls[0]
    entry = Entry.objects.get(tool_call=row, kind="tool_call")
    assert row.arguments_text == ""
    assert row.arguments_bytes == len(text.encode())
    assert entry.content == [
        {"kind": "reference", "reference": {"field": "arguments", "bytes": len(text.encode())}}
    ]
    assert read_text(entry.id, "arguments") == text
    chunks = list(ContentChunk.objects.order_by("offset_bytes"))
    assert len(chunks) > 1
    assert [chunk.offset_bytes for chunk in chunks[1:]] == [
        chunk.offset_bytes + chunk.length_bytes for chunk in chunks[:-1]
    ]
    assert all(len(chunk.text.encode()) == chunk.length_bytes <= 32 * 1024 for chunk in chunks)


def test_nul_and_lone_surrogates_of_a_model_are_stored_as_replacement(fence: Fence) -> None:
    new = NewCall("c", "id\x00", "n\ud83d", "na\x00me", 0, '{"code": "\x00\ud83d"}', None, False)
    row = recorded(fence, new).calls[0]
    row.refresh_from_db()
    assert (row.tool_call_id, row.native_id, row.name) == ("id\ufffd", "n\ufffd", "na\ufffdme")
    assert row.arguments_text == '{"code": "\ufffd\ufffd"}'


def test_an_escaped_nul_inside_arguments_is_kept(fence: Fence) -> None:
    value = {"code": "a\x00b"}
    new = NewCall("c", "id", "id", "python", 0, json.dumps(value), value, True)
    row = recorded(fence, new).calls[0]
    entry = Entry.objects.get(tool_call=row, kind="tool_call")
    assert entry.content[0]["value"] == value


def test_a_result_with_full_output_and_an_image_is_stored_with_its_parts(fence: Fence) -> None:
    pk = recorded(fence, call()).calls[0].id
    calls.start_call(fence, pk)
    image = calls.NewArtifact(uuid4(), "plot.png", "image/png", b"\x89PNG", 3, 2)
    result = calls.CallResult("ok", '{"status":"ok"}', "x" * 100_000, (image,), 12)
    ended = calls.finish_call(fence, pk, result)
    assert ended.arguments == {"code": "1"}
    assert [part["kind"] for part in ended.entry.content] == ["json", "image", "reference"]
    assert read_text(ended.entry.id, "output") == "x" * 100_000
    assert bytes(Artifact.objects.get().data) == b"\x89PNG"
    assert ToolCall.objects.get().duration_ms == 12


@pytest.mark.parametrize(
    ("state", "started"), [("interrupted", False), ("interrupted", True), ("lost", True)]
)
def test_what_the_model_is_told_of_a_call_without_a_result_is_true(state: str, started: bool) -> None:
    told = json.loads(calls.untold_text(state, started=started))
    assert told["status"] == state
    assert told["error"]["name"] == state.title()
    assert ("did not run" in told["error"]["message"]) != started


def test_a_call_that_ran_when_its_run_failed_is_not_said_to_have_not_run(fence: Fence) -> None:
    rows = recorded(fence, call(0), call(1)).calls
    calls.start_call(fence, rows[0].id)
    ended = runs.finish_run(fence, rows[0].run_id, runs.RunEnd("failed")).calls
    assert ["did not run" in item.call.result_text for item in ended] == [False, True]


def test_an_end_whose_answer_got_lost_is_told_again_and_stored_once(fence: Fence) -> None:
    pk = recorded(fence, call()).calls[0].id
    calls.start_call(fence, pk)
    first = calls.finish_call(fence, pk, calls.CallResult("ok", "done"))
    again = calls.finish_call(fence, pk, calls.CallResult("ok", "done"))
    assert again == first
    assert Entry.objects.filter(kind="tool_result").count() == 1


def test_a_step_whose_answer_got_lost_is_told_again_and_stored_once(fence: Fence) -> None:
    taken = runs.start_run(fence)
    assert taken is not None
    facts = step(taken.run.id, call(1), call(0), text="said", thinking="thought")
    first, again = record_step(fence, facts), record_step(fence, facts)
    assert again == first
    assert [row.call_id for row in again.calls] == ["c-1", "c-0"]
    assert Entry.objects.count() == 5


@pytest.mark.parametrize("limit", [4, 5, 7, 100])
def test_pieces_are_whole_characters_in_order(limit: int) -> None:
    text = "aé€😀" * 20
    cut = list(pieces(text, limit))
    assert "".join(data.decode() for _, data in cut) == text
    offset = 0
    for at, data in cut:
        assert at == offset
        assert 0 < len(data) <= limit
        offset += len(data)


def test_entries_of_two_runs_do_not_share_a_call_id(fence: Fence) -> None:
    row = recorded(fence, call()).calls[0]
    assert isinstance(row.id, UUID)
    assert ToolCall.objects.filter(call_id="c-0").count() == 1
