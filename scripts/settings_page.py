"""Write docs/settings.md from the tables in `albedo_project`: `make docs`. A test asks that it is so."""

from __future__ import annotations

from pathlib import Path

from albedo_project.tunables import PREFIX, TUNABLES
from albedo_project.variables import VARIABLES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"

HEAD = """\
# Settings

Everything is set by environment variables, read once at the start by `albedo_project/settings.py`. A value
that cannot be read stops the start with the variable's name. An empty value counts as not given. This page is
made from the code by `make docs`.

## Where things are and who may use them

| variable | kind | default | for |
|---|---|---|---|
"""

NUMBERS = """
## Numbers

Each stands in `settings.ALBEDO` under its variable's name in lower case without the `ALBEDO_`. Change one
only with a reason: contract.md promises behaviour with these defaults.

| variable | default | unit | for | used in |
|---|---|---|---|---|
"""


def page() -> str:
    variables = "".join(f"| `{v.name}` | {v.kind} | {v.default} | {v.reason} |\n" for v in VARIABLES)
    numbers = "".join(
        f"| `{PREFIX}{row.name.upper()}` | {row.default:,} | {row.unit} | {row.reason} | {row.used_in} |\n"
        for row in TUNABLES
    )
    return HEAD + variables + NUMBERS + numbers


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
