"""Names that leak and split."""

from __future__ import annotations

import pytest

from streaming.providers.tool_names import clean_name, joined_name

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
