"""How Chat Completions responses end: finish reasons, limits, errors, odd chunks, usage."""

from __future__ import annotations

from typing import Any

import pytest

from streaming.limits import WireLimits
from streaming.providers.events import UsageReported
from streaming.providers.types import StepResponse, Usage
from tests.support.decoding import Decoded, call_chunk, chat, chunk, decode, entry, sse

CALL = entry(0, "a", "python", '{"code":"1"}')


def run(*values: object, finish: str | None = "stop", done: bool = True) -> Decoded:
    return decode("chat_completions", [chat(*values, finish=finish, done=done)])


def answer(*values: object, finish: str | None = "stop", done: bool = True) -> StepResponse:
    return run(*values, finish=finish, done=done).response


def failure(*values: object, finish: str | None = "stop", done: bool = True) -> tuple[str, bool]:
    error = run(*values, finish=finish, done=done).error
    assert error is not None
    return error.code, error.retryable


def said(text: object) -> dict[str, Any]:
    return chunk({"content": text})


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "length", "eos", "function_call"])
def test_the_calls_decide_whatever_the_finish_reason_says(finish: str) -> None:
    assert len(answer(call_chunk(CALL), finish=finish).calls) == 1
    assert answer(said("Hi"), finish=finish).text == "Hi"


def test_a_finish_reason_may_come_early_and_twice() -> None:
    early = chunk({"content": "Half"}, finish="stop")
    assert answer(early, said(" more"), chunk(finish="stop")).text == "Half more"


def test_done_alone_is_an_end_and_so_is_the_end_of_the_body_behind_a_finish_reason() -> None:
    assert answer(said("Hi"), finish=None).text == "Hi"
    assert answer(said("Hi"), done=False).text == "Hi"


@pytest.mark.parametrize("spelling", ["[DONE]", "[done]", '"[DONE]"', " [DONE] "])
def test_done_is_known_in_its_spellings(spelling: str) -> None:
    decoded = decode("chat_completions", [sse(said("Hi"), spelling)], eof=False)
    assert decoded.response.text == "Hi"


@pytest.mark.parametrize("arguments", [None, "", "{}", "null", {}])
def test_a_call_without_arguments_has_an_empty_object(arguments: object) -> None:
    (call,) = answer(call_chunk(entry(0, "a", "python", arguments)), finish="tool_calls").calls
    assert call.arguments == "{}"


def test_vendor_fields_of_a_message_are_kept_for_its_echo() -> None:
    signed = chunk({"content": "Hi", "extra_content": {"google": {"thought_signature": "c2ln"}}})
    assert answer(signed).text_echo == {"extra_content": {"google": {"thought_signature": "c2ln"}}}


def test_the_end_of_the_body_alone_is_no_end() -> None:
    assert failure(said("Hi"), finish=None, done=False) == ("response_ended_early", True)


def test_an_unfinished_event_at_the_end_of_the_body_is_void() -> None:
    data = chat(said("Hi"), done=False) + b'data: {"choices":[],"usa'
    assert decode("chat_completions", [data]).response.text == "Hi"
    data = sse(said("Hi")) + b'data: {"choices":[{"del'
    error = decode("chat_completions", [data]).error
    assert error is not None
    assert error.code == "response_ended_early"


@pytest.mark.parametrize("finish", ["length", "max_tokens", "stop", "tool_calls", None])
def test_a_call_that_never_closes_is_final_whatever_the_finish_reason(finish: str | None) -> None:
    half = call_chunk(entry(0, "a", "python", '{"code":"pri'))
    assert failure(half, finish=finish) == ("response_truncated", False)


def test_the_output_limit_before_any_arguments_is_inside_a_call() -> None:
    assert failure(call_chunk(entry(0, "a", "python", "")), finish="length") == ("response_truncated", False)
    assert failure(call_chunk(entry(0, "a")), finish="length") == ("response_truncated", False)


def test_text_at_the_output_limit_is_kept_and_marked() -> None:
    response = answer(said("Half"), finish="length")
    assert (response.text, response.truncated) == ("Half", True)


def test_the_output_limit_before_any_answer_is_final() -> None:
    assert failure(chunk({"reasoning": "plan"}), finish="length") == ("response_truncated", False)


@pytest.mark.parametrize("finish", ["content_filter", "SAFETY", "sensitive"])
def test_a_filtered_answer_is_final_where_nothing_or_a_call_came(finish: str) -> None:
    assert failure(finish=finish) == ("content_policy", False)
    assert failure(call_chunk(CALL), finish=finish) == ("content_policy", False)
    assert answer(said("Half"), finish=finish).truncated


@pytest.mark.parametrize("finish", ["error", "network_error", "abort", "insufficient_system_resource"])
def test_a_finish_reason_that_means_failure_is_retried(finish: str) -> None:
    assert failure(said("Hi"), finish=finish)[1]


@pytest.mark.parametrize("value", ["", " \n"])
def test_an_answer_with_nothing_in_it_is_asked_for_again(value: str) -> None:
    assert failure(said(value)) == ("response_empty", True)


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": []},
        {"choices": None},
        {"choices": [None, 3, {}]},
        {"choices": [{"delta": None, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {"role": "assistant"}}]},
        {"choices": {}},
        {},
        {"type": "ping", "cost": "0.01"},
        {"status": "queued", "message": "please wait"},
        {"type": "info", "message": "please wait"},
        {"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        "null",
        "[]",
        "17",
        '"text"',
        "keep-alive",
        "[PING]",
    ],
)
def test_a_chunk_that_says_nothing_changes_nothing(odd: object) -> None:
    assert answer(odd, said("Hi"), odd).text == "Hi"


@pytest.mark.parametrize("odd", ["{", '{"choices":[{"delta":{"content":"x', "x]}}", "error: broken"])
def test_data_that_is_not_json_is_damage(odd: str) -> None:
    assert failure(said("Hi"), odd) == ("response_damaged", True)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {"prompt_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 3}},
            Usage(5, None, None, 3, None, "reported"),
        ),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}, "cost": 0.5},
         Usage(5, None, 4, None, 0.5, "reported")),
        ({"prompt_tokens": 0}, Usage(0, source="reported")),
        ({}, Usage()),
        (None, Usage()),
        ({"prompt_tokens": None, "completion_tokens": "7", "cost": float("nan")}, Usage()),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
    ],
)  # fmt: skip
def test_usage_is_what_was_reported_and_else_unknown(usage: object, expected: Usage) -> None:
    decoded = run(said("Hi"), {"choices": [], "usage": usage})
    assert decoded.response.usage == expected
    told = [event.usage for event in decoded.events if isinstance(event, UsageReported)]
    assert told == ([expected] if expected.source == "reported" else [])


def test_usage_on_every_chunk_ends_with_the_last_and_keeps_what_only_one_told() -> None:
    response = answer(
        {**said("H"), "usage": {"prompt_tokens": 5, "completion_tokens": 1}},
        {**said("i"), "usage": {"completion_tokens": 2}},
        {"choices": [], "x_groq": {"usage": {"total_tokens": 7}}},
    )
    assert response.usage == Usage(5, 2, source="reported")


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        ({"error": {"message": "m", "type": "server_error"}}, "server_error", True),
        ({"error": {"message": "m", "code": "insufficient_quota"}}, "quota_exhausted", False),
        ({"error": "model overloaded, try again"}, "overloaded", True),
        ({"error": {"message": "m", "code": 400}, "choices": [{"delta": {}}]}, "request_rejected", False),
        ({"choices": [{"finish_reason": "error", "error": {"code": 502, "message": "m"}}]},
         "server_error", True),
        ({"object": "error", "message": "m", "type": "BadRequestError", "code": 400},
         "request_rejected", False),
        ({"code": 500, "message": "m"}, "server_error", True),
        ({"detail": "Not authenticated: no api key"}, "authentication_failed", False),
        ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
         "quota_exhausted", False),
        ({"error": {}}, None, None),
        ({"error": None, "base_resp": {"status_code": 0, "status_msg": "success"}}, None, None),
    ],
)  # fmt: skip
def test_an_error_in_the_stream_ends_it(error: object, code: str | None, retryable: bool | None) -> None:
    if code is None:
        assert answer(said("Hi"), error).text == "Hi"
    else:
        assert failure(said("Hi"), error) == (code, retryable)


def test_an_error_told_by_its_field_or_line_ends_the_stream_too() -> None:
    for written in (b'error: {"code":500,"message":"m"}\n\n', b'{"error":{"message":"m","code":500}}\n\n'):
        error = decode("chat_completions", [sse(said("Hi")) + written]).error
        assert error is not None
        assert (error.code, error.http_status) == ("server_error", 500)


def test_text_beyond_its_limit_ends_the_response() -> None:
    data = chat(said("x" * 6), chunk({"reasoning": "y" * 6}), finish="stop")
    assert decode("chat_completions", [data], limits=WireLimits(text_chars=12)).error is None
    error = decode("chat_completions", [data], limits=WireLimits(text_chars=11)).error
    assert error is not None
    assert error.code == "response_over_limit"


def test_a_lone_surrogate_is_replaced_and_a_cut_pair_joined() -> None:
    response = answer(said("a\ud83d"), said("\ude00b\ude00"), chunk({"reasoning": "\ud83d"}))
    assert (response.text, response.thinking) == ("a😀b\ufffd", "\ufffd")
