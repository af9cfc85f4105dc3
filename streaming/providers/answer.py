"""The text, thinking and echoes of one response, told as they grow and bounded together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streaming.limits import WireLimits
from streaming.providers.events import StepEvent, TextDelta, ThinkingDelta
from streaming.providers.provider_json import BadJson, dump, parse
from streaming.providers.surrogates import SurrogateJoiner
from streaming.providers.wire_errors import damaged, over_limit


class Answer:
    """Every text that goes in has gone out as an event, save a surrogate half that waits for its other."""

    def __init__(self, emit: Callable[[StepEvent], None], limits: WireLimits) -> None:
        self._emit = emit
        self._room = limits.text_chars
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._text_joiner = SurrogateJoiner()
        self._thinking_joiner = SurrogateJoiner()
        self.refusal = False

    def add_text(self, fragment: str) -> None:
        if fragment := self._text_joiner.feed(fragment):
            self._keep(self._text, fragment)
            self._emit(TextDelta(fragment))

    def add_thinking(self, fragment: str) -> None:
        if fragment := self._thinking_joiner.feed(fragment):
            self._keep(self._thinking, fragment)
            self._emit(ThinkingDelta(fragment))

    def separate_thinking(self) -> None:
        """A blank line between two thoughts, where there was one before."""
        if self._thinking:
            self.add_thinking("\n\n")

    def keep_echo(self, value: Any) -> Any:
        """A clean copy of what a vendor wants back; it is held as long as the text, so counted with it."""
        try:
            text = dump(value)
            self._spend(len(text))
            return parse(text)
        except BadJson:
            raise damaged() from None

    def flush(self) -> None:
        """Let go of halves whose other half never came."""
        for joiner, add in (
            (self._text_joiner, self.add_text),
            (self._thinking_joiner, self.add_thinking),
        ):
            if held := joiner.flush():
                add(held)

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def thinking(self) -> str:
        return "".join(self._thinking)

    def _keep(self, pieces: list[str], fragment: str) -> None:
        self._spend(len(fragment))
        pieces.append(fragment)

    def _spend(self, chars: int) -> None:
        self._room -= chars
        if self._room < 0:
            raise over_limit("characters of text")
