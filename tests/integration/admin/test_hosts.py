"""Hosts and the breakers of providers, as staff see them; a broken live half takes no page away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from sessions_app import live as port
from sessions_app.admin import hosts as pages
from sessions_app.models import ProviderProfile
from tests.integration.admin.conftest import PAYLOAD

HOSTS = "/admin/hosts/"
LIST = "/admin/sessions_app/providerprofile/"
MINE = f"{LIST}mine/change/"
URL = "https://provider.example/v1"


class Told:
    """The live half of these tests: says what it was told to say, and counts how often."""

    hosts_there: list[dict[str, Any]] = []
    asked = 0
    broken = False

    async def hosts(self) -> list[dict[str, Any]]:
        Told.asked += 1
        if Told.broken:
            raise ConnectionError("no layer")
        return Told.hosts_there


@pytest.fixture(autouse=True)
def _told(settings: Settings) -> Iterator[None]:
    settings.LIVE_BACKEND = f"{__name__}.Told"
    Told.hosts_there, Told.asked, Told.broken = [], 0, False
    port.live.cache_clear()
    yield
    port.live.cache_clear()


def breaker(state: str, **changes: Any) -> dict[str, Any]:
    plain = {"base_url": URL, "model": "m", "failures": 10, "wait_seconds": 17.0}
    return {**plain, "state": state, **changes}


def host(name: str, *breakers: dict[str, Any], **changes: Any) -> dict[str, Any]:
    plain = {"host": name, "actors": 3, "draining": False, "streamless": []}
    return {**plain, "breakers": list(breakers), **changes}


def profile(name: str, base_url: str = URL) -> None:
    now = timezone.now()
    ProviderProfile.objects.create(
        name=name,
        base_url=base_url,
        protocol="responses",
        model="m",
        connect_timeout=5,
        first_event_timeout=5,
        idle_timeout=5,
        request_timeout=5,
        run_timeout=5,
        max_retries=1,
        created_at=now,
        updated_at=now,
    )


def text(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_page_shows_every_host_with_its_breakers(looking: Client) -> None:
    endpoint = {"base_url": "http://plain.example/v1", "model": "whole"}
    Told.hosts_there = [host("one", breaker("open"), streamless=[endpoint]), host("two", draining=True)]
    shown = text(looking, HOSTS)
    for word in (
        "one",
        "two",
        URL,
        '<td class="albedo-open">open</td>',
        "17 s",
        endpoint["base_url"],
        "whole",
    ):
        assert word in shown
    assert shown.count("<td>yes</td>") == shown.count("<td>no</td>") == 1


def test_the_index_leads_to_it(looking: Client) -> None:
    assert f'href="{HOSTS}"' in text(looking, "/admin/")
    assert Told.asked == 0


def test_nothing_on_it_is_markup(looking: Client, operating: Client) -> None:
    profile("mine")
    endpoint = {"base_url": PAYLOAD, "model": PAYLOAD}
    odd = breaker(PAYLOAD, **endpoint)
    Told.hosts_there = [host(PAYLOAD, odd, breaker("open", model=PAYLOAD), streamless=[endpoint])]
    for url in (HOSTS, LIST, MINE):
        shown = text(operating, url)
        assert "<script>window" not in shown
        assert "<img src=x" not in shown
    assert "&lt;img src=x" in text(operating, MINE)


def test_it_is_for_staff_and_only_looked_at(client: Client, alice: User, looker: User) -> None:
    client.force_login(alice)
    assert client.get(HOSTS).headers["Location"].startswith("/admin/login/")
    client.force_login(looker)
    assert client.post(HOSTS).status_code == 405
    assert Told.asked == 0


def test_who_does_not_answer_is_said_to_be_silent(looking: Client) -> None:
    profile("mine")
    assert pages.SILENT in text(looking, HOSTS)
    assert pages.SILENT in text(looking, MINE)
    text(looking, LIST)


def test_a_broken_live_half_takes_no_page_away(looking: Client) -> None:
    profile("mine")
    Told.broken = True
    assert pages.FAILED in text(looking, HOSTS)
    assert pages.FAILED in text(looking, MINE)
    assert "provider.example" in text(looking, LIST)


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        ([host("one")], "closed"),
        ([host("one", breaker("closed", failures=2))], "closed"),
        ([host("one", breaker("open", base_url="https://other.example/v1"))], "closed"),
        ([host("one", breaker("closed"), breaker("half_open", model="n"))], "half open"),
        ([host("one", breaker("half_open"), breaker("open", model="n"))], "open"),
        ([host("one", breaker("open")), host("two"), host("three")], "open (1 of 3 hosts)"),
        ([host("one", breaker("open")), host("two", breaker("half_open"))], "open (2 of 2 hosts)"),
        ([], "–"),
    ],
)
def test_the_list_shows_the_worst_state(looking: Client, hosts: list[dict[str, Any]], said: str) -> None:
    profile("mine")
    Told.hosts_there = hosts
    assert f'<td class="field-breaker">{said}</td>' in text(looking, LIST)


def test_a_list_asks_the_hosts_once(looking: Client) -> None:
    for name in ("mine", "other", "third"):
        profile(name)
    Told.hosts_there = [host("one", breaker("open"))]
    assert text(looking, LIST).count('<td class="field-breaker">open</td>') == 3
    assert Told.asked == 1
    text(looking, LIST)
    assert Told.asked == 2


@pytest.mark.parametrize("who", ["looking", "operating"])
def test_a_profile_shows_its_breaker_on_each_host(request: pytest.FixtureRequest, who: str) -> None:
    client: Client = request.getfixturevalue(who)
    profile("mine")
    other = breaker("open", base_url="https://other.example/v1", model="elsewhere")
    Told.hosts_there = [host("one", breaker("open"), other), host("two")]
    shown = text(client, MINE)
    assert "<div>one: open for m (failures in a row: 10, asked again in 17 s)</div>" in shown
    assert "<div>two: closed</div>" in shown
    assert "elsewhere" not in shown


def test_a_new_profile_has_none(operating: Client) -> None:
    assert "field-breakers" not in text(operating, f"{LIST}add/")
    assert Told.asked == 0
