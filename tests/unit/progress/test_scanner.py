from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streaming.progress.scanner import PreviewScanner
from streaming.progress.sizes import deep_size
from tests.unit.progress.builders import (
    KEY,
    any_text,
    cut,
    documents,
    every_cut_in_two_and_three,
    examples,
    pieces,
    scalars,
    values,
)


def scan(fragments: list[str]) -> tuple[str, bool]:
    scanner = PreviewScanner(KEY)
    return "".join([scanner.feed(fragment) for fragment in fragments]), scanner.dropped


@pytest.mark.parametrize(
    ("document", "value"),
    [
        (r'{"code":"a\n\"b\" \\ \/ \u00e9\t"}', 'a\n"b" \\ / é\t'),
        (r'{"code":"\ud83d\ude00!"}', "😀!"),
        ('{"code":"\\ud83d\ude00 \ud83d\\ude00 \ud83d\ude00"}', "😀 😀 😀"),
        (r'{"code":"\ud83d","x":"\ude00"}', "\ufffd"),
        (r'{"code":"\ud83d\ud83d\ude00\ude00"}', "\ufffd😀\ufffd"),
        ('{"code":"é漢😀 \x7f\u2028"}', "é漢😀 \x7f\u2028"),
        (r'{"code":"\\ud83d\\n"}', r"\ud83d\n"),
        (r'{"code":"\u0000\u001F\uD7FF\uFFFF"}', "\x00\x1f\ud7ff\uffff"),
        (' {\t"a" : [ 1 , -0.5e+10 , {"code":"no"} ] ,\r\n"code" : "y" } \n', "y"),
        ('{"c":0,"cod":true,"codes":null,"":false,"code":"y","x":[[],{}]}', "y"),
        ('{"code":""}', ""),
        ("{}", ""),
        (r'{"x":{"c\u006fde":"no","code":1,"code":2}}', ""),
    ],
)
def test_the_value_is_the_same_at_every_cut(document: str, value: str) -> None:
    for fragments in every_cut_in_two_and_three(document):
        assert scan(fragments) == (value, False), fragments
    assert scan(list(document)) == (value, False)


@examples(200)
@given(data=st.data(), document=documents())
def test_any_document_in_any_pieces_reads_as_json_does(data: st.DataObject, document: str) -> None:
    fragments = list(data.draw(cut(document)))

    assert scan(fragments) == (scalars(json.loads(document).get(KEY, "")), False)


def is_whole(document: str) -> bool:
    """Whether the scanner takes `document` for a whole object: only then it takes no further character."""
    return not scan([document, " "])[1] and all(scan([document, more])[1] for more in '"x,:0en}]{')


def refuse(constant: str) -> None:
    raise ValueError(constant)


@examples(150)
@given(
    document=documents(),
    at=st.integers(0, 100),
    removed=st.integers(0, 2),
    inserted=st.text(st.sampled_from('{}[]",:\\ 0-.eEtn'), max_size=2),
)
def test_what_it_takes_for_whole_json_also_takes(document: str, at: int, removed: int, inserted: str) -> None:
    changed = document[:at] + inserted + document[at + removed :]
    if is_whole(changed):
        pairs = json.loads(changed, parse_constant=refuse)
        assert scan([changed])[0] == scalars(pairs.get(KEY, ""))


def test_a_whole_object_is_known_from_a_cut_one() -> None:
    document = '{"a":[1,{"b":"c"}],"code":"x"}'
    assert [end for end in range(len(document) + 1) if is_whole(document[:end])] == [len(document)]


def test_a_prefix_is_never_dropped_and_its_value_is_a_prefix() -> None:
    document = json.dumps({"a": [1.25e-7, True, None, {"b": "x\\u"}], KEY: 'é\n"', "z": -12})
    for end in range(len(document)):
        value, dropped = scan([document[:end]])
        assert not dropped, document[:end]
        assert 'é\n"'.startswith(value)


@pytest.mark.parametrize(
    "document",
    [
        r'{"c\u006fde":"x"}',
        r'{"a\n":1,"code":"x"}',
        '{"code":"x","code":"y"}',
        '{"code":"x","a":1,"code":"x"}',
        '{"code":1}',
        '{"code":null}',
        '{"code":["x"]}',
        '{"code":{"x":1}}',
        "[]",
        '"code"',
        "1 ",
        "null",
        '{"code":"a\nb"}',
        '{"a":"\t"}',
        '{"a\x00":1}',
        '{"a":NaN}',
        '{"a":Infinity}',
        '{"a":-Infinity}',
        '{"a":True}',
        '{"a":nul}',
        '{"a":truee}',
        '{"a":01}',
        '{"a":-}',
        '{"a":1.}',
        '{"a":.5}',
        '{"a":1.e5}',
        '{"a":1e}',
        '{"a":+1}',
        '{"a":0x1}',
        '{"a":١}',
        '{"a":1 2}',
        '{"a":1,}',
        '{"a":[1,]}',
        '{"a":[,1]}',
        '{"a":[1}',
        '{"a":[1}}',
        '{"a"}',
        '{"a",1}',
        "{a:1}",
        "{'a':1}",
        "{,}",
        '{"a"::1}',
        '{"code":"x"} x',
        '{"code":"x"}{}',
        '{"code":"x"},',
        r'{"code":"\x41"}',
        r'{"code":"\u12g4"}',
        r'{"code":"\u 123"}',
        '{"a":\u00a01}',
        '\ufeff{"a":1}',
        '{"a":1}\x00',
        '{"a":\ud83d}',
    ],
)
def test_what_is_too_odd_is_dropped_at_every_cut(document: str) -> None:
    for fragments in every_cut_in_two_and_three(document):
        assert scan(fragments)[1], fragments


def test_it_reads_64_levels_and_drops_at_the_next() -> None:
    def nested(levels: int) -> str:
        return '{"a":' + "[" * (levels - 1) + "]" * (levels - 1) + ',"code":"x"}'

    assert scan([nested(64)]) == ("x", False)
    assert scan([nested(65)]) == ("", True)
    assert scan(list(nested(70))) == ("", True)
    assert scan(['{"a":' * 70])[1]


def test_after_a_drop_nothing_is_read_any_more() -> None:
    scanner = PreviewScanner(KEY)
    assert scanner.feed('{"code":"abc') == "abc"
    assert scanner.feed("\n") == ""
    assert scanner.dropped
    assert scanner.feed('","code":"x"}') == ""


def test_a_high_half_is_held_back_until_its_partner_may_come() -> None:
    scanner = PreviewScanner(KEY)
    assert scanner.feed(r'{"code":"a\ud83d') == "a"
    assert scanner.feed("\\") == ""
    assert scanner.feed("ude0") == ""
    assert scanner.feed("0b") == "😀b"
    assert scanner.feed("\ud83d") == ""
    assert scanner.feed('"') == "\ufffd"


@pytest.mark.parametrize(
    "endless",
    [
        '{"code":"' + "😀\\n" * 200,
        '{"a":' + "1" * 800,
        '{"a":"' + "\\u00e9" * 200,
        '{"' + "k" * 800,
        "{" + " " * 800,
    ],
)
def test_memory_does_not_grow_with_the_arguments(endless: str) -> None:
    scanner = PreviewScanner(KEY)
    scanner.feed(endless[:10])
    early = deep_size(scanner)
    for fragment in pieces(endless[10:], range(7, len(endless) - 10, 7)):
        scanner.feed(fragment)
        assert deep_size(scanner) <= early + 128
    assert not scanner.dropped


def test_escapes_without_end_in_one_fragment_are_read_whole() -> None:
    text = '"\n' * 20_000
    assert scan([json.dumps({KEY: text, "other": text})]) == (text, False)


@examples(60)
@given(before=any_text, after=values)
def test_the_key_is_found_behind_and_before_anything(before: str, after: object) -> None:
    document = f'{{"a":{json.dumps(before)},"code":"x","b":{json.dumps(after)}}}'
    assert scan([document]) == ("x", False)
