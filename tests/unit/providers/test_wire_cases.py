"""Every recorded case, whole, byte by byte and cut in two, read as its file says."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from streaming.providers.call_ids import assign_tool_call_ids
from streaming.providers.classify import classify_status
from streaming.providers.errors import ProviderError
from tests.support.decoding import Decoded, decode, each_byte, folded_arguments, two_pieces

CASES = sorted((Path(__file__).parents[2] / "cases" / "wire").glob("*.json"))


def load(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def body_of(case: dict[str, Any]) -> tuple[bytes, bool]:
    """All bytes, and whether the body ends behind them (a reset or an open connection is no end)."""
    data = b""
    for write in case["response"]["chunks"]:
        if isinstance(write, str):
            data += write.encode()
        elif "b64" in write:
            data += base64.b64decode(write["b64"])
        else:
            return data, False
    return data, True


def decode_case(case: dict[str, Any], pieces: list[bytes] | None = None) -> Decoded:
    data, eof = body_of(case)
    content_type = case["response"]["headers"].get("content-type", "")
    pieces = [data] if pieces is None else pieces
    return decode(case["protocol"], pieces, content_type=content_type, eof=eof)


def streams() -> list[Path]:
    return [path for path in CASES if load(path)["response"]["status"] == 200]


def is_reset(case: dict[str, Any]) -> bool:
    return {"abort": True} in case["response"]["chunks"]


def check_error(error: ProviderError, expect: dict[str, Any]) -> None:
    assert error.retryable == (expect["outcome"] == "retry")
    assert (error.retry_after or 0) >= expect.get("retry_after_s", 0)
    assert expect.get("error_contains", "") in error.detail


def check_calls(decoded: Decoded, expect: dict[str, Any]) -> None:
    expected = expect["tool_calls"]
    assert decoded.calls == [(call["name"], call["arguments"]) for call in expected]
    calls = decoded.response.calls
    ids = assign_tool_call_ids(calls, set())
    assert len(set(ids)) == len(ids)
    for tool_call_id, call in zip(ids, expected, strict=True):
        assert tool_call_id
        if not call["id_hint"].startswith("<"):
            assert tool_call_id == call["id_hint"]


def test_there_are_cases() -> None:
    assert len(CASES) > 80


@pytest.mark.parametrize("path", streams(), ids=lambda path: path.stem)
def test_a_recorded_response_reads_as_its_file_says(path: Path) -> None:
    case = load(path)
    expect, decoded = case["expect"], decode_case(case)
    if is_reset(case):
        # The transport reports the reset; here nothing may have been taken for an end.
        assert decoded.error is None
        assert not any(type(event).__name__ == "Completed" for event in decoded.events)
        return
    if expect["outcome"] in ("retry", "error"):
        assert decoded.error is not None
        check_error(decoded.error, expect)
        return
    response = decoded.response
    text = response.text.strip() if expect.get("text_compare") == "strip" else response.text
    assert text == expect["text"]
    assert response.thinking == expect.get("reasoning", response.thinking)
    check_calls(decoded, expect)
    folded = folded_arguments(decoded.events)
    assert {call.slot: call.arguments for call in response.calls} == {
        call.slot: folded.get(call.slot, "{}") for call in response.calls
    }


@pytest.mark.parametrize("path", streams(), ids=lambda path: path.stem)
def test_any_cut_of_a_recorded_response_gives_the_same_events(path: Path) -> None:
    case = load(path)
    data, _ = body_of(case)
    whole = decode_case(case).verdict
    assert decode_case(case, each_byte(data)).verdict == whole
    for pieces in two_pieces(data):
        assert decode_case(case, pieces).verdict == whole


@pytest.mark.parametrize(
    "path", [path for path in CASES if path not in streams()], ids=lambda path: path.stem
)
def test_a_recorded_refusal_is_classified_as_its_file_says(path: Path) -> None:
    case = load(path)
    data, _ = body_of(case)
    response = case["response"]
    error = classify_status(response["status"], response["headers"], data, 0.0)
    assert error.http_status == response["status"]
    check_error(error, case["expect"])


def test_what_a_vendor_wants_back_is_kept_for_the_next_request() -> None:
    by_name = {path.stem: decode_case(load(path)) for path in CASES if path.stem[:3] in ("097", "098", "207")}
    thinking = by_name["097-reasoning-then-call-echo"].response
    assert thinking.thinking_echo == ({"reasoning_content": "Use the tool."},)
    signed = by_name["098-gemini-thought-signature"].response
    assert signed.calls[0].echo == {"extra_content": {"google": {"thought_signature": "c2lnLTE="}}}
    sealed = by_name["207-resp-encrypted-reasoning-echo"].response
    assert sealed.thinking_echo[0]["encrypted_content"] == "gAAAA-synthetic"
    assert sealed.thinking_echo[0]["type"] == "reasoning"
