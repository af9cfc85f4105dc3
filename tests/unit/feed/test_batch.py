from __future__ import annotations

import json

from streaming.feed import batch
from streaming.feed.events import Event, encode_event
from streaming.feed.window import Window


def test_a_batch_is_the_envelope_of_its_events_with_each_text_as_encoded() -> None:
    window = Window(10, 10_000)
    held = [window.append(Event("note", {"code": "n", "text": word})) for word in ("é", "b")]
    sent = batch.batch("1-a", held)
    assert (sent.generation, sent.first, sent.last) == ("1-a", 1, 2)
    assert all(item.text in sent.text for item in held)
    assert json.loads(sent.text) == {
        "generation": "1-a",
        "cursor": 2,
        "events": [json.loads(item.text) for item in held],
        "more": False,
    }


def test_attach_and_snapshot_stand_in_the_envelope_where_given() -> None:
    reset = encode_event(Event("reset", {"reason": "initial"}), None)
    text = batch.envelope("1-a", 7, [reset], more=True, attach={"verdict": "reset"}, snapshot={"id": "s"})
    assert json.loads(text) == {
        "generation": "1-a",
        "cursor": 7,
        "events": [{"type": "reset", "data": {"reason": "initial"}}],
        "more": True,
        "attach": {"verdict": "reset"},
        "snapshot": {"id": "s"},
    }


def test_a_keepalive_is_an_empty_envelope_at_the_same_cursor() -> None:
    assert json.loads(batch.keepalive("1-a", 7)) == {
        "generation": "1-a",
        "cursor": 7,
        "events": [],
        "more": False,
    }


def test_the_layer_message_is_flat() -> None:
    carried = batch.message("s", batch.hello("1-a"))
    assert all(isinstance(value, (str, int)) for value in carried.values())
    assert (carried["first"], carried["last"], carried["text"]) == (0, 0, "")
