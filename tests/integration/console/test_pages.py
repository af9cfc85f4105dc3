"""The shells: who gets them, and that no script, style or text of a model stands in them."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.test import Client

from sessions_app.models import Session

PAYLOAD = "</script><script>alert(1)</script>"


def page(client: Client, session: Session) -> str:
    answer = client.get(f"/sessions/{session.id}/")
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    return answer.content.decode()


def test_the_owner_gets_the_shell_with_its_session(client: Client, alice: User, session: Session) -> None:
    client.force_login(alice)
    text = page(client, session)
    assert f'data-session-id="{session.id}"' in text
    assert 'data-csrf="' in text


def test_somebody_elses_session_is_as_if_there_were_none(client: Client, bob: User, session: Session) -> None:
    client.force_login(bob)
    theirs = client.get(f"/sessions/{session.id}/")
    none = client.get("/sessions/01890000-0000-7000-8000-000000000000/")
    assert theirs.status_code == none.status_code == 404
    assert theirs.content == none.content


def test_that_staff_open_anothers_session_is_on_record(
    client: Client, staff: User, session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    client.force_login(staff)
    with caplog.at_level("INFO", logger="albedo.audit"):
        page(client, session)
    assert any(str(session.id) in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("path", ["/", "/login/", "/enter/?ticket=x"])
def test_pages_have_no_script_or_style_of_their_own(client: Client, alice: User, path: str) -> None:
    if path == "/":
        client.force_login(alice)
    text = client.get(path).content.decode()
    assert re.search(r"<script(?![^>]*\bsrc=)", text) is None
    assert re.search(r"<style|\sstyle=|\son\w+=", text) is None


def test_the_policy_lets_only_our_own_scripts_run(client: Client, alice: User) -> None:
    client.force_login(alice)
    policy = client.get("/").headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


def test_headers_and_queries_do_not_come_back_in_the_page(client: Client, alice: User) -> None:
    headers = {"Accept-Language": PAYLOAD, "Referer": PAYLOAD, "User-Agent": PAYLOAD}
    for path in ("/login/?next=" + PAYLOAD, "/enter/?ticket=" + PAYLOAD):
        assert PAYLOAD not in client.get(path, headers=headers).content.decode()


def test_every_file_that_a_page_or_module_names_exists(client: Client, alice: User, session: Session) -> None:
    client.force_login(alice)
    seen: set[str] = set()
    waiting = set(re.findall(r'/static/([^"?]+)', page(client, session)))
    assert "albedo/main.js" in waiting
    while waiting:
        name = waiting.pop()
        seen.add(name)
        found = finders.find(name)
        assert found, name
        if name.endswith(".js"):
            with open(found, encoding="utf-8") as file:
                waiting |= {
                    f"albedo/{other}" for other in re.findall(r'from "\./([^"]+)"', file.read())
                } - seen
