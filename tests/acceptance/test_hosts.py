"""A provider that fails again and again: nothing more is sent to it, and the operator sees why."""

from __future__ import annotations

import re

import httpx

from streaming.providers.scripted import ScriptedThread
from streaming.providers.scripted_http import Out, ScriptedRequest
from tests.acceptance.conftest import define_profile
from tests.support.processes import wait_for
from tests.support.server import ServerProcess, StartServer
from tests.support.session import SessionClient

# Fewer than by default: it is the setting that opens the breaker.
FAILURES = 3
KEY = "sk-canary-5d41402abc4b"
LINK = re.compile(r"Open (http\S+)\s")


async def out_of_order(request: ScriptedRequest, out: Out) -> None:
    await out.json(500, {"error": {"message": "out of order"}})


def signed_in(server: ServerProcess) -> httpx.Client:
    """A browser that followed the link which the server printed at its start."""
    wait_for(lambda: bool(LINK.search(server.log.read_text("utf-8"))), "the link")
    found = LINK.search(server.log.read_text("utf-8"))
    assert found is not None
    client = server.client(token="", follow_redirects=True)
    client.get(found[1]).raise_for_status()
    return client


def shown(client: httpx.Client, path: str) -> str:
    return client.get(path).raise_for_status().text


def test_a_provider_that_goes_on_failing_is_left_alone_and_the_operator_sees_it(
    start_server: StartServer,
) -> None:
    server = start_server(ALBEDO_WIRE_BREAKER_FAILURES=str(FAILURES), ALBEDO_WIRE_BREAKER_OPEN_SECONDS="3600")
    staff = signed_in(server)
    with ScriptedThread(out_of_order) as provider:
        name = define_profile(server, provider.base_url, "responses", api_key=KEY, max_retries=0)
        profile = f"/admin/sessions_app/providerprofile/{name}/change/"
        assert "closed" in shown(staff, profile)
        session = SessionClient.create(server, provider=name)
        for number in range(FAILURES + 1):
            session.answer(f"try {number}")
        assert len(provider.requests) == FAILURES
    hosts = shown(staff, "/admin/hosts/")
    assert '<td class="albedo-open">open</td>' in hosts
    assert provider.base_url in hosts
    assert f"open for scripted (failures in a row: {FAILURES}" in shown(staff, profile)
    # Each host has breakers of its own; one of them had the session.
    hosts_there = len(server.actor_pids)
    in_short = "open" if hosts_there == 1 else f"open (1 of {hosts_there} hosts)"
    assert f">{in_short}</td>" in shown(staff, "/admin/sessions_app/providerprofile/")
    assert KEY not in hosts + shown(staff, profile)


def test_hosts_are_found_over_redis_too_and_go_without_a_complaint(
    start_server: StartServer, redis_url: str
) -> None:
    server = start_server(REDIS_URL=redis_url)
    staff = signed_in(server)
    idle, there = '<th scope="row">actors</th><td>0</td>', len(server.actor_pids)
    wait_for(lambda: shown(staff, "/admin/hosts/").count(idle) == there, "every host")
    assert server.terminate() == 0
    assert "cannot be left" not in server.output()
