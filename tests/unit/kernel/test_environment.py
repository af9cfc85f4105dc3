"""Only what is on the list reaches a kernel."""

from __future__ import annotations

from pathlib import Path

from streaming.kernel import guardian
from streaming.kernel.environment import MARKER, allowed_environment, kernel_environment

SERVER = {
    "PATH": "/bin",
    "LC_ALL": "C",
    "OPENAI_API_KEY": "k",
    "ALBEDO_MODEL": "m",
    "DJANGO_SETTINGS_MODULE": "s",
    "PYTHONPATH": "p",
    "PYTHONSTARTUP": "p",
    "LD_PRELOAD": "l",
    "HTTP_PROXY": "h",
    "JPY_PARENT_PID": "1",
    "IPYTHONDIR": "/evil",
    "SITE_NAME": "n",
}


def test_the_list_and_the_operators_names_pass() -> None:
    assert allowed_environment(SERVER, ["SITE_NAME"]) == {"PATH": "/bin", "LC_ALL": "C", "SITE_NAME": "n"}


def test_the_places_of_ipython_and_jupyter_are_ours_whatever_is_allowed() -> None:
    made = kernel_environment({"IPYTHONDIR": "/evil"}, Path("/run/k"), "t")
    places = {name: value for name, value in made.items() if name.startswith(("IPYTHON", "JUPYTER"))}
    assert len(places) == 4
    assert all(value.startswith("/run/k/") for value in places.values())
    assert made["LANG"] == "C.UTF-8"


def test_the_guardian_looks_for_the_mark_that_is_set() -> None:
    assert kernel_environment({}, Path("/run/k"), "t")[MARKER] == "t"
    assert guardian.MARKER == MARKER
