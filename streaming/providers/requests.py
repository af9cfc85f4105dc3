"""Step and profile in, (url, headers, body) out. The one place where the key enters a request."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import orjson

from streaming.providers.requests_chat import chat_body
from streaming.providers.requests_responses import responses_body
from streaming.providers.streamless import StreamMode
from streaming.providers.types import Profile, StepRequest

USER_AGENT = "albedo"
_PATHS = {"responses": "/responses", "chat_completions": "/chat/completions"}
# Framing is the transport's; a profile that sets it could desynchronise the connection.
_FRAMING = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "te", "upgrade", "trailer"}
)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`headers` may hold the key, `body` the whole conversation: neither is ever shown."""

    url: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)


def secrets_of(profile: Profile) -> tuple[str, ...]:
    """What must never be quoted: the key and the values of headers, but no mere flag (`1`, `true`)."""
    values = {profile.api_key, *profile.headers.values()}
    words = {word for value in values for word in value.split()}
    return tuple(sorted((text for text in values | words if len(text) >= 8), key=len, reverse=True))


def build(request: StepRequest, profile: Profile, mode: StreamMode) -> HttpRequest:
    """The request of one attempt, in the profile's protocol."""
    body = responses_body if profile.protocol == "responses" else chat_body
    return HttpRequest(_url(profile), _headers(profile, mode), _encode(body(request, profile, mode)))


def _url(profile: Profile) -> str:
    """`base_url` plus the protocol's path; a query (`?api-version=`) stays behind it."""
    base, mark, query = profile.base_url.partition("?")
    return base.rstrip("/") + _PATHS[profile.protocol] + mark + query


def _headers(profile: Profile, mode: StreamMode) -> dict[str, str]:
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream" if mode.stream else "application/json",
        # A compressing proxy would hold a live stream back; one that compresses anyway is understood.
        "accept-encoding": "identity",
        "user-agent": USER_AGENT,
    }
    if profile.api_key:
        headers["authorization"] = f"Bearer {profile.api_key}"
    own = {name.lower(): value for name, value in profile.headers.items()}
    return headers | {name: value for name, value in own.items() if name not in _FRAMING}


def _encode(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        # A lone surrogate in some tool's output must not end the run.
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
