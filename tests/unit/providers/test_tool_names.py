"""Names that leak and split."""

from __future__ import annotations

import pytest

from streaming.providers.tool_names import clean_name, cut_name, joined_name, sendable_name

KNOWN = frozenset({"python", "search", "haha"})


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("python", "python"),
        (" python\n", "python"),
        ("python<|channel|>commentary", "python"),
        ("functions.python", "python"),
        ("functions.python<|channel|>json", "python"),
        ("functions.other", "functions.other"),
        ("other", "other"),
        ("<|x|>", "<|x|>"),
        ("", ""),
    ],
)
def test_what_is_no_part_of_a_name_is_taken_off(raw: str, expected: str) -> None:
    assert clean_name(raw, KNOWN) == expected


@pytest.mark.parametrize(
    ("so_far", "fragment", "expected"),
    [
        ("", "python", "python"),
        ("python", "python", "python"),
        ("python", "python ", "python"),
        ("pyt", "hon", "python"),
        ("pyt", "python", "python"),
        ("ha", "ha", "haha"),
        ("x", "x", "x"),
    ],
)
def test_a_fragment_restates_or_continues_a_name(so_far: str, fragment: str, expected: str) -> None:
    assert joined_name(so_far, fragment, KNOWN) == expected


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("n" * 8, "n" * 8),
        ("n" * 9, "n" * 8),
        ("n" * 100_000, "n" * 8),
        ("éééé", "éééé"),
        ("éééén", "éééé"),
        ("nééééé", "nééé"),
        ("\ud800" * 9, "?" * 8),
    ],
)
def test_of_a_long_name_the_begin_is_kept(name: str, kept: str) -> None:
    assert cut_name(name, 8) == kept


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("files__read-2", "files__read-2"),
        ("n" * 64, "n" * 64),
        ("n" * 65, "n" * 64),
        ("functions.other", "functions_other"),
        ("do it! 💥", "do_it_"),
        ("\x00", "_"),
        ("", "_"),
    ],
)
def test_a_name_goes_back_as_servers_take_it(name: str, sent: str) -> None:
    assert sendable_name(name) == sent
