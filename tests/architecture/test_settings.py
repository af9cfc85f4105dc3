"""Each setting is read in one place, documented, and used."""

from __future__ import annotations

import ast
import re

from albedo_project.tunables import PREFIX, TUNABLES, VARIABLE_NAMES
from albedo_project.tunables_lasting import LASTING
from albedo_project.tunables_live import REASONS
from albedo_project.variables import VARIABLES
from scripts.settings_page import PAGE, page
from tests.architecture.source import PROJECT, modules, within

READERS: dict[str, str] = {
    "albedo_project.settings": "the only reader",
    "albedo_project.asgi": "names the settings module, as every ASGI server needs",
}
# Runs in a kernel's own process, which has an environment of its own.
ELSEWHERE = ("streaming.kernel.inside",)
ACCESS = re.compile(r"""ALBEDO(?:\[|\.get\()\s*["'](\w+)["']""")


def test_the_page_says_what_the_code_says() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `make docs`"


def test_no_name_is_there_twice() -> None:
    names = [variable.name for variable in VARIABLES] + list(VARIABLE_NAMES)
    assert len(names) == len(set(names))


def test_every_reason_belongs_to_a_bound_that_exists() -> None:
    assert set(REASONS) == {row.name for row in TUNABLES} - {row.name for row in LASTING}


def test_the_environment_is_read_in_one_place() -> None:
    readers = {
        module.name
        for module in modules()
        for node in ast.walk(ast.parse(module.text))
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "environb")
        if not within(module.name, ELSEWHERE)
    }
    assert readers == set(READERS)


def test_every_variable_is_read_by_the_settings() -> None:
    text = (PROJECT / "albedo_project/settings.py").read_text("utf-8")
    assert [v.name for v in VARIABLES if f'"{v.name}"' not in text] == []


def test_every_tunable_that_is_asked_for_exists() -> None:
    names = {row.name for row in TUNABLES}
    asked = {(name, module.where) for module in modules() for name in ACCESS.findall(module.text)}
    assert sorted(pair for pair in asked if pair[0] not in names) == []


def test_every_tunable_of_the_lasting_half_is_used() -> None:
    """A number that nothing reads would be a promise that nobody keeps."""
    texts = [module.text for module in modules() if module.path.name != "tunables_lasting.py"]
    assert [row.name for row in LASTING if not any(f'"{row.name}"' in text for text in texts)] == []


def test_variables_are_named_after_their_tunables() -> None:
    assert all(name.startswith(PREFIX) and name.isupper() for name in VARIABLE_NAMES)
