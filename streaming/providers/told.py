"""What was already told of a text, so that a statement of all of it tells only what is new."""

from __future__ import annotations


class Told:
    """Pieces in order. Each question costs no more than the text that it asks about."""

    __slots__ = ("_pieces", "chars")

    def __init__(self) -> None:
        self.chars = 0
        self._pieces: list[str] = []

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self.chars += len(text)

    def untold(self, whole: str) -> str | None:
        """What `whole` adds to what was told; None where it is no continuation of that."""
        if len(whole) < self.chars:
            return None
        self._pieces = ["".join(self._pieces)]
        return whole[self.chars :] if whole.startswith(self._pieces[0]) else None

    def ends_with(self, text: str) -> bool:
        tail: list[str] = []
        missing = len(text)
        for piece in reversed(self._pieces):
            if missing <= 0:
                break
            tail.append(piece)
            missing -= len(piece)
        return "".join(reversed(tail)).endswith(text)
