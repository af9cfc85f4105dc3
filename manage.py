#!/usr/bin/env python
"""Django's command line. Options of servers that settings depend on are handed over before settings load."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from django.core.management import execute_from_command_line

SERVERS = ("serve", "run_web")
HANDED_OVER = {"--data-dir": "DATA_DIR", "--host": "ALBEDO_BIND_HOST"}


def hand_over(arguments: Sequence[str]) -> dict[str, str]:
    """The environment that `--option value` and `--option=value` of a server stand for."""
    found: dict[str, str] = {}
    for index, argument in enumerate(arguments):
        option, separator, value = argument.partition("=")
        if option not in HANDED_OVER:
            continue
        if not separator and index + 1 < len(arguments):
            value = arguments[index + 1]
        if value:
            found[HANDED_OVER[option]] = value
    return found


def main(arguments: Sequence[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "albedo_project.settings")
    if arguments[1:2] and arguments[1] in SERVERS:
        os.environ.update(hand_over(arguments[2:]))
    execute_from_command_line(list(arguments))


if __name__ == "__main__":
    main(sys.argv)
