"""Sizes from the first bytes of an image, and no surprise from other bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.kernel.images import READERS, image_size

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
JPEG = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x11\x08" + struct.pack(">HH", 480, 640)
VP8X = b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
VP8L = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + (639 | 479 << 14).to_bytes(4, "little")
VP8 = b"RIFF\0\0\0\0WEBPVP8 " + bytes(7) + b"\x9d\x01\x2a" + struct.pack("<HH", 640, 480)


@pytest.mark.parametrize(
    ("mime_type", "data"),
    [
        ("image/png", PNG),
        ("image/gif", GIF),
        ("image/jpeg", JPEG),
        ("image/webp", VP8X),
        ("image/webp", VP8L),
        ("image/webp", VP8),
    ],
)
def test_the_size_is_read(mime_type: str, data: bytes) -> None:
    assert image_size(mime_type, data) == (640, 480)
    for end in range(len(data)):
        assert image_size(mime_type, data[:end]) is None
    others = set(READERS) - {mime_type}
    assert [image_size(other, data) for other in others] == [None] * len(others)


@given(
    st.sampled_from(sorted(READERS)),
    st.sampled_from([b"", PNG, GIF, JPEG, VP8X[:16]]),
    st.binary(max_size=60),
)
def test_no_bytes_raise(mime_type: str, start: bytes, rest: bytes) -> None:
    image_size(mime_type, start + rest)
