"""Profiles and tokens: what the admin writes goes through the store, and no secret comes back."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from sessions_app.models import ApiToken, ProviderProfile
from sessions_app.store.profiles import resolve
from sessions_app.store.tokens import issue_token

KEY = "sk-canary-1234567890"
ADD = "/admin/sessions_app/providerprofile/add/"


def form(**changes: object) -> dict[str, object]:
    values: dict[str, object] = {
        "name": "mine",
        "base_url": "https://provider.example/v1",
        "protocol": "responses",
        "model": "m",
        "new_api_key": KEY,
        "max_output_tokens": "",
        "connect_timeout": 5,
        "first_event_timeout": 5,
        "idle_timeout": 5,
        "request_timeout": 5,
        "run_timeout": 5,
        "max_retries": 1,
        "fallback": "",
    }
    return {**values, **changes}


def change_url() -> str:
    return reverse("admin:sessions_app_providerprofile_change", args=["mine"])


def test_a_profile_is_made_and_its_key_is_sealed_and_never_shown(operating: Client) -> None:
    assert operating.post(ADD, form()).status_code == 302
    row = ProviderProfile.objects.get(name="mine")
    assert KEY not in row.api_key
    assert resolve("mine").api_key == KEY
    for url in (change_url(), "/admin/sessions_app/providerprofile/", "/admin/"):
        assert KEY not in operating.get(url).content.decode()


def test_an_empty_key_keeps_the_stored_one(operating: Client) -> None:
    operating.post(ADD, form())
    assert operating.post(change_url(), form(new_api_key="", model="other")).status_code == 302
    changed = resolve("mine")
    assert (changed.model, changed.api_key) == ("other", KEY)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base_url": "http://169.254.169.254/"}, "base_url must be"),
        ({"base_url": "file:///etc/passwd"}, "base_url must be"),
        ({"name": "demo"}, "own and cannot be changed"),
        ({"fallback": "nobody"}, "fallback must be"),
        ({"name": "../x"}, "valid"),
    ],
)
def test_what_the_store_refuses_the_form_refuses(
    operating: Client, changes: dict[str, object], said: str
) -> None:
    answer = operating.post(ADD, form(**changes))
    assert answer.status_code == 200
    assert said in answer.content.decode()
    assert not ProviderProfile.objects.exists()


def test_a_key_does_not_follow_to_another_address(operating: Client) -> None:
    operating.post(ADD, form())
    answer = operating.post(change_url(), form(new_api_key="", base_url="https://other.example/v1"))
    assert "api_key must be given again" in answer.content.decode()
    assert resolve("mine").base_url == "https://provider.example/v1"


def test_a_profile_is_deleted_through_the_store(operating: Client) -> None:
    operating.post(ADD, form())
    url = reverse("admin:sessions_app_providerprofile_delete", args=["mine"])
    assert operating.post(url, {"post": "yes"}).status_code == 302
    assert not ProviderProfile.objects.exists()


def test_who_may_only_look_sees_profiles_and_changes_none(
    client: Client, operator: User, looker: User
) -> None:
    client.force_login(operator)
    client.post(ADD, form(name="mine"))
    ProviderProfile.objects.update(headers={"X-Secret": "canary-value"})
    client.force_login(looker)
    shown = client.get(change_url()).content.decode()
    assert "X-Secret" in shown
    assert "canary-value" not in shown
    assert client.post(change_url(), form(model="other")).status_code == 403
    assert client.post(ADD, form(name="second")).status_code == 403
    assert resolve("mine").model == "m"


def test_a_token_is_listed_without_its_digest_and_revoked_for_good(operating: Client, alice: User) -> None:
    row, token = issue_token(alice, "laptop")
    page = operating.get(reverse("admin:sessions_app_apitoken_change", args=[row.id])).content.decode()
    assert row.digest not in page
    assert token not in page
    data = {"action": "revoke", "_selected_action": str(row.id)}
    assert operating.post("/admin/sessions_app/apitoken/", data).status_code == 302
    assert ApiToken.objects.get(pk=row.pk).revoked_at is not None
