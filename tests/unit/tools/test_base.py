"""Error results are words for the model, of bounded length."""

from __future__ import annotations

from streaming.tools.base import error_result


def test_an_error_result_is_bounded() -> None:
    assert error_result("no").text == "error: no"
    long = error_result("x" * 100_000)
    assert long.status == "error"
    assert len(long.text) < 2_100
