"""What the files in deploy/ say, held against what there is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from django.core.management import get_commands, load_command_class

from albedo_project.tunables import VARIABLE_NAMES
from albedo_project.variables import VARIABLES
from tests.support.server import PROJECT

DEPLOY = PROJECT / "deploy"
SETTINGS = frozenset({*(variable.name for variable in VARIABLES), *VARIABLE_NAMES})
# Read by our own files in deploy/ and nobody else.
ONLY_HERE = frozenset({"PORT", "POSTGRES_PASSWORD"})
# A drain's own time, as the contract has it, and what kernels and connections take behind it.
WEB_STOP_SECONDS, ACTORS_STOP_SECONDS = 15, 40


def check_command(words: Sequence[str]) -> str:
    """The NAME of `python manage.py NAME ...`. Fails where there is no such command or option."""
    python, manage, name, *arguments = words
    assert Path(python).name == "python", words
    assert (PROJECT / manage).is_file(), words
    application = get_commands()[name]
    assert isinstance(application, str)
    load_command_class(application, name).create_parser(manage, name).parse_args(arguments)
    return name


def environment_example() -> dict[str, str]:
    """Variables of the example, those in comments too."""
    text = (DEPLOY / "environment.example").read_text("utf-8")
    return dict(re.findall(r"^#?([A-Z][A-Z_]+)=(.*)$", text, re.M))


def seconds(text: str) -> float:
    """`20s`, or `20` as systemd has it."""
    return float(text.removesuffix("s"))
