"""What a provider's error means: its code, whether to ask again, when, and what of it may be shown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.classify import classify_error_object, classify_status
from streaming.providers.errors import ProviderError, StatusError, WireError

NOW = 1_700_000_000.0


def status_error(status: int, body: object = b"", headers: dict[str, str] | None = None) -> ProviderError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return classify_status(status, headers or {}, data, NOW, secrets=("topsecret-key",))


@pytest.mark.parametrize(
    "status", [408, 409, 425, 429, 500, 502, 503, 504, 507, 520, 522, 524, 526, 529, 599]
)
def test_a_transient_status_is_retried(status: int) -> None:
    error = status_error(status)
    assert (error.retryable, error.http_status) == (True, status)
    assert isinstance(error, StatusError)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 410, 413, 418, 422, 301, 302, 307, 308])
def test_a_final_status_is_not_retried(status: int) -> None:
    error = status_error(status, {"error": {"message": "please try again in 2s"}})
    assert not error.retryable
    assert error.retry_after is None


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "authentication_failed"),
        (402, "quota_exhausted"),
        (403, "permission_denied"),
        (404, "not_found"),
        (413, "context_too_long"),
        (422, "request_rejected"),
        (429, "rate_limited"),
        (500, "server_error"),
        (503, "overloaded"),
        (302, "provider_redirect"),
        (204, "response_empty"),
    ],
)
def test_a_status_has_a_stable_code(status: int, code: str) -> None:
    assert status_error(status).code == code


FINAL: list[tuple[dict[str, Any], str]] = [
    ({"code": "insufficient_quota", "message": "m"}, "quota_exhausted"),
    (
        {"message": "You exceeded your current quota, please check your plan and billing details."},
        "quota_exhausted",
    ),
    ({"message": "Insufficient Balance"}, "quota_exhausted"),
    ({"type": "billing_error", "message": "m"}, "quota_exhausted"),
    ({"message": "This request requires more credits. You can only afford 3 tokens"}, "quota_exhausted"),
    ({"code": "usage_limit_reached", "message": "m"}, "quota_exhausted"),
    ({"code": "content_filter", "message": "m"}, "content_policy"),
    ({"code": "invalid_prompt", "message": "flagged as violating our usage policy"}, "content_policy"),
    ({"message": "Your request was rejected by our safety system"}, "content_policy"),
    ({"code": "context_length_exceeded", "message": "m"}, "context_too_long"),
    ({"message": "This model's maximum context length is 8192 tokens"}, "context_too_long"),
    ({"message": "prompt is too long: 210000 tokens > 200000 maximum"}, "context_too_long"),
]


@pytest.mark.parametrize(("fields", "code"), FINAL)
@pytest.mark.parametrize("status", [200, 400, 403, 429, 500, 503])
def test_quota_policy_and_length_are_final_under_any_status(
    fields: dict[str, Any], code: str, status: int
) -> None:
    error = (
        classify_error_object({"error": fields}) if status == 200 else status_error(status, {"error": fields})
    )
    assert (error.code, error.retryable) == (code, False)


@pytest.mark.parametrize(
    ("value", "code", "retryable"),
    [
        ({"code": "rate_limit_exceeded", "type": "tokens"}, "rate_limited", True),
        ({"type": "rate_limit_error"}, "rate_limited", True),
        ({"status": "RESOURCE_EXHAUSTED", "code": 429}, "rate_limited", True),
        ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded", True),
        ({"code": "engine_overloaded_error"}, "overloaded", True),
        ({"status": "UNAVAILABLE", "code": 503}, "overloaded", True),
        ({"type": "server_error"}, "server_error", True),
        ({"type": "api_error"}, "server_error", True),
        ({"type": "InternalServerError"}, "server_error", True),
        ({"type": "upstream_error"}, "server_error", True),
        ({"code": "timeout"}, "provider_timeout", True),
        ({"code": 529}, "overloaded", True),
        ({"code": "503"}, "overloaded", True),
        ({"message": "something odd"}, "provider_error", True),
        (
            {"message": "Provider returned error", "metadata": {"raw": '{"error":{"code":503}}'}},
            "overloaded",
            True,
        ),
        ({"metadata": {"raw": '{"error":{"code":"insufficient_quota"}}'}}, "quota_exhausted", False),
        ({}, "provider_error", True),
        ("", "provider_error", True),
        ("Rate limit reached", "rate_limited", True),
        ([{"error": {"code": 400, "message": "m"}}], "request_rejected", False),
        (None, "provider_error", True),
        (17, "provider_error", True),
        ({"type": "invalid_request_error"}, "request_rejected", False),
        ({"code": "tool_use_failed", "type": "invalid_request_error"}, "request_rejected", False),
        ({"type": "BadRequestError"}, "request_rejected", False),
        ({"type": "authentication_error"}, "authentication_failed", False),
        ({"code": "invalid_api_key"}, "authentication_failed", False),
        ({"type": "permission_error"}, "permission_denied", False),
        ({"code": "model_not_found"}, "not_found", False),
        ({"message": "The model `x` does not exist"}, "not_found", False),
        ({"code": 404}, "not_found", False),
    ],
)
def test_an_error_in_a_stream_is_told_by_its_codes(value: object, code: str, retryable: bool) -> None:
    error = classify_error_object(value)
    assert (error.code, error.retryable) == (code, retryable)
    assert isinstance(error, WireError)


def test_googles_quota_per_minute_is_a_rate_limit() -> None:
    body = {
        "error": {
            "code": 429,
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}],
        }
    }
    error = status_error(429, [body])
    assert (error.code, error.retryable, error.retry_after) == ("rate_limited", True, 34.0)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"param": "stream", "code": "unsupported_value", "message": "must be verified"}}),
        (400, {"error": {"message": "Streaming is not supported for this model"}}),
        (422, {"detail": "this endpoint does not support stream=true"}),
        (501, b"stream mode unsupported"),
    ],
)
def test_an_endpoint_that_refuses_streaming_is_told_apart(status: int, body: object) -> None:
    error = status_error(status, body)
    assert (error.code, error.retryable) == ("streaming_unsupported", False)


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ({"Retry-After": "7"}, b"", 7.0),
        ({"retry-after-ms": "1500", "retry-after": "7"}, b"", 1.5),
        ({"retry-after": "junk"}, {"error": {"message": "try again in 2.5s"}}, 2.5),
        ({}, {"error": {"message": "m", "retry_after": 3}}, 3.0),
        ({}, b"", None),
    ],
)
def test_how_long_to_wait_is_read_from_headers_body_and_words(
    headers: dict[str, str], body: object, expected: float | None
) -> None:
    assert status_error(429, body, headers).retry_after == expected


def test_the_detail_is_the_providers_own_message() -> None:
    assert status_error(400, {"error": {"message": "bad field 'x'"}}).detail == "bad field 'x'"
    assert status_error(500, b"plain words").detail == "plain words"
    assert status_error(502, b"<html><body>Bad gateway</body></html>").detail == "HTTP status 502"
    assert status_error(500, b"").detail == "HTTP status 500"


def test_the_detail_names_no_secret_and_stays_short() -> None:
    leaky = "key topsecret-key or sk-abcdefgh1234 refused; Authorization: Bearer abc.def " + "x" * 1_000
    detail = status_error(401, {"error": {"message": leaky}}).detail
    assert len(detail) == 300
    for secret in ("topsecret-key", "sk-abcdefgh1234", "abc.def"):
        assert secret not in detail


def test_what_the_model_wrote_is_not_quoted_as_the_reason() -> None:
    body = {"error": {"message": "could not parse", "failed_generation": "CANARY"}}
    for error in (status_error(400, body), classify_error_object(body)):
        assert "CANARY" not in str(error)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "code", "message", "type", "status", "metadata", "details", "raw", "param"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200)
@given(json_values)
def test_any_json_is_classified(value: object) -> None:
    assert classify_error_object(value).code
    assert classify_status(500, {}, json.dumps(value).encode(), NOW).code


@settings(max_examples=100)
@given(st.integers(100, 999), st.binary(max_size=60), st.text(max_size=20))
def test_any_answer_is_classified(status: int, body: bytes, retry_after: str) -> None:
    error = classify_status(status, {"retry-after": retry_after}, body, NOW)
    assert error.retry_after is None or error.retry_after >= 0
    assert len(error.detail) <= 300
