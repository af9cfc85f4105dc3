"""Frames to messages and back, and what hostile frames come to."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streaming.kernel.wire import DELIMITER, Message, decode, encode

KEY = b"key"


def answering(parent_id: str) -> Any:
    return lambda found: found == parent_id


def signed(*parts: bytes, key: bytes = KEY) -> list[bytes]:
    mac = hmac.new(key, b"".join(parts), hashlib.sha256)
    return [b"topic", DELIMITER, mac.hexdigest().encode(), *parts]


def answer(content: bytes, key: bytes = KEY) -> list[bytes]:
    return signed(b'{"msg_type":"stream"}', b'{"msg_id":"p"}', b"{}", content, key=key)


def test_what_is_encoded_is_read_again() -> None:
    frames = encode(KEY, "kernel_info_request", "m", {"code": "é \ud800"})
    message = decode(KEY, frames, lambda parent: True)
    assert message == Message("kernel_info_request", "", {"code": "é \ud800"})


def test_an_answer_that_is_waited_for_is_given() -> None:
    message = decode(KEY, answer(b'{"text":"a"}'), answering("p"))
    assert message == Message("stream", "p", {"text": "a"})


def test_an_answer_to_somebody_else_is_passed_over() -> None:
    assert decode(KEY, answer(b'{"text":"a"}'), answering("q")) is None


def test_a_wrong_signature_is_passed_over() -> None:
    assert decode(KEY, answer(b"{}", key=b"other"), answering("p")) is None


def test_bytes_that_are_no_utf8_are_shown_not_lost() -> None:
    message = decode(KEY, answer(b'{"text":"a\xff\xed\xa0\x80"}'), answering("p"))
    assert message is not None
    assert message.content["text"].startswith("a\ufffd")


def test_json_that_is_broken_or_too_deep_carries_nothing() -> None:
    for content in (b"{", b"[1]", b"null", b"[" * 200_000, b'{"a":' * 200_000):
        message = decode(KEY, answer(content), answering("p"))
        assert message is not None
        assert message.content == {}


@given(st.lists(st.binary(max_size=20), max_size=8))
def test_no_frames_raise(frames: list[bytes]) -> None:
    assert decode(KEY, frames, lambda parent: True) is None
    assert decode(KEY, [DELIMITER, *frames], lambda parent: True) is None


@given(st.tuples(*[st.sampled_from([b"", b"1", b"[]", b"{}", b'{"msg_id":1}', b'{"msg_type":[]}'])] * 4))
def test_no_signed_parts_raise(parts: tuple[bytes, ...]) -> None:
    message = decode(KEY, signed(*parts), lambda parent: True)
    assert message is not None
    assert isinstance(message.kind, str)
