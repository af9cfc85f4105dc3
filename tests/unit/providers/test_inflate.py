"""Content encodings, piece by piece."""

from __future__ import annotations

import gzip
import zlib

import pytest

from streaming.providers.errors import TransportError
from streaming.providers.inflate import PIECE_BYTES, Inflater

DATA = b"data: hello\n\n" * 1_000


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "GZIP", "deflate"])
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_any_cut_gives_the_same_bytes(encoding: str, size: int) -> None:
    body = zlib.compress(DATA) if encoding == "deflate" else gzip.compress(DATA)
    inflater = Inflater.for_encoding(encoding)
    out = b"".join(
        piece for start in range(0, len(body), size) for piece in inflater.feed(body[start : start + size])
    )
    inflater.finish()
    assert out == DATA


@pytest.mark.parametrize("encoding", ["", "identity"])
def test_plain_bytes_pass(encoding: str) -> None:
    assert list(Inflater.for_encoding(encoding).feed(DATA)) == [DATA]


def test_a_bomb_comes_in_bounded_pieces() -> None:
    inflater = Inflater.for_encoding("gzip")
    pieces = inflater.feed(gzip.compress(bytes(64 * 1024 * 1024)))
    assert all(len(next(pieces)) <= PIECE_BYTES for _ in range(5))


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, br"])
def test_an_unknown_encoding_is_final(encoding: str) -> None:
    with pytest.raises(TransportError) as caught:
        Inflater.for_encoding(encoding)
    assert not caught.value.retryable


def test_damage_and_an_early_end_are_transient() -> None:
    inflater = Inflater.for_encoding("gzip")
    with pytest.raises(TransportError) as damaged:
        list(inflater.feed(b"no gzip at all"))
    cut = Inflater.for_encoding("gzip")
    list(cut.feed(gzip.compress(DATA)[:-9]))
    with pytest.raises(TransportError) as early:
        cut.finish()
    assert damaged.value.retryable
    assert early.value.retryable


def test_an_empty_body_needs_no_end_of_compression() -> None:
    Inflater.for_encoding("gzip").finish()
