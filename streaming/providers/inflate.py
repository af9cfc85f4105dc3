"""Undoes a response's content encoding piece by piece, so that a small body cannot become a huge one at once.

Pure. What it cannot undo, and what ends too early, is a TransportError.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from streaming.providers.errors import TransportError

# One network read of 64 KiB may inflate a thousandfold; the tap counts after each piece.
PIECE_BYTES = 256 * 1024
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class Inflater:
    """`for_encoding` gives the one for a `content-encoding` value; plain bytes pass as they are."""

    def __init__(self, decompressor: zlib._Decompress | None) -> None:
        self._decompressor = decompressor
        self._fed = False

    @classmethod
    def for_encoding(cls, encoding: str) -> Inflater:
        name = encoding.strip().lower()
        if name in ("", "identity"):
            return cls(None)
        if name in ("gzip", "x-gzip", "deflate"):
            return cls(zlib.decompressobj(_GZIP_OR_ZLIB))
        raise TransportError("unsupported_encoding", "the answer is in an unknown encoding", retryable=False)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decoded bytes, lazily: at most PIECE_BYTES are made at a time."""
        if self._decompressor is None:
            if data:
                yield data
            return
        self._fed = self._fed or bool(data)
        while data:
            try:
                piece = self._decompressor.decompress(data, PIECE_BYTES)
            except zlib.error:
                raise TransportError(
                    "damaged_encoding", "the answer's compression is damaged", retryable=True
                ) from None
            data = self._decompressor.unconsumed_tail
            if piece:
                yield piece

    def finish(self) -> None:
        """The body has ended; raises where the compressed data has not."""
        if self._decompressor is not None and self._fed and not self._decompressor.eof:
            raise TransportError("connection_broken", "the answer broke off", retryable=True)
