"""Signing in by password and by token: what is let in, what is counted, where it leads."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.store.tokens import issue_token, revoke_token
from tests.integration.console.conftest import PASSWORD


def sign_in(client: Client, name: str, password: str, **more: str) -> int:
    return client.post("/login/", {"username": name, "password": password, **more}).status_code


def test_without_a_login_every_page_leads_to_the_form(client: Client, session: object) -> None:
    for path in ("/", "/sessions/01890000-0000-7000-8000-000000000000/"):
        answer = client.get(path)
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith("/login/?next=/")


def test_a_password_signs_in_and_leads_where_one_wanted_to_go(client: Client, alice: User) -> None:
    answer = client.post("/login/", {"username": "alice", "password": PASSWORD, "next": "/sessions/x/"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/sessions/x/")
    assert client.get("/").status_code == 200


def test_a_wrong_password_says_no_more_than_that(client: Client, alice: User) -> None:
    wrong = client.post("/login/", {"username": "alice", "password": "x"})
    unknown = client.post("/login/", {"username": "nobody", "password": "x"})
    assert wrong.status_code == unknown.status_code == 401
    assert b"does not match" in wrong.content
    assert client.get("/").status_code == 302


@pytest.mark.parametrize(
    "next_path",
    [
        "//evil.example",
        r"\\evil.example",
        "https:evil.example",
        "https://evil.example/",
        "javascript:alert(1)",
        "evil",
    ],
)
def test_the_way_on_never_leaves_the_server(client: Client, alice: User, next_path: str) -> None:
    answer = client.post("/login/", {"username": "alice", "password": PASSWORD, "next": next_path})
    assert answer.headers["Location"] == "/"


def test_failed_tries_are_counted_for_the_account_from_wherever_they_come(alice: User, bob: User) -> None:
    limit = int(settings.ALBEDO["login_attempts_per_minute"])
    for number in range(limit):
        assert sign_in(Client(REMOTE_ADDR=f"10.0.0.{number}"), "alice", "x") == 401
    refused = Client(REMOTE_ADDR="10.0.1.1").post("/login/", {"username": "alice", "password": PASSWORD})
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert sign_in(Client(REMOTE_ADDR="10.0.1.1"), "bob", PASSWORD) == 302


def test_failed_tries_are_counted_for_the_address_whatever_the_account(alice: User) -> None:
    for number in range(int(settings.ALBEDO["login_attempts_per_minute"])):
        sign_in(Client(REMOTE_ADDR="10.0.0.1"), f"guess{number}", "x")
    assert sign_in(Client(REMOTE_ADDR="10.0.0.1"), "alice", PASSWORD) == 429
    assert sign_in(Client(REMOTE_ADDR="10.0.0.2"), "alice", PASSWORD) == 302


def test_a_token_is_exchanged_for_a_login(client: Client, alice: User) -> None:
    _, token = issue_token(alice, "laptop")
    assert client.post("/login/", {"token": token}).status_code == 302
    page = client.get("/")
    assert page.status_code == 200
    assert token not in page.content.decode()


def test_a_revoked_token_signs_nobody_in(client: Client, alice: User) -> None:
    row, token = issue_token(alice, "laptop")
    revoke_token(alice, row.id)
    assert client.post("/login/", {"token": token}).status_code == 401
    assert client.post("/login/", {"token": "ä" * 50}).status_code == 401


@pytest.mark.django_db(transaction=True)
def test_a_login_lasts_no_longer_than_the_token_that_it_was_made_from(client: Client, alice: User) -> None:
    row, token = issue_token(alice, "laptop")
    other_row, other_token = issue_token(alice, "desk")
    desk, by_password = Client(), Client()
    client.post("/login/", {"token": token})
    desk.post("/login/", {"token": other_token})
    by_password.post("/login/", {"username": "alice", "password": PASSWORD})
    for browser in (client, desk, by_password):
        assert browser.get("/").status_code == 200
        assert browser.get("/api/sessions").status_code == 200
    revoke_token(alice, row.id)
    assert client.get("/api/sessions").status_code == 401
    assert client.get("/").status_code == 302
    # Not only refused: gone, so that nothing brings it back.
    assert SESSION_KEY not in client.session
    for browser in (desk, by_password):
        assert browser.get("/").status_code == 200
        assert browser.get("/api/sessions").status_code == 200
    assert other_row.revoked_at is None


def test_who_signs_in_by_password_in_the_same_browser_is_not_signed_out_with_the_token(
    client: Client, alice: User
) -> None:
    row, token = issue_token(alice, "laptop")
    client.post("/login/", {"token": token})
    client.post("/login/", {"username": "alice", "password": PASSWORD})
    revoke_token(alice, row.id)
    assert client.get("/").status_code == 200


def test_guessed_tokens_are_counted(client: Client, alice: User) -> None:
    _, token = issue_token(alice, "laptop")
    for number in range(int(settings.ALBEDO["login_attempts_per_minute"])):
        assert client.post("/login/", {"token": f"albedo_{number}"}).status_code == 401
    assert client.post("/login/", {"token": token}).status_code == 429


def test_the_form_asks_for_its_csrf_token(alice: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert sign_in(strict, "alice", PASSWORD) == 403


def test_the_admins_own_login_is_this_one(client: Client, alice: User) -> None:
    answer = client.get("/admin/login/?next=/admin/")
    assert answer.headers["Location"] == "/login/?next=/admin/"


def test_who_may_not_see_the_admin_is_told_so_and_not_sent_in_circles(client: Client, alice: User) -> None:
    client.force_login(alice)
    page = client.get("/login/?next=/admin/")
    assert page.status_code == 403
    assert b"may not see the admin" in page.content
    assert client.get("/login/?next=/").headers["Location"] == "/"


def test_signing_out_takes_a_post(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get("/logout/").status_code == 405
    client.post("/logout/")
    assert client.get("/").status_code == 302


def test_a_nul_in_a_name_is_no_error_of_ours(client: Client, alice: User) -> None:
    assert sign_in(client, "ali\x00ce", PASSWORD) == 401
