"""A provider's own message made safe to show: short, one line, no secret, no odd character."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from streaming.providers.surrogates import mend

DETAIL_SCALARS = 300
_HIDDEN = "[hidden]"

# What vendors quote back at a caller: keys by their usual prefixes, credentials after their scheme or name.
_SECRET_SHAPES = re.compile(
    r"""
      \b(?:sk|pk|rk|key|gsk|xai|nvapi|hf|ghp|gho|ghs|AIza|AKIA)[-_]?[A-Za-z0-9*._-]{12,}
    | \bsk-[A-Za-z0-9*._-]+
    | \beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.?[A-Za-z0-9_-]*
    | (?<=\bBearer\ )[^\s"',;]+
    | (?<=\bBasic\ )[A-Za-z0-9+/=]{8,}
    | (?<=://)[^/\s:@]+:[^/\s@]+(?=@)
    | (?<=[?&]key=)[^&\s"']+
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NAMED_SECRET = re.compile(
    r"""(\b(?:api[-_ ]?key|access[-_ ]?token|secret|password|token)\b["']?\s*(?:provided\s*)?[:=]\s*["']?)"""
    r"""[^\s"',;]{6,}""",
    re.IGNORECASE,
)
_CONTROLS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")

# A message is searched for secrets no further than this: behind it nothing is shown anyway.
_LOOKED_AT = 8_192
_SHORTEST_SECRET = 4


def bare_url(url: str) -> str:
    """`url` without what may be a credential: user, password, query and fragment. One without them stays."""
    if not any(sign in url for sign in "@?#"):
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return _HIDDEN
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def safe_detail(message: str, secrets: Sequence[str] = ()) -> str:
    """At most `DETAIL_SCALARS` scalars of `message`, on one line, without `secrets` and their look-alikes."""
    text = mend(message[:_LOOKED_AT])
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, _HIDDEN)
    text = _NAMED_SECRET.sub(rf"\1{_HIDDEN}", _SECRET_SHAPES.sub(_HIDDEN, text))
    text = _CONTROLS.sub(" ", text).strip()
    return text if len(text) <= DETAIL_SCALARS else text[: DETAIL_SCALARS - 1] + "…"
