"""Provider profiles: staff only, keys sealed, addresses judged, and what the runtime gets of them."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.api.providers import ProfileChange
from sessions_app.models import ProviderProfile
from sessions_app.store.executor import read
from sessions_app.store.profiles import UnknownProfile, resolve
from tests.integration.api.callers import Caller, problem, told

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/api/providers/mine"
BODY = {"base_url": "http://127.0.0.1:9999/v1", "protocol": "responses", "model": "m"}
CANARY = "sk-canary-5f1d0c"


async def test_only_staff_see_or_change_profiles(alice: Caller) -> None:
    for method, path in (
        ("GET", "/api/providers"),
        ("GET", PATH),
        ("PUT", PATH),
        ("PATCH", PATH),
        ("DELETE", PATH),
    ):
        body = BODY if method == "PUT" else {} if method == "PATCH" else None
        problem(await alice.send(method, path, body), 403, "forbidden")
    assert await read(ProviderProfile.objects.count) == 0


async def test_a_key_is_written_sealed_and_never_shown(staff: Caller) -> None:
    answer = await staff.send("PUT", PATH, {**BODY, "api_key": CANARY})
    assert answer.status_code == 201
    assert told(answer)["has_key"] is True
    for shown in (answer, await staff.get(PATH), await staff.get("/api/providers")):
        assert CANARY.encode() not in shown.content
    stored = await read(lambda: list(ProviderProfile.objects.values_list()))
    assert CANARY not in repr(stored)
    profile = await read(resolve, "mine")
    assert profile.api_key == CANARY
    assert CANARY not in repr(profile)


async def test_a_put_replaces_and_a_patch_changes(staff: Caller) -> None:
    await staff.send("PUT", PATH, {**BODY, "max_retries": 1, "api_key": CANARY})
    replaced = await staff.send("PUT", PATH, {**BODY, "model": "other"})
    assert replaced.status_code == 200
    shown = told(replaced)
    assert (shown["max_retries"], shown["model"], shown["has_key"]) == (4, "other", True)
    changed = told(await staff.send("PATCH", PATH, {"idle_timeout": 3, "api_key": ""}))
    assert (changed["idle_timeout"], changed["model"], changed["has_key"]) == (3.0, "other", False)
    await staff.send("PATCH", PATH, {"max_output_tokens": 5})
    assert told(await staff.send("PATCH", PATH, {"max_output_tokens": None}))["max_output_tokens"] is None
    assert (await staff.send("DELETE", PATH)).status_code == 204
    problem(await staff.get(PATH), 404, "not_found")
    problem(await staff.send("DELETE", PATH), 404, "not_found")


@pytest.mark.parametrize("field", sorted({*ProfileChange.model_fields} - {"max_output_tokens"}))
async def test_null_is_no_value_of_a_profile(staff: Caller, field: str) -> None:
    await staff.send("PUT", PATH, BODY)
    for method, body in (("PATCH", {field: None}), ("PUT", {**BODY, field: None})):
        refused = problem(await staff.send(method, PATH, body), 400, "invalid_request")
        assert refused["fields"] == [f"/{field}"]


async def test_a_key_does_not_follow_to_another_address(staff: Caller) -> None:
    await staff.send("PUT", PATH, {**BODY, "api_key": CANARY})
    moved = {"base_url": "http://127.0.0.1:1234"}
    for method, body in (("PATCH", moved), ("PUT", {**BODY, **moved})):
        found = problem(await staff.send(method, PATH, body), 400, "invalid_request")
        assert found["fields"] == ["/api_key"]
    assert (await staff.send("PATCH", PATH, {**moved, "api_key": "new"})).status_code == 200


async def test_a_key_may_be_named_by_a_variable_but_not_by_the_servers_own(
    staff: Caller, settings: Any
) -> None:
    settings.PROVIDER_KEY_SOURCE = {"VENDOR_API_KEY": CANARY}
    await staff.send("PUT", PATH, {**BODY, "api_key": "env:VENDOR_API_KEY"})
    assert (await read(resolve, "mine")).api_key == CANARY
    assert CANARY.encode() not in (await staff.get(PATH)).content
    for name in (
        "SECRET_KEY",
        "ENCRYPTION_KEY",
        "DATABASE_URL",
        "ALBEDO_METRICS_TOKEN",
        "PGPASSWORD",
        "x y",
        "",
    ):
        answer = await staff.send("PUT", PATH, {**BODY, "api_key": f"env:{name}"})
        problem(answer, 400, "invalid_request")


@pytest.mark.parametrize(
    "change",
    [
        {"protocol": "soap"},
        {"model": ""},
        {"name": "x"},
        {"api_key": "two words"},
        {"api_key": "line\nbreak"},
        {"headers": {"Authorization": "Bearer x"}},
        {"headers": {"X-Api-Key": "x"}},
        {"headers": {"Host": "x"}},
        {"headers": {"X-A": "a\r\nX-B: b"}},
        {"headers": {"X A": "a"}},
        {"headers": {f"X-{n}": "a" for n in range(21)}},
        {"max_retries": -1},
        {"max_retries": 1.5},
        {"idle_timeout": 0},
        {"idle_timeout": "3"},
        {"max_output_tokens": 0},
        {"fallback": "mine"},
        {"fallback": "missing"},
        {"base_url": "http://169.254.169.254/latest"},
        {"base_url": "file:///etc/passwd"},
    ],
)
async def test_what_a_profile_cannot_be_is_refused(staff: Caller, change: dict[str, Any]) -> None:
    found = problem(await staff.send("PUT", PATH, {**BODY, **change}), 400, "invalid_request")
    assert found["fields"][0].startswith(f"/{next(iter(change))}")
    assert await read(ProviderProfile.objects.count) == 0


@pytest.mark.parametrize("name", ["UPPER", "_x", "a" * 65, "a.b", "é", "%00", "a%0A"])
async def test_a_profiles_name_is_plain(staff: Caller, name: str) -> None:
    problem(await staff.send("PUT", f"/api/providers/{name}", BODY), 400, "invalid_request")
    problem(await staff.get(f"/api/providers/{name}"), 404, "not_found")


async def test_the_servers_own_profiles_are_listed_and_fixed(staff: Caller) -> None:
    listed = told(await staff.get("/api/providers"))
    assert [(item["name"], item["built_in"]) for item in listed["items"]] == [("demo", True)]
    for method, body in (("PUT", BODY), ("PATCH", {}), ("DELETE", None)):
        problem(await staff.send(method, "/api/providers/demo", body), 409, "profile_built_in")


async def test_profiles_are_paged_by_name(staff: Caller) -> None:
    for name in ("c", "a", "b"):
        await staff.send("PUT", f"/api/providers/{name}", BODY)
    first = told(await staff.get("/api/providers?limit=2"))
    rest = told(await staff.get(f"/api/providers?limit=2&next={first['next']}"))
    assert [item["name"] for item in first["items"] + rest["items"]] == ["demo", "a", "b", "c"]


async def test_no_name_means_the_environments_then_the_stored_default_then_the_demo(
    staff: Caller, settings: Any
) -> None:
    assert (await read(resolve, "")).name == "demo"
    await staff.send("PUT", "/api/providers/default", {**BODY, "model": "stored"})
    assert (await read(resolve, "")).model == "stored"
    environment = {"name": "default", "api_key": CANARY, **BODY, "model": "environment"}
    settings.ENV_PROFILE = environment
    assert (await read(resolve, "")).model == "environment"
    assert CANARY.encode() not in (await staff.get("/api/providers")).content
    with pytest.raises(UnknownProfile):
        await read(resolve, "missing")


async def test_a_session_can_only_name_a_profile_that_exists(staff: Caller) -> None:
    await staff.send("PUT", PATH, BODY)
    assert (await staff.make_session(provider="mine"))["provider"] == "mine"
    assert (await staff.make_session(provider="demo"))["provider"] == "demo"
    problem(await staff.send("POST", "/api/sessions", {"provider": "other"}), 400, "invalid_request")
