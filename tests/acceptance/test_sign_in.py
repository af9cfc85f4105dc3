"""Who is let in: the same at every web process, whatever a client claims on its way through a proxy."""

from __future__ import annotations

import time
from collections import Counter

import httpx
from django.conf import settings
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.support.server import ServerProcess
from tests.support.session import SessionClient

# More requests than there are web processes to take them in turns.
TURNS = 8
WINDOW_SECONDS = 60
# What only a proxy may say.
CLAIMS = {
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "evil.example",
    "Forwarded": "for=1.2.3.4;proto=https",
}


def try_to_sign_in(browser: httpx.Client, token: str, **claims: str) -> int:
    browser.get("/login/").raise_for_status()
    form = {"token": token, "csrfmiddlewaretoken": browser.cookies["csrftoken"], "next": "/"}
    return browser.post("/login/", data=form, headers=claims).status_code


def present_window() -> int:
    return int(time.time()) // WINDOW_SECONDS


def attach(session: SessionClient, **headers: str) -> int:
    """The status of a WebSocket's opening."""
    url = f"{session.server.url.replace('http', 'ws', 1)}/ws/sessions/{session.id}"
    try:
        with connect(url, additional_headers=headers, proxy=None):
            return 101
    except InvalidStatus as refusal:
        return refusal.response.status_code


def test_a_login_counts_at_its_own_origin_alone(server: ServerProcess) -> None:
    session = SessionClient.create(server)
    with server.client("") as browser:
        assert try_to_sign_in(browser, server.token) == 302
        cookie = f"sessionid={browser.cookies['sessionid']}"
        for _ in range(TURNS):
            assert browser.get(session.path).status_code == 200
    assert attach(session, Cookie=cookie, Origin=server.url) == 101
    for origin in ("http://evil.example", "null", server.url.replace("http://", "https://")):
        for claims in ({}, CLAIMS):
            assert attach(session, Cookie=cookie, Origin=origin, **claims) == 403


def test_a_token_that_is_revoked_opens_nothing_any_more(server: ServerProcess) -> None:
    made = server.client().post("/api/tokens", json={"name": "short-lived"}).json()
    session = SessionClient.create(server, made["token"])
    with session.follow() as follower:
        for _ in range(TURNS):
            assert session.http.get(session.path).status_code == 200
        assert server.client().delete(f"/api/tokens/{made['id']}").status_code == 204
        for _ in range(TURNS):
            assert session.http.get(session.path).status_code == 401
        follower.until(lambda: follower.close_code is not None, "the end of the stream")
        assert follower.close_code == 4401


def test_failed_tries_are_counted_together_and_no_claim_makes_a_client_another_one(
    server: ServerProcess,
) -> None:
    allowed = int(settings.ALBEDO["login_attempts_per_minute"])
    answers: dict[int, Counter[int]] = {}
    addresses = (f"10.0.0.{number}" for number in range(1, 255))
    while not any(found.total() >= allowed + TURNS for found in answers.values()):
        window = present_window()
        claimed = next(addresses)
        with server.client("") as browser:
            status = try_to_sign_in(browser, "wrong", **{"X-Forwarded-For": claimed, "X-Real-IP": claimed})
        if window == present_window():
            answers.setdefault(window, Counter())[status] += 1
    for found in answers.values():
        assert found.keys() <= {401, 429}
        assert found[401] <= allowed
