"""Messages folded into one output: order, ends, bounds, and nothing that raises."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streaming.kernel.outputs import OutputFolder
from streaming.limits import KernelLimits

LIMITS = KernelLimits(model_output_bytes=100, history_output_bytes=1_000, error_bytes=400)


class Folded:
    """A folder that keeps what it told its listener."""

    def __init__(self) -> None:
        self.live: list[str] = []
        self.folder = OutputFolder(LIMITS, lambda: "id", self.live.append)

    def stream(self, text: str, name: str = "stdout") -> Folded:
        return self.add("stream", {"name": name, "text": text})

    def add(self, kind: str, content: dict[str, Any]) -> Folded:
        self.folder.fold(kind, content)
        return self

    def result(self, text: str) -> Folded:
        return self.add("execute_result", {"data": {"text/plain": text}})

    @property
    def text(self) -> str:
        return self.folder.output().text


def test_both_streams_stand_in_order_of_arrival() -> None:
    folded = Folded().stream("a\n").stream("b\n", "stderr").stream("c\r50%\rd")
    assert folded.text == "a\nb\nc\r50%\rd"
    assert folded.live == ["a\n", "b\n", "c\r50%\rd"]


def test_the_last_value_ends_it_on_a_line_of_its_own() -> None:
    assert Folded().stream("a").result("1").text == "a\n1\n"
    assert Folded().stream("a\n").result("1").text == "a\n1\n"
    assert Folded().result("1").text == "1\n"


def test_a_value_with_a_richer_form_is_output_too() -> None:
    folded = Folded().add("execute_result", {"data": {"text/plain": "df", "text/html": "<table>"}})
    assert folded.text == "df\n"
    assert len(folded.folder.output().artifacts) == 1


def test_shown_text_is_output_and_shown_html_is_not() -> None:
    folded = Folded().add("display_data", {"data": {"text/plain": "plain"}})
    folded.add("display_data", {"data": {"text/plain": "<HTML>", "text/html": "<b>"}})
    assert folded.text == "plain\n"


def test_a_display_with_an_id_is_replaced_in_place() -> None:
    transient = {"display_id": "bar"}
    folded = Folded().add("display_data", {"data": {"text/plain": "0"}, "transient": transient})
    folded.add("update_display_data", {"data": {"text/plain": "9"}, "transient": transient})
    assert folded.text == ""
    assert [display.text for display in folded.folder.output().displays] == ["9"]


def test_clearing_forgets_at_once_or_with_what_comes_next() -> None:
    assert Folded().stream("a").add("clear_output", {"wait": False}).text == ""
    waiting = Folded().stream("a").add("clear_output", {"wait": True})
    assert waiting.text == "a"
    assert waiting.stream("b").text == "b"


def test_what_the_model_gets_is_cut_in_the_middle_with_the_count() -> None:
    output = Folded().stream("a" * 300).result("'end'").folder.output()
    assert output.truncated
    assert output.model_text == "a" * 50 + "\n... 207 characters left out ...\n" + "a" * 43 + "\n'end'\n"
    assert output.text == "a" * 300 + "\n'end'\n"


def test_what_history_keeps_is_bounded_and_marked() -> None:
    folded = Folded()
    for _ in range(100):
        folded.stream("x" * 100)
    output = folded.folder.output()
    assert "9000 characters left out" in output.text
    assert len(output.text) < 1_000 + 50
    assert sum(map(len, folded.live)) == 10_000


def test_errors_are_plain_bounded_text() -> None:
    folded = Folded()
    error = {
        "ename": "E" * 1_000,
        "evalue": "\x1b[31mred\0" + "m" * 1_000,
        "traceback": ["\x1b[0;31mline\x1b[0m"] * 1_000,
    }
    folded.folder.fold_error(error)
    report = folded.folder.output().error
    assert report is not None
    assert report.message.startswith("red\ufffd")
    assert report.traceback.startswith("line\nline\n")
    assert len(report.name) == 200
    assert len(report.message) + len(report.traceback) < 400 + 2 * 50


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["text", "data", "text/plain", "text/html", "image/png", "transient", "display_id", "wait",
             "ename", "evalue", "traceback"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
KINDS = st.sampled_from(
    ["stream", "execute_result", "display_data", "update_display_data", "clear_output", "error", "comm_msg"]
)


@given(st.lists(st.tuples(KINDS, JUNK), max_size=8))
def test_no_content_raises(messages: list[tuple[str, Any]]) -> None:
    folded = Folded()
    for kind, content in messages:
        folded.add(kind, content if isinstance(content, dict) else {"text": content, "data": content})
    folded.folder.output().text.encode()
