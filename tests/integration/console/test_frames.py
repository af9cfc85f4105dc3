"""What code displays as a page is shown in a frame where it can do nothing."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from sessions_app.models import Artifact, Run, Session, ToolCall

HTML = b"<script>fetch('/api/sessions')</script><b>hello</b>"


def artifact(session: Session, mime_type: str = "text/html") -> Artifact:
    now = timezone.now()
    run = Run.objects.create(session=session, generation=1, started_at=now, state="completed")
    call = ToolCall.objects.create(
        session=session,
        run=run,
        generation=1,
        step=1,
        attempt=1,
        output_index=0,
        call_id=f"call-{run.id}",
        tool_call_id="t",
        name="python",
        created_at=now,
    )
    return Artifact.objects.create(
        session=session, tool_call=call, mime_type=mime_type, data=HTML, size_bytes=len(HTML), created_at=now
    )


def url(made: Artifact, session: Session | None = None) -> str:
    return f"/sessions/{(session or made.session).id}/frames/{made.id}/"


@pytest.mark.parametrize("mime_type", ["text/html", "image/svg+xml"])
def test_a_page_comes_with_headers_that_let_nothing_of_it_run(
    client: Client, alice: User, session: Session, mime_type: str
) -> None:
    client.force_login(alice)
    answer = client.get(url(artifact(session, mime_type)))
    assert answer.content == HTML
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "script" not in policy
    assert "allow" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"


@pytest.mark.parametrize("mime_type", ["application/javascript", "image/png", "text/plain"])
def test_nothing_else_is_shown_this_way(
    client: Client, alice: User, session: Session, mime_type: str
) -> None:
    client.force_login(alice)
    assert client.get(url(artifact(session, mime_type))).status_code == 404


def test_only_who_may_see_the_session_gets_it(
    client: Client, alice: User, bob: User, session: Session
) -> None:
    made = artifact(session)
    assert client.get(url(made)).status_code == 302
    client.force_login(bob)
    assert client.get(url(made)).status_code == 404
    now = timezone.now()
    own = Session.objects.create(owner=bob, workspace="/b", created_at=now, activity_at=now)
    assert client.get(url(made, own)).status_code == 404
