"""Types of the commands' options."""

from __future__ import annotations

import argparse


def port(text: str) -> int:
    """A TCP port, 0 to 65535."""
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)
