"""Write requirements.txt and requirements-dev.txt: every package that is needed, at its installed version.

Run it with the project's own interpreter after changing requirements.in or requirements-dev.in.
"""

from __future__ import annotations

import importlib.metadata as metadata
import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parent.parent
HEAD = "# Made by scripts/pin_requirements.py from {}; change that one.\n"


def direct(name: str) -> list[Requirement]:
    lines = (line.partition("#")[0].strip() for line in (PROJECT / name).read_text("utf-8").splitlines())
    return [Requirement(line) for line in lines if line]


def closure(wanted: list[Requirement]) -> dict[str, str]:
    """Package name to version, for `wanted` and all that they need here."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    queue = [(requirement.name, extra) for requirement in wanted for extra in ("", *requirement.extras)]
    while queue:
        name, extra = queue.pop()
        if (canonicalize_name(name), extra) in seen:
            continue
        seen.add((canonicalize_name(name), extra))
        distribution = metadata.distribution(name)
        found[canonicalize_name(name)] = distribution.version
        for text in distribution.requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                queue += [(needed.name, wish) for wish in ("", *needed.extras)]
    return found


def pins(packages: dict[str, str]) -> str:
    return "".join(f"{name}=={packages[name]}\n" for name in sorted(packages))


def main() -> None:
    product = closure(direct("requirements.in"))
    everything = closure(direct("requirements.in") + direct("requirements-dev.in"))
    only_dev = {name: version for name, version in everything.items() if name not in product}
    files = {
        "requirements.txt": HEAD.format("requirements.in") + pins(product),
        "requirements-dev.txt": HEAD.format("requirements-dev.in") + "-r requirements.txt\n" + pins(only_dev),
    }
    for name, text in files.items():
        (PROJECT / name).write_text(text, "utf-8")
        sys.stdout.write(f"{name}: {text.count('==')} packages\n")


if __name__ == "__main__":
    main()
