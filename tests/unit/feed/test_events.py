from __future__ import annotations

import json

import pytest

from streaming.feed.events import EVENT_FIELDS, Event, encode, encode_event, problems
from tests.unit.feed.samples import STORY


def test_the_story_has_every_event_type_but_reset() -> None:
    assert {event.type for event in STORY} == EVENT_FIELDS.keys() - {"reset"}


@pytest.mark.parametrize("event", STORY, ids=lambda event: event.type)
def test_a_sample_keeps_the_schema_and_each_field_taken_away_breaks_it(event: Event) -> None:
    wire = json.loads(encode_event(event, 1))
    assert problems(wire) == []
    for name in EVENT_FIELDS[event.type]:
        lacking = {key: value for key, value in wire["data"].items() if key != name}
        assert problems({**wire, "data": lacking})


def test_a_reset_has_no_sequence_and_every_other_event_has_one() -> None:
    assert problems(json.loads(encode_event(Event("reset", {"reason": "initial"}), None))) == []
    assert problems({"type": "reset", "sequence": 1, "data": {"reason": "initial"}})
    assert problems({"type": "note", "data": {"code": "a", "text": "b"}})


def test_an_unknown_type_is_a_problem() -> None:
    assert problems({"type": "argument_delta", "sequence": 1, "data": {}})


def test_encoding_is_compact_and_keeps_characters() -> None:
    assert encode({"a": ["é", "😀"]}) == '{"a":["é","😀"]}'


def test_a_lone_surrogate_is_shown_as_the_replacement_character() -> None:
    assert encode({"a": "x\ud83dy"}) == '{"a":"x\ufffdy"}'
    encode({"a": "x\ud83dy"}).encode()


def test_an_integer_beyond_64_bits_is_encoded_exactly() -> None:
    assert json.loads(encode({"n": 10**40})) == {"n": 10**40}


def test_deep_nesting_is_encoded_or_refused_by_name() -> None:
    deep: object = 1
    for _ in range(400):
        deep = [deep]
    assert encode(deep).startswith("[[[")
    with pytest.raises(ValueError, match="not encodable"):
        encode({"a": object()})
