"""What the kernel's own process does to its messages."""

from __future__ import annotations

import json

import pytest

from streaming.kernel.inside.boot import KEPT_CHARS, Forgetful, bounded, configuration, shortened


def strict(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode()


def test_lone_surrogates_are_packed() -> None:
    with pytest.raises(UnicodeEncodeError):
        strict({"text": "\ud800"})
    assert json.loads(bounded(strict, 1_000)({"text": "\ud800"})) == {"text": "\ud800"}


def test_what_fits_is_packed_as_it_is() -> None:
    assert bounded(strict, 1_000)({"text": "é"}) == strict({"text": "é"})


def test_what_does_not_fit_is_cut_and_says_so() -> None:
    content = {"data": {"text/html": "x" * 1_000_000}, "traceback": ["y" * 100_000] * 100}
    packed = bounded(strict, 1_000_000)(content)
    assert len(packed) < 10_000_000
    assert f"{1_000_000 - KEPT_CHARS} characters left out" in json.loads(packed)["data"]["text/html"]


def test_short_things_stay() -> None:
    assert shortened({"a": [1, "b", None], "c": {"d": 1.5}}) == {"a": [1, "b", None], "c": {"d": 1.5}}


def test_what_ipython_would_keep_is_forgotten() -> None:
    outputs = Forgetful()
    outputs[1].append("x")
    assert 1 not in outputs
    assert outputs[1] == []


def test_no_history_file_is_kept() -> None:
    assert configuration("c.json").HistoryManager.enabled is False
