"""Which call an entry belongs to, for servers that use index, id and name in their own ways."""

from __future__ import annotations

from typing import Any

import pytest

from streaming.limits import WireLimits
from streaming.providers.call_ids import assign_tool_call_ids
from streaming.providers.events import CallDropped, CallIdentified, CallOpened
from tests.support.decoding import call_chunk, calls_of, chat, chunk, decode, entry, folded_arguments

ONE, TWO = '{"code":"1"}', '{"code":"2"}'
FIRST, SECOND = ("python", {"code": "1"}), ("python", {"code": "2"})


def head(
    index: object, native_id: object = None, arguments: object = "", name: str = "python"
) -> dict[str, Any]:
    return entry(index, native_id, name, arguments)


def tail(index: object, arguments: object, **more: Any) -> dict[str, Any]:
    return entry(index, arguments=arguments, **more)


ONE_CALL = {
    "index null": [head(None, "a"), tail(None, '{"code":'), tail(None, '"1"}')],
    "index a string": [head("0", "a"), tail("0", '{"code":'), tail("0", '"1"}')],
    "index a string, then a number": [head("0", "a"), tail(0, ONE)],
    "index a float": [head(0.0, "a"), tail(0, ONE)],
    "index no number at all": [head("x", "a"), tail("x", ONE)],
    "index negative": [head(-1, "a"), tail(-1, ONE)],
    "index drifts from head to tail": [head(0, "a"), tail(1, '{"code":'), tail(1, '"1"}')],
    "index drifts and the id stays": [head(0, "a"), tail(1, '{"code":', id="a"), tail(1, '"1"}', id="a")],
    "index drifts and the head is told again": [head(0, "a"), head(1, "a", '{"code":'), tail(1, '"1"}')],
    "id comes late": [head(0), tail(0, '{"code":', id="a"), tail(0, '"1"}')],
    "id comes late with the name": [head(0), head(0, "a", '{"code":'), tail(0, '"1"}')],
    "name comes late": [entry(0, "a"), entry(0, name="python"), tail(0, ONE)],
    "name comes behind the arguments": [entry(0, "a"), tail(0, ONE), entry(0, name="python")],
    "id churns with the name told each time": [
        head(0, "a", '{"code'),
        head(0, "b", '":'),
        head(0, "c", '"1"}'),
    ],
    "no index, and the head is told each time": [
        head(None, "a", '{"code'),
        head(None, "a", '":"1'),
        head(None, "a", '"}'),
    ],
    "no index and no id, and the name is told each time": [
        head(None, None, '{"code'),
        head(None, None, '":"1'),
        head(None, None, '"}'),
    ],
    "named again and empty at the end": [head(0, "a", ONE), head(0, "a", "")],
    "named again and whole at the end": [head(0, "a"), tail(0, ONE), head(0, "a", ONE)],
    "named again, whole, spaced otherwise": [head(0, "a", ONE), head(0, "a", '{ "code": "1" }')],
    "told again without an id": [head(0, None, ONE), head(0, None, ONE)],
    "told again in fragments": [head(0, "a", ONE), head(0, "a"), tail(0, '{"code":'), tail(0, '"1"}')],
    "name restated longer and longer": [
        entry(0, "a", "py"),
        entry(0, name="pyth"),
        entry(0, name="python"),
        tail(0, ONE),
    ],
    "name with a namespace": [head(0, "a", ONE, name="functions.python")],
    "name split inside a control token": [
        entry(0, "a", "python<|chan"),
        entry(0, name="nel|>x"),
        tail(0, ONE),
    ],
    "name null": [head(0, "a"), entry(0, name="null", arguments=ONE)],
    "nothing but an index in between": [head(0, "a"), {"index": 0}, {"index": 3}, {}, tail(0, ONE)],
    "name and arguments on the entry itself": [{"index": 0, "id": "a", "name": "python", "arguments": ONE}],
}


@pytest.mark.parametrize("entries", ONE_CALL.values(), ids=ONE_CALL.keys())
def test_one_call_stays_one(entries: list[dict[str, Any]]) -> None:
    assert calls_of(*(call_chunk(fragment) for fragment in entries)) == [FIRST]


@pytest.mark.parametrize(
    "index", [0, None, "0", 7], ids=["constant 0", "no index", "constant string", "constant 7"]
)
@pytest.mark.parametrize("native_ids", [("a", "b"), (None, None)], ids=["with ids", "without ids"])
def test_two_calls_at_one_index_are_two(index: object, native_ids: tuple[str | None, str | None]) -> None:
    whole = [call_chunk(head(index, native_ids[0], ONE)), call_chunk(head(index, native_ids[1], TWO))]
    assert calls_of(*whole) == [FIRST, SECOND]
    split = [
        call_chunk(head(index, native_ids[0])),
        call_chunk(tail(index, ONE)),
        call_chunk(head(index, native_ids[1])),
        call_chunk(tail(index, '{"code":')),
        call_chunk(tail(index, '"2"}')),
    ]
    assert calls_of(*split) == [FIRST, SECOND]


TWO_CALLS = {
    "sparse indexes": [[head(3, "a", ONE)], [head(9, "b", TWO)]],
    "indexes from one": [[head(1, "a", ONE)], [head(2, "b", TWO)]],
    "interleaved": [
        [head(0, "a")],
        [head(1, "b")],
        [tail(1, '{"code":')],
        [tail(0, '{"code":')],
        [tail(1, '"2"}')],
        [tail(0, '"1"}')],
    ],
    "interleaved at index 0 with ids": [
        [head(0, "a")],
        [head(0, "b")],
        [tail(0, '{"code":', id="b")],
        [tail(0, '{"code":', id="a")],
        [tail(0, '"2"}', id="b")],
        [tail(0, '"1"}', id="a")],
    ],
    "index twice in one delta": [[head(0, "a", ONE), head(0, "b", TWO)]],
    "index twice in one delta, without ids": [[head(0, None, ONE), head(0, None, TWO)]],
    "one id at two indexes": [[head(0, "a", ONE)], [head(1, "a", TWO)]],
    "one id at two indexes, heads first": [[head(0, "a")], [head(1, "a")], [tail(0, ONE)], [tail(1, TWO)]],
    "one id at one index": [[head(0, "a", ONE)], [head(0, "a", TWO)]],
    "fragments by position only": [
        [head(None, "a"), head(None, "b")],
        [tail(None, '{"code":'), tail(None, '{"code":')],
        [tail(None, '"1"}'), tail(None, '"2"}')],
    ],
    "heads without arguments at index 0": [[head(0, "a", ONE)], [head(0, "b")], [tail(0, TWO)]],
}


@pytest.mark.parametrize("deltas", TWO_CALLS.values(), ids=TWO_CALLS.keys())
def test_two_calls_stay_two_and_get_ids_of_their_own(deltas: list[list[dict[str, Any]]]) -> None:
    decoded = decode("chat_completions", [chat(*(call_chunk(*entries) for entries in deltas))])
    assert decoded.calls == [FIRST, SECOND]
    ids = assign_tool_call_ids(decoded.response.calls, set())
    assert len(set(ids)) == 2
    assert all(ids)


def test_two_tools_at_one_index_without_ids_are_not_joined_to_one_name() -> None:
    calls = calls_of(call_chunk(head(0, None, "")), call_chunk(head(0, None, '{"q":1}', name="search")))
    assert calls == [("python", {}), ("search", {"q": 1})]


def test_same_arguments_under_two_ids_run_twice() -> None:
    assert calls_of(call_chunk(head(0, "a", ONE)), call_chunk(head(1, "b", ONE))) == [FIRST, FIRST]


def test_one_id_with_true_and_with_1_is_two_calls() -> None:
    calls = calls_of(call_chunk(head(0, "a", '{"x":1}')), call_chunk(head(1, "a", '{"x":true}')))
    assert len(calls) == 2


def test_a_nameless_phantom_is_opened_and_dropped() -> None:
    decoded = decode("chat_completions", [chat(call_chunk(head(0, "a", ONE)), call_chunk(entry(1, "ghost")))])
    assert decoded.calls == [FIRST]
    assert CallOpened(1) in decoded.events
    assert CallDropped(1) in decoded.events


def test_a_name_is_told_only_once_it_is_whole() -> None:
    decoded = decode(
        "chat_completions",
        [chat(call_chunk(entry(0, "a", "pyt")), call_chunk(entry(0, name="hon")), call_chunk(tail(0, ONE)))],
    )
    names = [event.name for event in decoded.events if isinstance(event, CallIdentified)]
    assert names == [None, "python"]


def test_a_repeat_of_a_call_is_dropped_from_the_events_too() -> None:
    decoded = decode("chat_completions", [chat(call_chunk(head(0, "a", ONE)), call_chunk(head(1, "a", ONE)))])
    assert decoded.calls == [FIRST]
    assert list(folded_arguments(decoded.events)) == [decoded.response.calls[0].slot]


def test_the_legacy_function_call_is_a_call_without_id() -> None:
    decoded = decode(
        "chat_completions",
        [
            chat(
                chunk({"function_call": {"name": "python", "arguments": ""}}),
                chunk({"function_call": {"arguments": '{"code":'}}),
                chunk({"function_call": {"arguments": '"1"}'}}),
                finish="function_call",
            )
        ],
    )
    assert decoded.calls == [FIRST]
    assert decoded.response.calls[0].native_id == ""


@pytest.mark.parametrize("placeholder", ["", "null", "None", "undefined", None, True, {}, []])
def test_a_placeholder_is_no_id(placeholder: object) -> None:
    decoded = decode("chat_completions", [chat(call_chunk({**head(0, None, ONE), "id": placeholder}))])
    assert decoded.response.calls[0].native_id == ""


def test_a_number_is_an_id() -> None:
    decoded = decode("chat_completions", [chat(call_chunk(head(0, 17, ONE)))])
    assert decoded.response.calls[0].native_id == "17"


@pytest.mark.parametrize("odd", [None, 3, "x", [None], [3], ["x"], {}, {"0": None}, [[]]])
def test_odd_tool_calls_are_no_calls(odd: object) -> None:
    decoded = decode("chat_completions", [chat(chunk({"content": "Hi", "tool_calls": odd}), finish="stop")])
    assert decoded.response.calls == ()
    assert decoded.response.text == "Hi"


def test_tool_calls_as_an_object_by_index_are_read() -> None:
    assert calls_of(chunk({"tool_calls": {"0": head(0, "a", ONE), "1": head(1, "b", TWO)}})) == [
        FIRST,
        SECOND,
    ]


def test_vendor_fields_of_a_call_are_kept_for_its_echo() -> None:
    signed = {**head(0, "a", ONE), "extra_content": {"google": {"thought_signature": "c2ln"}}}
    decoded = decode("chat_completions", [chat(call_chunk(signed))])
    assert decoded.response.calls[0].echo == {"extra_content": {"google": {"thought_signature": "c2ln"}}}


@pytest.mark.parametrize(
    ("limits", "fragment"),
    [
        (WireLimits(calls=1), head(1, "b", TWO)),
        (WireLimits(native_id_bytes=8), head(1, "i" * 9, TWO)),
    ],
    ids=["calls", "id"],
)
def test_more_than_a_limit_ends_the_response(limits: WireLimits, fragment: dict[str, Any]) -> None:
    data = chat(call_chunk(head(0, "a", ONE)), call_chunk(fragment))
    decoded = decode("chat_completions", [data], limits=limits)
    assert decoded.error is not None
    assert decoded.error.code == "response_over_limit"
    assert decode("chat_completions", [data]).error is None
