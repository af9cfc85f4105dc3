"""What a refusal teaches about an endpoint, and what it does not."""

from __future__ import annotations

from streaming.providers.errors import ProviderError
from streaming.providers.streamless import MAX_ENDPOINTS, MAX_REPORTED, StreamMode, StreamModes

URL = "http://127.0.0.1/v1"


def refusal(code: str = "streaming_unsupported", detail: str = "", status: int = 400) -> ProviderError:
    return ProviderError(code, detail, retryable=False, http_status=status)


def test_an_endpoint_that_refuses_streams_is_remembered_by_model() -> None:
    modes = StreamModes()
    assert modes.learn(URL, "m", refusal())
    assert not modes.of(URL, "m").stream
    assert modes.of(URL, "other").stream


def test_a_refused_usage_option_leaves_the_stream() -> None:
    modes = StreamModes()
    assert modes.learn(URL, "m", refusal("request_rejected", "unknown field stream_options"))
    assert modes.of(URL, "m") == StreamMode(stream=True, stream_usage=False)
    assert modes.learn(URL, "m", refusal())
    assert not modes.of(URL, "m").stream


def test_the_same_refusal_again_teaches_nothing() -> None:
    modes = StreamModes()
    assert modes.learn(URL, "m", refusal())
    assert not modes.learn(URL, "m", refusal())


def test_other_errors_teach_nothing() -> None:
    modes = StreamModes()
    assert not modes.learn(URL, "m", refusal("authentication_failed", "stream_options", status=401))
    assert not modes.learn(URL, "m", refusal("request_rejected", "no such model"))
    assert modes.of(URL, "m") == StreamMode()


def test_a_bounded_number_is_remembered() -> None:
    modes = StreamModes()
    for number in range(MAX_ENDPOINTS + 1):
        modes.learn(URL, str(number), refusal())
    assert modes.of(URL, "0").stream
    assert not modes.of(URL, "1").stream


def test_those_without_a_stream_are_told_the_last_one_first_to_a_bound() -> None:
    modes = StreamModes()
    modes.learn(URL, "usage", refusal("request_rejected", "unknown field stream_options"))
    modes.learn(URL, "a", refusal())
    modes.learn(URL, "b", refusal())
    assert modes.streamless() == [(URL, "b"), (URL, "a")]
    for number in range(MAX_REPORTED):
        modes.learn(URL, str(number), refusal())
    assert len(modes.streamless()) == MAX_REPORTED
    assert (URL, "a") not in modes.streamless()
