"""The admin is for looking: who may, what is escaped, what is on record, and that nothing can be changed."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from sessions_app import models
from tests.integration.admin.conftest import PAYLOAD, World

LOOK_ONLY = [
    models.Session,
    models.Run,
    models.Input,
    models.ProviderAttempt,
    models.ToolCall,
    models.Entry,
    models.ContentChunk,
    models.Artifact,
]
NAMES = [model._meta.model_name for model in LOOK_ONLY]


def list_url(name: str | None) -> str:
    return reverse(f"admin:sessions_app_{name}_changelist")


def page_url(row: Any, page: str = "change") -> str:
    return reverse(f"admin:sessions_app_{row._meta.model_name}_{page}", args=[row.pk])


@pytest.mark.parametrize("name", NAMES)
def test_staff_who_only_look_see_every_list_and_page_without_a_form(
    looking: Client, world: World, name: str
) -> None:
    row = next(row for row in world.rows() if row._meta.model_name == name)
    listed = looking.get(list_url(name))
    shown = looking.get(page_url(row))
    assert listed.status_code == shown.status_code == 200
    assert page_url(row) in listed.content.decode()
    assert 'name="_save"' not in shown.content.decode()
    assert 'name="action"' not in listed.content.decode()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_users_or_models_write_is_markup(looking: Client, world: World, name: str) -> None:
    row = next(row for row in world.rows() if row._meta.model_name == name)
    for url in (list_url(name), page_url(row), page_url(row, "history"), f"{list_url(name)}?q={PAYLOAD}"):
        text = looking.get(url).content.decode()
        assert "<script>window" not in text
        assert "<img src=x" not in text


@pytest.mark.parametrize("name", NAMES)
def test_not_even_a_superuser_changes_what_lasts(operating: Client, world: World, name: str) -> None:
    row = next(row for row in world.rows() if row._meta.model_name == name)
    before = type(row).objects.values().get(pk=row.pk)
    forged = {"name": "changed", "state": "completed", "_save": "1"}
    assert operating.post(page_url(row), forged).status_code == 403
    assert operating.post(page_url(row, "delete"), {"post": "yes"}).status_code == 403
    assert operating.get(reverse(f"admin:sessions_app_{name}_add")).status_code == 403
    deleted = {"action": "delete_selected", "_selected_action": str(row.pk), "post": "yes"}
    operating.post(list_url(name), deleted)
    assert type(row).objects.values().get(pk=row.pk) == before


@pytest.mark.parametrize("name", [*NAMES, "apitoken", "providerprofile"])
def test_who_is_not_staff_is_sent_to_the_login(client: Client, alice: User, world: World, name: str) -> None:
    client.force_login(alice)
    answer = client.get(list_url(name))
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/admin/login/")


@pytest.mark.parametrize("name", NAMES)
def test_looking_into_anothers_session_is_on_record(
    looking: Client, looker: User, world: World, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    row = next(row for row in world.rows() if row._meta.model_name == name)
    with caplog.at_level("INFO", logger="albedo.audit"):
        looking.get(page_url(row))
    lines = [record.getMessage() for record in caplog.records if record.name == "albedo.audit"]
    assert any(f"user {looker.pk} looks" in line and str(world.session.pk) in line for line in lines)


def test_looking_into_ones_own_session_is_not(
    client: Client, operator: User, caplog: pytest.LogCaptureFixture
) -> None:
    from tests.integration.admin.conftest import make_world

    own = make_world(operator)
    client.force_login(operator)
    with caplog.at_level("INFO", logger="albedo.audit"):
        client.get(page_url(own.session))
    assert [record for record in caplog.records if record.name == "albedo.audit"] == []


def test_a_session_leads_to_everything_of_it(looking: Client, world: World) -> None:
    text = looking.get(page_url(world.session)).content.decode()
    for name in ("run", "providerattempt", "input", "entry", "toolcall", "artifact"):
        url = f"{list_url(name)}?session__id__exact={world.session.pk}"
        assert f'href="{url}"' in text
        assert looking.get(url).status_code == 200


def test_a_list_narrowed_to_a_session_has_only_its_rows(
    looking: Client, world: World, operator: User
) -> None:
    from tests.integration.admin.conftest import make_world

    other = make_world(operator)
    text = looking.get(f"{list_url('run')}?session__id__exact={world.session.pk}").content.decode()
    assert str(world.run.pk) in text
    assert str(other.run.pk) not in text


def test_an_entry_leads_to_its_large_texts(looking: Client, world: World) -> None:
    text = looking.get(page_url(world.entry)).content.decode()
    assert f"{list_url('contentchunk')}?entry__id__exact={world.entry.pk}&amp;field__exact=output" in text


def test_a_long_text_is_shown_to_a_bound(looking: Client, world: World) -> None:
    models.Input.objects.filter(pk=world.input.pk).update(text="x" * 100_000 + "THE END")
    text = looking.get(page_url(world.input)).content.decode()
    assert "THE END" not in text
    assert "80007 more characters" in text


def test_search_finds_by_id_and_never_fails_on_odd_words(looking: Client, world: World) -> None:
    for name in NAMES:
        assert looking.get(list_url(name), {"q": "\x00%_'\"" + "x" * 500}).status_code == 200
    found = looking.get(list_url("run"), {"q": str(world.session.pk)}).content.decode()
    assert str(world.run.pk) in found
    assert str(world.run.pk) not in looking.get(list_url("run"), {"q": "nothing"}).content.decode()


def test_lookups_that_no_page_offers_are_refused(looking: Client, world: World) -> None:
    answer = looking.get(f"{list_url('session')}?owner__password__startswith=p")
    assert answer.status_code == 400
    odd = looking.get(f"{list_url('providerattempt')}?outcome=nonsense")
    assert odd.status_code == 200
