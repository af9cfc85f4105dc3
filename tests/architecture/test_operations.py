"""The page about operations names every series, every option of `prune`, and no series that there is not."""

from __future__ import annotations

import argparse
import re

from prometheus_client import REGISTRY, CollectorRegistry

from albedo_project.metrics import database, here
from sessions_app.management.commands.prune import Command
from streaming import meters
from tests.architecture.source import PROJECT

PAGE = (PROJECT / "docs/operations.md").read_text("utf-8")
SERIES = re.compile(r"^\| `(albedo_\w+)`", re.MULTILINE)


async def series() -> set[str]:
    present = CollectorRegistry()
    here.gathered(present)
    found = {fact.name for fact in database.FACTS} | {"albedo_database_answers"}
    for family in [*REGISTRY.collect(), *present.collect()]:
        if family.name.startswith("albedo_"):
            found.add(family.name + ("_total" if family.type == "counter" else ""))
    return found


async def test_every_series_is_on_the_page_and_the_page_names_no_other() -> None:
    assert meters.breakers in REGISTRY._collector_to_names
    assert sorted(SERIES.findall(PAGE)) == sorted(await series())


async def test_names_follow_prometheus_and_each_says_what_it_is() -> None:
    for family in REGISTRY.collect():
        if family.name.startswith("albedo_"):
            assert family.documentation.endswith("."), family.name
            if family.type == "histogram":
                assert family.name.endswith("_seconds")


def test_every_option_of_prune_is_on_the_page() -> None:
    parser = argparse.ArgumentParser()
    Command().add_arguments(parser)
    options = [
        option for action in parser._actions for option in action.option_strings if option.startswith("--")
    ]
    assert [option for option in options if option != "--help" and option not in PAGE] == []
