"""A model that goes on writing numbered words, so that any piece of its text can be told from any other."""

from __future__ import annotations

from streaming.providers.scripted import Reply
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Say
from streaming.providers.scripted_signal import Signal

WORD_CHARS = 8
WORDS = 200_000


class EndlessModel:
    """About a thousand words a second, until `stop` is set; a script for chat completions."""

    def __init__(self, pace_seconds: float = 0.001) -> None:
        self.stop = Signal()
        self._pace_seconds = pace_seconds

    async def __call__(self, request: ScriptedRequest, out: Out) -> None:
        ending = list(Reply(Say("x")).frames(request.protocol))[-3:]
        for frame in Reply(Say(words(0, WORDS), WORD_CHARS)).frames(request.protocol):
            await out.write(frame)
            await out.sleep(self._pace_seconds)
            if self.stop.is_set():
                break
        for frame in ending:
            await out.write(frame)


def words(first: int, last: int) -> str:
    return "".join(f"{number:07} " for number in range(first, last))


def piece(start: int, end: int) -> str:
    """The characters from `start` to `end` of all that is written."""
    first = start // WORD_CHARS
    return words(first, end // WORD_CHARS + 1)[start - first * WORD_CHARS : end - first * WORD_CHARS]
