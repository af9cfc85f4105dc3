"""Scripted answers in Responses form."""

from __future__ import annotations

import json
from typing import Any

from streaming.providers.scripted_parts import Answer, Call, Say, Think
from streaming.providers.scripted_responses import responses_frames, responses_object

ANSWER = Answer([Think("hm"), Say("text", 2), Call("a", {"k": 1}, "c1", 3), Call("b", {}, "c2")])


def events(answer: Answer) -> list[dict[str, Any]]:
    found = []
    for frame in responses_frames(answer):
        name, data, *_ = frame.decode().split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


def test_events_are_numbered_and_end_in_the_whole_response() -> None:
    told = events(ANSWER)
    assert [event["sequence_number"] for event in told] == list(range(1, len(told) + 1))
    assert told[-1]["type"] == "response.completed"
    assert told[-1]["response"] == responses_object(ANSWER)


def test_every_item_is_added_and_done_as_it_stands_in_the_output() -> None:
    told = events(ANSWER)
    added = [e["output_index"] for e in told if e["type"] == "response.output_item.added"]
    done = [e["item"] for e in told if e["type"] == "response.output_item.done"]
    assert added == [0, 1, 2, 3]
    assert done == told[-1]["response"]["output"]


def test_deltas_add_up_to_what_is_done() -> None:
    told = events(ANSWER)
    for index in (2, 3):
        mine = [event for event in told if event.get("output_index") == index]
        deltas = "".join(e["delta"] for e in mine if e["type"].endswith("arguments.delta"))
        (done,) = [e["arguments"] for e in mine if e["type"].endswith("arguments.done")]
        assert deltas == done


def test_an_answer_cut_short_is_incomplete() -> None:
    last = events(Answer([Say("x")], finish="length", usage=None))[-1]
    assert last["type"] == "response.incomplete"
    assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    assert "usage" not in last["response"]
