"""Parts of an answer and how they are cut."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.scripted_parts import Answer, Call, Say, pieces, sse


@settings(max_examples=50)
@given(st.text(), st.integers(0, 20))
def test_pieces_are_the_whole(text: str, size: int) -> None:
    cut = list(pieces(text, size))
    assert "".join(cut) == text
    assert all(cut)
    assert size == 0 or all(len(piece) <= size for piece in cut)


def test_arguments_are_text_or_a_mapping() -> None:
    assert Call("t", '{"broken').text == '{"broken'
    assert json.loads(Call("t", {"a": "ü"}).text) == {"a": "ü"}


def test_an_answer_knows_its_calls_in_order() -> None:
    first, second = Call("a", "{}"), Call("b", "{}")
    assert Answer([first, Say("x"), second]).calls == [first, second]


def test_an_event_is_one_line_of_data() -> None:
    assert sse({"a": "x\ny"}, "n") == b'event: n\ndata: {"a":"x\\ny"}\n\n'
    assert sse("[DONE]") == b"data: [DONE]\n\n"
