from __future__ import annotations

from django.contrib.auth.models import User

from sessions_app.models import Entry, Input, Run, Session
from sessions_app.render import PREVIEW_SCALARS, render_input
from sessions_app.store import calls, conversation, runs
from sessions_app.store.steps import record_step
from tests.support.store import accepted, call, claimed, step


def test_inputs_are_taken_in_order_each_by_a_run_of_its_own(session: Session, alice: User) -> None:
    fence = claimed(session).fence
    uids = [accepted(session, alice, text) for text in ("one", "two", "three")]
    answered = []
    while (taken := runs.start_run(fence)) is not None:
        answered += [item.uid for item in taken.inputs]
        runs.finish_run(fence, taken.run.id, runs.RunEnd("completed"))
    assert answered == uids
    texts = [entry.content[0]["text"] for entry in Entry.objects.order_by("position")]
    assert texts == ["one", "two", "three"]
    assert set(Input.objects.values_list("state", flat=True)) == {"committed"}


def test_a_steering_input_joins_only_where_it_is_next(session: Session, alice: User) -> None:
    fence = claimed(session).fence
    accepted(session, alice, "first")
    taken = runs.start_run(fence)
    assert taken is not None
    accepted(session, alice, "steer", "steer")
    accepted(session, alice, "queued")
    accepted(session, alice, "late steer", "steer")
    joined = runs.take_steers(fence, taken.run.id, taken.inputs[-1].order)
    assert joined is not None
    assert [item.text for item in joined.inputs] == ["steer"]
    assert runs.take_steers(fence, taken.run.id, joined.inputs[-1].order) is None


def test_steering_whose_answer_got_lost_is_told_again_and_joins_once(session: Session, alice: User) -> None:
    fence = claimed(session).fence
    accepted(session, alice, "first")
    taken = runs.start_run(fence)
    assert taken is not None
    accepted(session, alice, "one", "steer")
    accepted(session, alice, "two", "steer")
    known = taken.inputs[-1].order
    joined, again = runs.take_steers(fence, taken.run.id, known), runs.take_steers(fence, taken.run.id, known)
    assert again == joined
    assert again is not None
    assert [entry.content[0]["text"] for entry in again.entries] == ["one", "two"]
    assert Entry.objects.count() == 3


def test_a_run_ends_once_and_ends_what_it_left_open(session: Session, alice: User) -> None:
    fence = claimed(session).fence
    uid = accepted(session, alice)
    taken = runs.start_run(fence)
    assert taken is not None
    record_step(fence, step(taken.run.id, call(0), call(1)))
    ended = runs.finish_run(fence, taken.run.id, runs.RunEnd("interrupted"))
    assert [item.call.state for item in ended.calls] == ["interrupted", "interrupted"]
    assert ended.input_uids == [uid]
    again = runs.finish_run(fence, taken.run.id, runs.RunEnd("completed"))
    assert (again.run.state, again.calls, again.input_uids) == ("interrupted", [], [uid])
    assert Run.objects.get().state == "interrupted"


def test_a_start_whose_answer_got_lost_is_told_again_and_takes_nothing_more(
    session: Session, alice: User
) -> None:
    fence = claimed(session).fence
    accepted(session, alice, "one")
    accepted(session, alice, "two")
    first, again = runs.start_run(fence), runs.start_run(fence)
    assert again == first
    assert again is not None
    assert [item.text for item in again.inputs] == ["one"]
    assert Input.objects.filter(state="pending").count() == 1


def test_positions_have_no_gaps_and_never_repeat(session: Session, alice: User) -> None:
    fence = claimed(session).fence
    for number in range(3):
        accepted(session, alice, str(number))
        taken = runs.start_run(fence)
        assert taken is not None
        prefix = f"r{number}"
        recorded = record_step(
            fence, step(taken.run.id, call(0, call_id=prefix), text="said", thinking="thought")
        )
        calls.start_call(fence, recorded.calls[0].id)
        calls.finish_call(fence, recorded.calls[0].id, calls.CallResult("ok", "done"))
        runs.finish_run(fence, taken.run.id, runs.RunEnd("completed"))
    positions = list(Entry.objects.order_by("position").values_list("position", flat=True))
    assert positions == list(range(1, 16))
    session.refresh_from_db()
    assert session.head_position == 15


def test_usage_adds_up_and_what_is_unknown_stays_unknown(session: Session, alice: User) -> None:
    fence = claimed(session).fence
    for _ in range(2):
        accepted(session, alice)
        taken = runs.start_run(fence)
        assert taken is not None
        record_step(fence, step(taken.run.id, text="x"))
        runs.finish_run(fence, taken.run.id, runs.RunEnd("completed"))
    session.refresh_from_db()
    assert session.usage["input_tokens"] == 10
    assert session.usage["output_tokens"] is None
    assert session.usage["source"] == "reported"


def test_the_conversation_is_read_whole_in_few_queries(
    session: Session, alice: User, django_assert_num_queries: object
) -> None:
    fence = claimed(session).fence
    long_text, long_code = "ä" * 200_000, '{"code":"' + "é" * 100_000 + '"}'
    accepted(session, alice, long_text)
    taken = runs.start_run(fence)
    assert taken is not None
    recorded = record_step(fence, step(taken.run.id, call(0, long_code), text="said"))
    calls.start_call(fence, recorded.calls[0].id)
    result = calls.CallResult("ok", "r" * 70_000, output="o" * 90_000)
    calls.finish_call(fence, recorded.calls[0].id, result)
    with django_assert_num_queries(2):  # type: ignore[operator]
        items = conversation.load_conversation(session.id)
    assert [(item.kind, item.text) for item in items] == [
        ("user", long_text),
        ("assistant", "said"),
        ("tool_call", long_code),
        ("tool_result", "r" * 70_000),
    ]


def test_what_waits_is_read_without_the_length_of_its_texts(session: Session, alice: User) -> None:
    texts = ["ä" * PREVIEW_SCALARS, "😀" * 100_000]
    for text in texts:
        accepted(session, alice, text)
    waiting = runs.pending_inputs(session.id)
    assert max(len(item.text) for item in waiting) == PREVIEW_SCALARS + 1
    shown = [render_input(item, PREVIEW_SCALARS) for item in waiting]
    whole = [render_input(item, PREVIEW_SCALARS) for item in Input.objects.order_by("order")]
    assert shown == whole
    assert [item["text_complete"] for item in shown] == [True, False]


def test_a_run_takes_the_whole_text(session: Session, alice: User) -> None:
    fence = claimed(session).fence
    accepted(session, alice, "x" * 5_000)
    taken = runs.start_run(fence)
    assert taken is not None
    assert taken.entries[0].content[0]["text"] == "x" * 5_000
    assert Input.objects.get().text == "x" * 5_000
