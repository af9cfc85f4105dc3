"""System checks of our own."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
from django.conf import settings
from django.core import checks as django_checks

from albedo_project import checks


def found(*, deploy: bool = False) -> list[str]:
    messages = django_checks.run_checks(include_deployment_checks=deploy)
    return [message.id for message in messages if message.id and message.id.startswith("albedo.")]


def test_our_own_servers_are_not_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    assert found(deploy=True) == []
    checks.warn_of_server()
    assert caplog.messages == []


def test_daphne_s_own_command_is(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "daphne.cli", ModuleType("daphne.cli"))
    assert found() == ["albedo.W001"]
    checks.warn_of_server()
    assert "(albedo.W001)" in caplog.text
    assert "run_web" in caplog.text


def test_a_warning_can_be_silenced(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "daphne.cli", ModuleType("daphne.cli"))
    monkeypatch.setattr(settings, "SILENCED_SYSTEM_CHECKS", ["albedo.W001"])
    checks.warn_of_server()
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("vendor", "given", "expected"),
    [
        ("sqlite", False, []),
        ("postgresql", False, ["albedo.W002"]),
        ("postgresql", True, []),
    ],
)
def test_keys_of_one_data_folder_are_warned_about_where_there_may_be_several(
    vendor: str, given: bool, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "connection", SimpleNamespace(vendor=vendor))
    monkeypatch.setattr(settings, "KEYS_GIVEN", given)
    assert [message.id for message in checks.check_keys(None)] == expected


@pytest.mark.parametrize(
    ("vendor", "redis_url", "expected"),
    [
        ("sqlite", "", []),
        ("postgresql", "", ["albedo.W003"]),
        ("postgresql", "redis://redis/0", []),
    ],
)
def test_a_shared_database_without_a_shared_layer_is_warned_about(
    vendor: str, redis_url: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "connection", SimpleNamespace(vendor=vendor))
    monkeypatch.setattr(settings, "REDIS_URL", redis_url)
    assert [message.id for message in checks.check_layer(None)] == expected
