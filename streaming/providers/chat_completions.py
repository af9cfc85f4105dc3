"""Chat Completions: from parsed chunks to step events. Sans-io; frames and errors of bytes are not its work.

Its `thinking_echo` holds at most one mapping, `text_echo` another: fields to be merged into the
assistant message that goes back. `AssembledCall.echo` is merged into that call's entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from streaming.limits import WireLimits
from streaming.providers.answer import Answer
from streaming.providers.call_drafts import CallDrafts
from streaming.providers.chat_completions_calls import CallRouter
from streaming.providers.chat_completions_content import (
    DetailLists,
    content_pieces,
    read_details,
    read_thought,
)
from streaming.providers.chat_completions_finish import ending_of, error_of
from streaming.providers.chat_completions_fragments import (
    read_echo,
    read_fragments,
    read_legacy_fragment,
)
from streaming.providers.classify import classify_error_object
from streaming.providers.error_reading import is_error
from streaming.providers.events import Completed, StepEvent, UsageReported
from streaming.providers.response_end import conclude
from streaming.providers.surrogates import mend
from streaming.providers.think_tags import Piece, ThinkSplitter
from streaming.providers.told import Told
from streaming.providers.types import Usage
from streaming.providers.usage import merge_usage, read_usage
from streaming.providers.wire_errors import ended_early


class ChatCompletionsReader:
    """`on_object` for each chunk or whole body, then `on_done` or `on_eof`. Events gather in `events`."""

    # This protocol announces no end of a call's arguments.
    arguments_done: Mapping[int, int] = MappingProxyType({})

    def __init__(
        self,
        limits: WireLimits,
        argument_limits: Mapping[str, int],
        known_tools: frozenset[str],
        secrets: tuple[str, ...],
    ) -> None:
        self.events: list[StepEvent] = []
        self.finished = False
        self._secrets = secrets
        self._answer = Answer(self._emit, limits)
        self._drafts = CallDrafts(self._emit, limits, argument_limits, known_tools)
        self._router = CallRouter(self._drafts, self._answer.keep_echo)
        self._splitter = ThinkSplitter()
        self._details = DetailLists()
        self._content = Told()
        self._thinking_field = ""
        self._field_thinking: list[str] = []
        self._message_echo: dict[str, Any] = {}
        self._finish = ""
        self._usage = Usage()

    @property
    def ending(self) -> bool:
        """A finish reason came. Late chunks may follow, but the end of the transport now is an end."""
        return bool(self._finish)

    def on_object(self, event_name: str, chunk: Mapping[str, Any]) -> None:
        if is_error(chunk, event_name):
            raise classify_error_object(chunk, secrets=self._secrets)
        choices = chunk.get("choices")
        # Only one choice is ever asked for: several are parts of it, not alternatives.
        for position, choice in enumerate(choices if isinstance(choices, list) else []):
            if isinstance(choice, dict):
                self._choice(choice, position)
        groq = chunk.get("x_groq")
        self._read_usage(chunk.get("usage") or (groq.get("usage") if isinstance(groq, dict) else None))

    def on_done(self) -> None:
        """`[DONE]` ends a response, with a finish reason before it or without."""
        self._complete()

    def on_eof(self) -> None:
        if not self._finish:
            raise ended_early()
        self._complete()

    def on_body(self, body: Mapping[str, Any]) -> None:
        """A whole `chat.completion` in place of a stream: its finish reason may be left out."""
        self.on_object("", body)
        if not self.finished and (self._finish or body.get("choices")):
            self._complete()

    def _emit(self, event: StepEvent) -> None:
        self.events.append(event)

    def _choice(self, choice: Mapping[str, Any], position: int) -> None:
        index = choice.get("index")
        key = index if isinstance(index, int) else position
        reason = choice.get("finish_reason")
        if choice.get("error"):
            raise classify_error_object(choice["error"], secrets=self._secrets)
        if isinstance(reason, str) and (error := error_of(reason)) is not None:
            raise error
        delta, message = choice.get("delta"), choice.get("message")
        if isinstance(delta, dict):
            self._delta(delta, key)
        if isinstance(message, dict):
            self._message(message, key, closing=bool(reason))
        if isinstance(reason, str) and reason:
            self._finish = reason
        self._read_usage(choice.get("usage"))

    def _delta(self, delta: Mapping[str, Any], choice: int) -> None:
        self._thinking(delta)
        self._add_content(delta.get("content"))
        self._add_refusal(delta.get("refusal"))
        self._calls(delta, choice, restated=False)

    def _message(self, message: Mapping[str, Any], choice: int, *, closing: bool) -> None:
        """A message in place of a delta. With a finish reason it tells all again that deltas told."""
        if not (closing and self._answer.thinking):
            self._thinking(message)
        content = message.get("content")
        if closing and self._content.chars:
            whole = "".join(text for _, text in content_pieces(content))
            untold = self._content.untold(whole)
            content = whole if untold is None else untold
        self._add_content(content)
        if not (closing and self._answer.refusal):
            self._add_refusal(message.get("refusal"))
        self._calls(message, choice, restated=closing)

    def _calls(self, delta: Mapping[str, Any], choice: int, *, restated: bool) -> None:
        fragments = read_fragments(delta.get("tool_calls"))
        if isinstance(delta.get("function_call"), dict):
            fragments.append(read_legacy_fragment(delta["function_call"]))
        self._router.route(choice, fragments, restated=restated)
        for name, value in read_echo(delta).items():
            self._message_echo[name] = self._answer.keep_echo(value)

    def _thinking(self, delta: Mapping[str, Any]) -> None:
        thought = read_thought(delta)
        if thought is not None:
            self._thinking_field = self._thinking_field or thought.field
            self._field_thinking.append(thought.text)
            self._answer.add_thinking(thought.text)
        for field, detail in read_details(delta):
            self._details.add(field, self._answer.keep_echo(detail))

    def _add_content(self, content: object) -> None:
        for kind, text in content_pieces(content):
            if kind == "text" and text:
                self._content.add(text)
                self._add_pieces(self._splitter.feed(text))
            elif kind == "thinking":
                self._answer.add_thinking(text)
            elif kind == "refusal":
                self._add_refusal(text)

    def _add_pieces(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if piece.thinking:
                self._answer.add_thinking(piece.text)
            else:
                self._answer.add_text(piece.text)

    def _add_refusal(self, refusal: object) -> None:
        if isinstance(refusal, str) and refusal:
            self._answer.refusal = True
            self._answer.add_text(refusal)

    def _read_usage(self, value: object) -> None:
        usage = read_usage(value)
        if usage is not None:
            usage = merge_usage(self._usage, usage)
        if usage is not None and usage != self._usage:
            self._usage = usage
            self._emit(UsageReported(usage))

    def _complete(self) -> None:
        self._add_pieces(self._splitter.flush())
        response = conclude(
            self._answer,
            self._drafts,
            ending=ending_of(self._finish),
            finish=self._finish,
            usage=self._usage,
            thinking_echo=self._thinking_echo(),
            text_echo=self._message_echo or None,
        )
        self.finished = True
        self._emit(Completed(response))

    def _thinking_echo(self) -> tuple[Mapping[str, Any], ...]:
        echo: dict[str, Any] = dict(self._details.result())
        if self._thinking_field:
            # Only what came in a field: thinking told from the text by its tags is not sent back.
            echo[self._thinking_field] = mend("".join(self._field_thinking))
        return (echo,) if echo else ()
