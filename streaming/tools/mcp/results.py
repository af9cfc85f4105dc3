"""What an MCP server's answer is for the model: its texts in order, its pictures kept as artifacts."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from typing import Any

from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from streaming.kernel.images import image_size
from streaming.limits import KernelLimits
from streaming.tools.base import ArtifactData, ToolResult, text_result

IMAGES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
MAX_ARTIFACTS = 8
URI_CHARS = 500


def tool_result(
    answer: CallToolResult, limits: KernelLimits, new_artifact_id: Callable[[], str]
) -> ToolResult:
    """Bounded as the output of code is. Structured content is shown only where there is nothing else."""
    artifacts: list[ArtifactData] = []
    texts = [_text(block, artifacts, limits, new_artifact_id) for block in answer.content]
    if not texts and answer.structured_content is not None:
        texts = [json.dumps(answer.structured_content, ensure_ascii=False)]
    result = text_result("\n".join(texts), "error" if answer.is_error else "ok", limits=limits)
    return ToolResult(result.status, result.text, result.output, tuple(artifacts))


def _text(
    block: ContentBlock, artifacts: list[ArtifactData], limits: KernelLimits, new_id: Callable[[], str]
) -> str:
    match block:
        case TextContent(text=text):
            return str(text)
        case ImageContent(data=data, mime_type=mime_type):
            return _picture(data, mime_type, artifacts, limits, new_id)
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return str(text)
        case EmbeddedResource(resource=resource):
            return f"[a binary resource: {str(resource.uri)[:URI_CHARS]}]"
        case ResourceLink(uri=uri):
            return f"[a resource: {str(uri)[:URI_CHARS]}]"
        case AudioContent(mime_type=mime_type):
            return f"[audio of type {mime_type[:100]}]"
        case _:
            return "[content of a kind that is not shown]"


def _picture(
    data: str,
    mime_type: str,
    artifacts: list[ArtifactData],
    limits: KernelLimits,
    new_id: Callable[[], str],
) -> str:
    found = _decoded(data) if mime_type in IMAGES else None
    size: Any = image_size(mime_type, found) if found else None
    if found is None or size is None or len(found) > limits.artifact_bytes or len(artifacts) >= MAX_ARTIFACTS:
        return f"[a picture of type {mime_type[:100]} that is not kept]"
    name = f"picture-{len(artifacts) + 1}.{IMAGES[mime_type]}"
    artifacts.append(ArtifactData(new_id(), mime_type, found, name, *size))
    return f"[{name}: {mime_type}, {size[0]} x {size[1]}]"


def _decoded(data: str) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        return None
