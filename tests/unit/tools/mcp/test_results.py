"""Answers of MCP servers as results: each kind of content, and what is too much or not what it says."""

from __future__ import annotations

import base64
from typing import Any

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from streaming.limits import KernelLimits
from streaming.tools.base import ToolResult
from streaming.tools.mcp.results import MAX_ARTIFACTS, tool_result

GIF = base64.b64encode(b"GIF89a" + b"\x02\x00\x03\x00" + bytes(20)).decode()


def result(*content: Any, limits: KernelLimits | None = None, **fields: Any) -> ToolResult:
    answer = CallToolResult(content=list(content), **fields)
    return tool_result(answer, limits or KernelLimits(), lambda: "an-id")


def image(data: str = GIF, mime_type: str = "image/gif") -> ImageContent:
    return ImageContent(type="image", data=data, mime_type=mime_type)


def text(value: str) -> TextContent:
    return TextContent(type="text", text=value)


def test_texts_are_joined_in_order() -> None:
    made = result(text("a\0"), text("b"), structured_content={"not": "shown"})
    assert (made.status, made.text, made.artifacts) == ("ok", "a\ufffd\nb", ())
    assert result(text("no"), is_error=True).status == "error"


def test_structured_content_stands_where_nothing_else_does() -> None:
    assert result(structured_content={"é": 1}).text == '{"é": 1}'
    assert result().text == ""


def test_resources_and_what_cannot_be_shown_are_named() -> None:
    inner = TextResourceContents(uri="file:///a", text="inside")
    blob = BlobResourceContents(uri="file:///b", blob="AAAA")
    made = result(
        EmbeddedResource(type="resource", resource=inner),
        EmbeddedResource(type="resource", resource=blob),
        ResourceLink(type="resource_link", name="l", uri="https://example.org/" + "x" * 1_000),
        AudioContent(type="audio", data="AAAA", mime_type="audio/wav"),
    )
    lines = made.text.splitlines()
    assert lines[:2] == ["inside", "[a binary resource: file:///b]"]
    assert lines[2].startswith("[a resource: https://example.org/xxx")
    assert len(lines[2]) < 600
    assert lines[3] == "[audio of type audio/wav]"


def test_a_picture_is_kept_with_its_size() -> None:
    made = result(image(), text("that"))
    assert made.text == "[picture-1.gif: image/gif, 2 x 3]\nthat"
    (kept,) = made.artifacts
    assert (kept.name, kept.width, kept.height) == ("picture-1.gif", 2, 3)


def test_what_is_no_picture_of_its_type_is_not_kept() -> None:
    for odd in (image(mime_type="image/png"), image("no base64!"), image(mime_type="text/html"), image("")):
        made = result(odd)
        assert made.artifacts == ()
        assert "not kept" in made.text


def test_pictures_have_a_bound_in_bytes_and_in_number() -> None:
    assert result(image(), limits=KernelLimits(artifact_bytes=29)).artifacts == ()
    assert len(result(image(), limits=KernelLimits(artifact_bytes=30)).artifacts) == 1
    assert len(result(*[image()] * (MAX_ARTIFACTS + 1)).artifacts) == MAX_ARTIFACTS


def test_text_beyond_the_bounds_is_cut_and_kept() -> None:
    limits = KernelLimits(model_output_bytes=100, history_output_bytes=1_000)
    made = result(text("x" * 900), limits=limits)
    assert made.output == "x" * 900
    assert len(made.text) < 200
    assert len(result(text("x" * 9_000), limits=limits).output or "") < 1_100
