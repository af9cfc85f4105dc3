"""Event streams cut anywhere, with every line end, and within their bounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.limits import WireLimits
from streaming.providers.errors import WireError
from streaming.providers.sse import SseDecoder, SseEvent
from tests.support.decoding import each_byte, two_pieces


def events_of(*pieces: bytes, limits: WireLimits | None = None) -> list[SseEvent]:
    decoder = SseDecoder(limits or WireLimits())
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return events + decoder.feed_eof()


def data_of(*pieces: bytes) -> list[str]:
    return [event.data for event in events_of(*pieces)]


STREAMS = {
    "lf": (b"data: a\n\ndata: b\n\n", ["a", "b"]),
    "crlf": (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
    "cr": (b"data: a\r\rdata: b\r\r", ["a", "b"]),
    "mixed": (b"data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", ["a", "b", "c"]),
    "two data lines": (b"data: a\ndata: b\n\n", ["a\nb"]),
    "two data lines, crlf": (b"data: a\r\ndata: b\r\n\r\n", ["a\nb"]),
    "no space": (b"data:a\n\n", ["a"]),
    "two spaces": (b"data:  a\n\n", [" a"]),
    "bom": (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
    "comments": (b": hello\n\ndata: a\n:\ndata: b\n\n", ["a\nb"]),
    "no last newlines": (b"data: a\n\ndata: b", ["a", "b"]),
    "no last blank line": (b"data: a\n\ndata: b\n", ["a", "b"]),
    "empty data": (b"data:\n\ndata: a\n\ndata\n\n", ["a"]),
    "other fields": (b"id: 1\nretry: 5\ndata: a\nfoo: b\nbar\n\n", ["a"]),
    "unicode line separators": (
        "data: a\u2028b\u2029c\x85d\x0be\n\n".encode(),
        ["a\u2028b\u2029c\x85d\x0be"],
    ),
    "utf-8": ("data: é😀\n\n".encode(), ["é😀"]),
    "invalid utf-8": (b"data: a\xffb\n\n", ["a\ufffdb"]),
    "glued objects": (b'data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n', ['{"a":1}', '{"b":2}', "[DONE]"]),
    "an object over two lines": (b'data: {"a":{},\ndata: "b":{}}\n\n', ['{"a":{},\n"b":{}}']),
    "two lines that look whole": (b'data: {"a":{"b":1}\ndata: ,"c":{}}\n\n', ['{"a":{"b":1}\n,"c":{}}']),
    "done without a blank line": (b"data: [DONE]\n", ["[DONE]"]),
}


@pytest.mark.parametrize(("data", "expected"), STREAMS.values(), ids=STREAMS.keys())
def test_a_stream_gives_its_events_however_it_is_cut(data: bytes, expected: list[str]) -> None:
    assert data_of(data) == expected
    assert data_of(*each_byte(data)) == expected
    for pieces in two_pieces(data):
        assert data_of(*pieces) == expected
        assert data_of(b"", pieces[0], b"", pieces[1], b"") == expected


def test_names_belong_to_the_data_behind_them() -> None:
    assert events_of(b"event: a\ndata: 1\n\ndata: 2\n\nevent: c\n\ndata: 3\n\n") == [
        SseEvent("a", "1"),
        SseEvent("", "2"),
        SseEvent("", "3"),
    ]


def test_a_name_behind_its_data_counts_where_the_event_ends_there() -> None:
    assert events_of(b"data: 1\nevent: a\n\n") == [SseEvent("a", "1")]


def test_names_of_glued_events_stay_with_their_data() -> None:
    glued = b'event: a\ndata: {"n":1}\nevent: b\ndata: {"n":2}\n\n'
    assert events_of(glued) == [SseEvent("a", '{"n":1}'), SseEvent("b", '{"n":2}')]


def test_done_is_told_without_waiting_for_a_blank_line() -> None:
    assert SseDecoder(WireLimits()).feed(b"data: [DONE]\n") == [SseEvent("", "[DONE]")]


def test_an_event_ends_with_the_cr_of_its_blank_line() -> None:
    decoder = SseDecoder(WireLimits())
    assert decoder.feed(b"data: a\r\n\r") == [SseEvent("", "a")]
    assert decoder.feed(b"\ndata: b\r\r") == [SseEvent("", "b")]


def test_comments_are_counted_and_are_no_events() -> None:
    decoder = SseDecoder(WireLimits())
    assert decoder.feed(b": one\n: two\n\n") == []
    assert decoder.comments == 2


def test_an_error_field_and_a_bare_object_are_told_apart_from_data() -> None:
    assert events_of(b'error: {"code":500}\n\n{"error":1}\n') == [
        SseEvent("error", '{"code":500}'),
        SseEvent("", '{"error":1}', stray=True),
    ]


@pytest.mark.parametrize("ended", [b"", b"\n"])
def test_a_line_over_its_limit_is_an_error_before_it_ends(ended: bytes) -> None:
    limits = WireLimits(line_bytes=10)
    assert events_of(b"data: 1234" + ended, limits=limits) == [SseEvent("", "1234")]
    with pytest.raises(WireError):
        events_of(b"data: 12345" + ended, limits=limits)
    with pytest.raises(WireError):
        SseDecoder(limits).feed(b"data: 12345")


def test_an_event_over_its_limit_is_an_error() -> None:
    limits = WireLimits(event_bytes=4)
    assert events_of(b"data: 12\ndata: 34\n\ndata: 5678\n\n", limits=limits)[0].data == "12\n34"
    with pytest.raises(WireError):
        events_of(b"data: 12\ndata: 345\n\n", limits=limits)


class CountedBytes(bytes):
    """Bytes that tell how often they were searched for a line end."""

    splits = 0

    def split(self, *args: object, **more: object) -> list[bytes]:
        CountedBytes.splits += 1
        return bytes(self).split(b"\n")


def test_a_long_line_in_many_reads_is_searched_once() -> None:
    decoder = SseDecoder(WireLimits())
    CountedBytes.splits = 0
    for _ in range(1_000):
        assert decoder.feed(CountedBytes(b"x" * 100)) == []
    assert CountedBytes.splits == 1_000


texts = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1).filter(
    lambda text: text.strip()
)


@settings(max_examples=100)
@given(
    st.lists(st.lists(texts, min_size=1, max_size=3), max_size=4),
    st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), min_size=1),
    st.lists(st.integers(1, 40), min_size=1),
)
def test_written_events_are_read_with_any_line_ends_and_cuts(
    blocks: list[list[str]], ends: list[bytes], sizes: list[int]
) -> None:
    lines = [line for block in blocks for line in (*(f"data: {text}".encode() for text in block), b"")]
    data = b"".join(line + ends[at % len(ends)] for at, line in enumerate(lines))
    pieces: list[bytes] = []
    at = 0
    while at < len(data):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(data[at : at + size])
        at += size
    # A block that is `{}` or `[DONE]` behind another line is an event of its own; no such text is drawn here.
    plain = not any(text in ("[DONE]",) or text.startswith("{") for block in blocks for text in block)
    if plain and not _crosses(lines, ends):
        assert data_of(*pieces) == ["\n".join(block) for block in blocks]


def _crosses(lines: list[bytes], ends: list[bytes]) -> bool:
    """An empty line whose LF follows a CR is no line of its own."""
    used = [ends[at % len(ends)] for at in range(len(lines))]
    return any(used[at - 1] == b"\r" and not lines[at] and used[at] == b"\n" for at in range(1, len(lines)))


@settings(max_examples=150)
@given(st.lists(st.binary(max_size=30), max_size=8))
def test_arbitrary_bytes_give_events_and_no_foreign_error(pieces: list[bytes]) -> None:
    assert events_of(*pieces) == events_of(b"".join(pieces))
