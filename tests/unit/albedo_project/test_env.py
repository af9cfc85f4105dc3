"""Reading of environment variables."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from albedo_project.env import Env


def env(**source: str) -> Env:
    return Env(source, {"NAME"})


def test_an_absent_or_blank_variable_gives_the_default() -> None:
    for given in (env(), env(NAME=""), env(NAME="  ")):
        assert given.text("NAME", "d") == "d"
        assert given.integer("NAME", 3) == 3
        assert given.number("NAME", 0.5) == 0.5
        assert given.flag("NAME", True) is True
        assert given.path("NAME", Path("/d")) == Path("/d")
        assert given.items("NAME", ("a",)) == ["a"]


def test_values_have_the_type_that_was_asked_for() -> None:
    assert env(NAME=" x ").text("NAME") == "x"
    assert env(NAME="-7").integer("NAME", 0, -10) == -7
    assert env(NAME="2.5").number("NAME", 0) == 2.5
    assert env(NAME="On").flag("NAME") is True
    assert env(NAME="no").flag("NAME", True) is False
    assert env(NAME="a, b,,c ").items("NAME") == ["a", "b", "c"]
    assert env(NAME="b").choice("NAME", ("a", "b"), "a") == "b"


def test_a_relative_path_becomes_absolute() -> None:
    assert env(NAME="some/folder").path("NAME", Path("/d")) == Path.cwd() / "some/folder"


@pytest.mark.parametrize("value", ["1_0", "٣", "1.0", "ten", "0x10", "9" * 19, "--1", "-"])
def test_an_odd_whole_number_is_refused_by_name_without_its_value(value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="NAME") as caught:
        env(NAME=value).integer("NAME", 1)
    assert value not in str(caught.value) or value == "-"


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "fast"])
def test_an_odd_number_is_refused(value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="NAME"):
        env(NAME=value).number("NAME", 1)


def test_a_number_below_its_minimum_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="at least 5"):
        env(NAME="4").integer("NAME", 9, 5)


@pytest.mark.parametrize("value", ["maybe", "2", "tru"])
def test_an_odd_flag_is_refused(value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="NAME"):
        env(NAME=value).flag("NAME")


def test_a_choice_outside_its_list_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="one of a, b"):
        env(NAME="c").choice("NAME", ("b", "a"), "a")


def test_a_nul_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="NAME"):
        env(NAME="a\x00b").text("NAME")


def test_a_name_that_is_not_declared_cannot_be_read() -> None:
    with pytest.raises(KeyError, match="OTHER"):
        Env({"OTHER": "x"}, {"NAME"}).text("OTHER")
