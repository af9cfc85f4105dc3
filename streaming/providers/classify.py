"""What a provider's error means for us: its stable code, and whether the same request may be sent again.

Pure. Families are asked in order: first what stays true under any status (quota, policy, length), then
what the codes say, then the numbers, last the prose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from streaming.providers.error_reading import ErrorFacts, read_error
from streaming.providers.errors import ProviderError, StatusError, WireError
from streaming.providers.provider_json import BadJson, parse
from streaming.providers.redaction import safe_detail
from streaming.providers.retry_hint import retry_after_seconds

RETRYABLE_CODES: Final = frozenset(
    {"rate_limited", "overloaded", "server_error", "provider_timeout", "provider_error", "response_empty"}
)

_QUOTA_TOKENS = re.compile(
    r"insufficient_?(quota|balance|credit|fund)|quota_?exhausted|billing|payment_?required|usage_limit_reached"
    r"|out_of_credit|credits|credit_(balance|limit)|usage_not_included|spend(ing)?_limit|arrear",
)
_QUOTA_WORDS = re.compile(
    r"exceeded your current quota|insufficient (account )?(quota|balance|credits?|funds)|out of credits?"
    r"|no (quota|credits?) left|credit balance|not enough (credits?|balance)|billing|payment required"
    r"|add (more )?(credits?|funds)|requires more credits|spending limit|monthly (usage )?limit"
    r"|can only afford",
)
_POLICY_TOKENS = re.compile(
    r"content_?(filter|policy|blocked)|policy_violation|responsible_?ai|moderation|safety|invalid_prompt"
    r"|data_?inspection_?failed|image_content",
)
_POLICY_WORDS = re.compile(
    r"content (policy|filter|management policy)|(usage|safety) polic(y|ies)|was flagged|flagged (as|for|by)"
    r"|violat\w+ (our|the|content|usage|safety)|responsible ai|safety system|requires moderation",
)
_LENGTH_TOKENS = re.compile(
    r"context_?(length|window)|prompt_too_long|input_too_long|string_above_max_length"
)
_LENGTH_WORDS = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|(prompt|input|request) is too (long|large)"
    r"|too many input tokens|exceeds? the (maximum|max|model's maximum)[^.]{0,40}tokens"
    r"|input (token count|length)[^.]{0,40}exceed|reduce the length",
)

_RATE_TOKENS = re.compile(
    r"rate_?limit|too_?many_?requests|throttl|resource_?exhausted|slow_down|^tokens$|^requests$"
)
_BUSY_TOKENS = re.compile(r"overload|unavailable|capacity|busy|not_?ready|model_loading")
_TIMEOUT_TOKENS = re.compile(r"time_?out|deadline_?exceeded|timed_out")
_SERVER_TOKENS = re.compile(
    r"server_?error|internal|upstream|bad_?gateway|api_error|provider_error|connection|network|aborted|unknown"
)
_AUTH_TOKENS = re.compile(r"auth|api_?key|unauthorized|invalid_token|expired_token")
_DENIED_TOKENS = re.compile(r"permission|forbidden|access_?denied|unsupported_country")
_MISSING_TOKENS = re.compile(r"not_?found|does_not_exist|deployment")
_REJECTED_TOKENS = re.compile(
    r"invalid|bad_?request|unsupported|unprocessable|validation|missing|unknown_parameter|tool_use_failed"
    r"|malformed|too_large|above_max|below_min|not_?supported|value_?error|not_?implemented"
)

_TOKEN_FAMILIES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (_RATE_TOKENS, "rate_limited"),
    (_BUSY_TOKENS, "overloaded"),
    (_TIMEOUT_TOKENS, "provider_timeout"),
    (_AUTH_TOKENS, "authentication_failed"),
    (_DENIED_TOKENS, "permission_denied"),
    (_MISSING_TOKENS, "not_found"),
    (_REJECTED_TOKENS, "request_rejected"),
    (_SERVER_TOKENS, "server_error"),
)
_WORD_FAMILIES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"rate.?limit|too many requests|throttl|per (minute|second)"), "rate_limited"),
    (re.compile(r"overload|at capacity|temporarily|unavailable|try again|please retry|busy"), "overloaded"),
    (re.compile(r"timed? ?out"), "provider_timeout"),
    (
        re.compile(r"(invalid|incorrect|missing|no) (api )?(key|token|credential)|unauthori[sz]ed"),
        "authentication_failed",
    ),
    (re.compile(r"model[^.]{0,80}(not found|does not exist)|not found"), "not_found"),
)
_STATUS_CODES: Final[Mapping[int, str]] = {
    401: "authentication_failed",
    402: "quota_exhausted",
    403: "permission_denied",
    404: "not_found",
    408: "provider_timeout",
    409: "server_error",
    413: "context_too_long",
    425: "server_error",
    429: "rate_limited",
    503: "overloaded",
    504: "provider_timeout",
    524: "provider_timeout",
    529: "overloaded",
}
_NO_STREAMING = re.compile(
    r"stream\w*[^.]{0,60}(not (be )?(supported|allowed|available|enabled)|unsupported|(must|to) be false)"
    r"|(not support|unsupported|cannot|can't|verified to)[^.]{0,40}stream"
)


def classify_status(
    status: int, headers: Mapping[str, str], body: bytes, now: float, *, secrets: Sequence[str] = ()
) -> ProviderError:
    """An HTTP answer other than 200. `now` is POSIX time; `body` may be cut short or empty."""
    facts = read_error(_body_value(body))
    code = _status_code(status, facts)
    retryable = code in RETRYABLE_CODES
    return StatusError(
        code,
        safe_detail(facts.message, secrets) or f"HTTP status {status}",
        retryable=retryable,
        retry_after=_wait(facts, headers, now) if retryable else None,
        http_status=status,
    )


def classify_error_object(
    value: object,
    *,
    headers: Mapping[str, str] | None = None,
    now: float = 0.0,
    secrets: Sequence[str] = (),
) -> ProviderError:
    """An error that stands in a stream, or in a body under a 200. An unknown one counts as transient."""
    facts = read_error(value)
    code = _any_status_code(facts) or _code_of(facts) or "provider_error"
    retryable = code in RETRYABLE_CODES
    return WireError(
        code,
        safe_detail(facts.message, secrets) or "the provider reported an error",
        retryable=retryable,
        retry_after=_wait(facts, headers or {}, now) if retryable else None,
        http_status=next(iter(facts.statuses), None),
    )


def _body_value(body: bytes) -> object:
    try:
        return parse(body)
    except BadJson:
        text = body.decode("utf-8", "replace").strip()
        # A page of a proxy says nothing that a person wants to read.
        return "" if text.startswith("<") else text


def _status_code(status: int, facts: ErrorFacts) -> str:
    if status < 300:
        return "response_empty"
    if status < 400:
        return "provider_redirect"
    if (found := _any_status_code(facts)) is not None:
        return found
    if status in (400, 405, 422, 501) and (facts.param == "stream" or _NO_STREAMING.search(facts.words)):
        return "streaming_unsupported"
    if status in _STATUS_CODES:
        return _STATUS_CODES[status]
    return "server_error" if status >= 500 else "request_rejected"


def _any_status_code(facts: ErrorFacts) -> str | None:
    """What is final under any status."""
    if _has_quota(facts):
        return "quota_exhausted"
    if _matches(_POLICY_TOKENS, facts.tokens) or _POLICY_WORDS.search(facts.words):
        return "content_policy"
    if _matches(_LENGTH_TOKENS, facts.tokens) or _LENGTH_WORDS.search(facts.words):
        return "context_too_long"
    return None


def _has_quota(facts: ErrorFacts) -> bool:
    if _matches(_QUOTA_TOKENS, facts.tokens):
        return True
    # Google says "exceeded your current quota" of a quota per minute too, and then how long to wait.
    return _QUOTA_WORDS.search(facts.words) is not None and _wait(facts, {}, 0.0) is None


def _code_of(facts: ErrorFacts) -> str | None:
    """The innermost number, else the first telling code or type, else the prose."""
    if facts.statuses:
        status = facts.statuses[-1]
        return _STATUS_CODES.get(status, "server_error" if status >= 500 else "request_rejected")
    for token in facts.tokens:
        for pattern, code in _TOKEN_FAMILIES:
            if token not in ("error", "response.failed", "failed") and pattern.search(token):
                return code
    return next((code for pattern, code in _WORD_FAMILIES if pattern.search(facts.words)), None)


def _matches(pattern: re.Pattern[str], tokens: tuple[str, ...]) -> bool:
    return any(pattern.search(token) for token in tokens)


def _wait(facts: ErrorFacts, headers: Mapping[str, str], now: float) -> float | None:
    found = retry_after_seconds(headers, "", now)
    if found is None:
        found = facts.wait_seconds
    return found if found is not None else retry_after_seconds({}, facts.words, now)
