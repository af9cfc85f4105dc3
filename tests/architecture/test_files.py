"""Files stay small, say what they are for, and say nothing of where they were written."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.source import PROJECT, modules, text_files

MAX_LINES = 300

# Written in pieces, so that this table does not find itself.
FORBIDDEN: dict[str, str] = {
    "a path of one machine": "/" + "work/",
    "a home folder": "/" + "root/",
    "a scratch folder": "/" + "tmp/albedo/",
    "a folder outside the project": "shared" + "/design",
    "a package index": "py" + r"pi\.org|python" + r"hosted\.|index" + "-url",
    "work left for later": r"\b(TO" + "DO|FIX" + r"ME)\b",
    "an issue's number": r"(?<![\w&/(])" + r"#\d+\b(?!\s*[;}])",
}
ISSUE = "an issue's number"


@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_project_speaks_of_itself_alone(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what])
    files = [path for path in text_files() if what != ISSUE or path.suffix in (".py", ".md")]
    found = [
        f"{path.relative_to(PROJECT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def python_files() -> list[str]:
    return [
        str(p.relative_to(PROJECT)) for p in text_files() if p.suffix == ".py" and "migrations" not in p.parts
    ]


def test_no_python_file_is_longer_than_the_bound() -> None:
    lengths = {name: len((PROJECT / name).read_text("utf-8").splitlines()) for name in python_files()}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_every_module_with_code_says_what_it_is_for() -> None:
    silent = [
        module.where
        for module in modules()
        if (tree := ast.parse(module.text)).body and ast.get_docstring(tree) is None
    ]
    assert silent == []
