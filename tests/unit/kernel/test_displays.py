"""What is shown: kept in number and bytes, named, replaced."""

from __future__ import annotations

import base64
import dataclasses
import itertools
import struct
from typing import Any

from streaming.kernel.displays import Displays
from streaming.kernel.values import Display
from streaming.limits import KernelLimits

LIMITS = KernelLimits(displays=3, artifact_bytes=100)
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480)


def displays(limits: KernelLimits = LIMITS) -> Displays:
    numbers = itertools.count(1)
    return Displays(limits, lambda: f"id{next(numbers)}")


def png(data: bytes = PNG) -> dict[str, Any]:
    return {"image/png": base64.encodebytes(data).decode(), "text/plain": "<Figure>"}


def test_an_image_is_kept_with_its_size_and_named() -> None:
    shown = displays()
    assert shown.show(png(), None)
    [display], [artifact] = shown.finished()
    assert display == Display("image", "image/png", "id1", "<Figure>")
    assert (artifact.id, artifact.data, artifact.name) == ("id1", PNG, "display-1.png")
    assert (artifact.width, artifact.height) == (640, 480)


def test_text_alone_is_left_to_the_output() -> None:
    shown = displays()
    assert not shown.show({"text/plain": "a"}, None)
    assert not shown.show({"application/json": {}, "image/png": 5}, None)
    assert shown.finished() == ((), ())


def test_the_richest_form_is_taken() -> None:
    shown = displays()
    shown.show({"text/html": "<b>", **png()}, None)
    assert [display.mime_type for display in shown.finished()[0]] == ["image/png"]


def test_svg_and_html_are_kept_as_utf8_without_odd_characters() -> None:
    shown = displays()
    shown.show({"image/svg+xml": "<svg>é</svg>"}, None)
    shown.show({"text/html": "a\0\ud800"}, None)
    displayed, artifacts = shown.finished()
    assert [display.kind for display in displayed] == ["image", "html"]
    assert [artifact.data.decode() for artifact in artifacts] == ["<svg>é</svg>", "a\ufffd\ufffd"]
    assert artifacts[0].name == "display-1.svg"


def test_what_is_too_large_is_named_and_not_kept() -> None:
    shown = displays()
    shown.show({"text/html": "x" * 101}, None)
    shown.show({"text/html": "é" * 100}, None)
    shown.show(png(PNG + bytes(100)), None)
    displayed, artifacts = shown.finished()
    assert artifacts == ()
    assert all(display.artifact is None and "limit" in (display.text or "") for display in displayed)


def test_bytes_that_are_not_what_they_say_are_not_kept() -> None:
    shown = displays()
    shown.show({"image/png": base64.b64encode(b"<script>").decode()}, None)
    shown.show({"image/png": "é"}, None)
    displayed, artifacts = shown.finished()
    assert artifacts == ()
    assert [display.text for display in displayed] == [
        "left out: its bytes are not image/png",
        "left out: not a readable image",
    ]


def test_more_than_the_limit_is_counted() -> None:
    shown = displays()
    for _ in range(1_000):
        shown.show(png(), None)
    displayed, artifacts = shown.finished()
    assert len(artifacts) == 3
    assert displayed[-1] == Display("text", "text/plain", text="997 more displays left out")


def test_all_of_one_call_together_are_bounded() -> None:
    shown = displays(dataclasses.replace(LIMITS, displays=32))
    for _ in range(32):
        shown.show({"text/html": "x" * 100}, None)
    displayed, artifacts = shown.finished()
    assert sum(len(artifact.data) for artifact in artifacts) == 400
    assert len(displayed) == 32


def test_an_update_replaces_and_does_not_grow() -> None:
    shown = displays()
    shown.show({"text/plain": "0 %"}, "bar")
    for number in range(1_000):
        shown.update({"text/plain": f"{number} %"}, "bar")
    shown.update({"text/plain": "nobody"}, "unknown")
    assert shown.finished() == ((Display("text", "text/plain", text="999 %"),), ())
    shown.update(png(), "bar")
    shown.update(png(), "bar")
    [display], [artifact] = shown.finished()
    assert display.artifact == artifact.id


def test_clearing_shows_nothing_but_keeps_the_notes() -> None:
    shown = displays()
    shown.show(png(), None)
    shown.note("lost")
    shown.clear()
    assert shown.finished() == ((Display("text", "text/plain", text="lost"),), ())
