"""One-time links: good once, for ten minutes, for nobody else."""

from __future__ import annotations

import threading
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.db import connections
from django.test import Client

from sessions_app.console.login_links import SALT, TICKET_SECONDS, make_login_link, take_ticket


def path_of(link: str) -> str:
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


def ticket_of(link: str) -> str:
    return parse_qs(urlsplit(link).query)["ticket"][0]


def test_a_link_signs_in_once(alice: User) -> None:
    link = make_login_link(alice, "http://127.0.0.1:8000/")
    assert link.startswith("http://127.0.0.1:8000/enter/?ticket=")
    first, second = Client(), Client()
    answer = first.get(path_of(link))
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert first.get("/").status_code == 200
    assert second.get(path_of(link)).status_code == 403
    assert second.get("/").status_code == 302


def test_looking_at_a_link_does_not_use_it_up(client: Client, alice: User) -> None:
    link = path_of(make_login_link(alice, "http://h"))
    assert client.head(link).status_code == 403
    assert client.get(link).status_code == 302


def test_a_link_is_too_old_after_its_time(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(seconds_ago: int) -> str:
        stamp = signing.b62_encode(int(time.time()) - seconds_ago)
        with monkeypatch.context() as patch:
            patch.setattr(signing.TimestampSigner, "timestamp", lambda self: stamp)
            return ticket_of(make_login_link(alice, "http://h"))

    assert take_ticket(made(TICKET_SECONDS + 2)) is None
    assert take_ticket(made(TICKET_SECONDS - 60)) == alice


@pytest.mark.parametrize("ticket", ["", "x", "a:b:c", "x" * 5_000, "\x00", "ä"])
def test_what_is_no_ticket_signs_nobody_in(client: Client, alice: User, ticket: str) -> None:
    assert client.get("/enter/", {"ticket": ticket}).status_code == 403


def test_a_ticket_signed_for_something_else_is_none(alice: User) -> None:
    assert take_ticket(signing.dumps([alice.pk, ""], salt="other")) is None
    assert take_ticket(signing.dumps({"odd": 1}, salt=SALT)) is None
    assert take_ticket(signing.dumps([alice.pk, ""], salt=SALT)) == alice


def test_a_user_who_was_shut_out_has_no_use_of_a_link(alice: User) -> None:
    ticket = ticket_of(make_login_link(alice, "http://h"))
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert take_ticket(ticket) is None


@pytest.mark.django_db(transaction=True)
def test_of_many_who_use_a_link_at_once_one_gets_in(alice: User) -> None:
    ticket = ticket_of(make_login_link(alice, "http://h"))
    ready = threading.Barrier(6)
    let_in: list[User] = []

    def use() -> None:
        ready.wait()
        user = take_ticket(ticket)
        if user:
            let_in.append(user)
        connections.close_all()

    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert let_in == [alice]
