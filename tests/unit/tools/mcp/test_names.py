"""Offered names: valid everywhere, one for each tool, and the same again."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from streaming.tools.mcp.names import offered_name, server_of


def test_an_ordinary_name_stands_as_it_is() -> None:
    assert offered_name("files", "read_file", ()) == "files__read_file"
    assert server_of("files__read_file") == "files"
    assert server_of("files__odd__name") == "files"
    assert server_of("python") == ""


def test_an_odd_a_long_and_a_taken_name_are_told_apart_by_a_tag() -> None:
    odd, taken = offered_name("s", "a.b", ()), offered_name("s", "a_b", {"s__a_b"})
    assert re.fullmatch(r"s__a_b_[0-9a-f]{8}", odd)
    assert re.fullmatch(r"s__a_b_[0-9a-f]{8}", taken)
    assert odd != taken
    long = offered_name("s", "n" * 200, ())
    assert len(long) == 64
    assert long != offered_name("s", "n" * 201, ())


@settings(max_examples=50)
@given(st.text(), st.from_regex(r"\A[a-z0-9][a-z0-9-]{0,30}[a-z0-9]\Z"))
def test_any_tool_of_any_server_gets_a_name_that_providers_take(tool: str, server: str) -> None:
    name = offered_name(server, tool, ())
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
    assert name == offered_name(server, tool, ())
    assert server_of(name) == server
