"""A provider's message, made safe to show."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.providers.redaction import bare_url, safe_detail


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijklmnop",
        "sk-ant-api03-AbCdEf_123-xyz",
        "sk-ab****yz",
        "gsk_abcdefghijklmnop1234",
        "xai-abcdefghijklmnop1234",
        "AIzaSyA1234567890abcdefg",
        "AKIA1234567890ABCDEF",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    ],
)
def test_a_key_is_known_by_its_shape(secret: str) -> None:
    detail = safe_detail(f"Incorrect key: {secret}. See docs.")
    assert secret not in detail
    assert "Incorrect key" in detail
    assert "See docs" in detail


@pytest.mark.parametrize(
    ("message", "secret"),
    [
        ("Authorization: Bearer abc123def", "abc123def"),
        ("basic dXNlcjpwYXNz was refused", "dXNlcjpwYXNz"),
        ("https://user:pass@host/v1 failed", "user:pass"),
        ("GET /v1?key=abcdef failed", "abcdef"),
        ("Incorrect API key provided: abcdefgh", "abcdefgh"),
        ('{"api_key": "abcdefgh"}', "abcdefgh"),
        ("password=hunter2hunter2", "hunter2hunter2"),
    ],
)
def test_a_credential_is_known_by_what_stands_before_it(message: str, secret: str) -> None:
    assert secret not in safe_detail(message)


def test_given_secrets_are_taken_out_wherever_they_stand() -> None:
    assert safe_detail("xtopsecretx and topsecret", ("topsecret", "")) == "x[hidden]x and [hidden]"


def test_ordinary_words_stay() -> None:
    message = "maximum context length is 8192 tokens; token budget used up, key 'messages' missing"
    assert safe_detail(message) == message


def test_it_is_one_line_of_scalars() -> None:
    assert safe_detail("a\r\nb\x00c\u2028d\ud83d\ude00\ud83d") == "a b c d😀\ufffd"


def test_it_is_cut_at_300_scalars() -> None:
    assert len(safe_detail("😀" * 1_000)) == 300
    assert safe_detail("x" * 300) == "x" * 300


@settings(max_examples=100)
@given(st.text(max_size=400), st.text(alphabet="abcdefghij-", min_size=6, max_size=20))
def test_no_secret_survives_any_surroundings(text: str, secret: str) -> None:
    at = len(text) // 2
    assert secret not in safe_detail(text[:at] + secret + text[at:], (secret,))


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("https://provider.example/v1", "https://provider.example/v1"),
        ("HTTP://127.0.0.1:8080/v1", "HTTP://127.0.0.1:8080/v1"),
        ("https://user:canary@provider.example:444/v1", "https://provider.example:444/v1"),
        ("https://us@er:canary@provider.example/v1", "https://provider.example/v1"),
        ("https://provider.example/v1?key=canary#canary", "https://provider.example/v1"),
        ("https://[canary@x/v1", "[hidden]"),
    ],
)
def test_an_address_is_told_without_what_opens_it(url: str, bare: str) -> None:
    assert bare_url(url) == bare
