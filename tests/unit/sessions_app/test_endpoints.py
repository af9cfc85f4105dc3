"""Which addresses a profile may point at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.endpoints import checked_base_url
from sessions_app.problems import InvalidRequest


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1",
        "http://localhost:8080",
        "http://127.0.0.1:1234/v1",
        "http://[::1]:9/v1",
        "http://10.0.0.5/v1",
        "https://a-b.example.com:8443/x/y",
        "https://host_name/v1",
    ],
)
def test_plain_addresses_are_taken_as_they_are(url: str) -> None:
    assert checked_base_url(url) == url


def test_a_slash_at_the_end_does_not_count() -> None:
    assert checked_base_url("https://x.example/v1/") == "https://x.example/v1"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.openai.com",
        "//x.example",
        "ftp://x.example",
        "file:///etc/passwd",
        "gopher://x.example",
        "javascript:alert(1)",
        "http://",
        "http:///v1",
        "http://user@x.example",
        "http://user:pw@x.example",
        "http://@x.example",
        "http://x.example?q=1",
        "http://x.example/?",
        "http://x.example#f",
        "http://x.example:0",
        "http://x.example:99999",
        "http://x.example:1:2",
        "http://127.1",
        "http://2130706433",
        "http://0x7f.1",
        "http://0x7f000001",
        "http://017700000001",
        "http://0.0.0.0",
        "http://[::]",
        "http://[::ffff:127.0.0.1]",
        "http://[::ffff:169.254.169.254]",
        "http://[fe80::1]",
        "http://[fe80::1%25eth0]",
        "http://[fd00:ec2::254]",
        "http://localhost.",
        "http://169.254.169.254/latest",
        "http://100.100.100.200",
        "http://224.0.0.1",
        "http://255.255.255.255",
        "http://metadata.google.internal",
        "http://METADATA",
        "http://x .example",
        "http://x.example\\@y.example",
        "http://x.example\n",
        "http://\u0445.example",
        "http://x..example",
        "http://-x.example",
        "http://[",
        "http://x.example/" + "y" * 500,
    ],
)
def test_anything_odd_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        checked_base_url(url)
    assert caught.value.fields == ["/base_url"]


@given(st.text(max_size=40))
def test_whatever_text_comes_it_is_taken_or_refused(text: str) -> None:
    try:
        checked_base_url(f"http://{text}")
    except InvalidRequest:
        return
    assert "@" not in text
