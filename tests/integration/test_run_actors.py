"""What `run_actors` refuses to run on."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

pytestmark = pytest.mark.django_db


def test_without_a_layer_that_reaches_other_processes_it_does_not_start() -> None:
    with pytest.raises(CommandError, match="REDIS_URL"):
        call_command("run_actors")


def test_on_sqlite_it_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", "redis://localhost")
    with pytest.raises(CommandError, match="DATABASE_URL"):
        call_command("run_actors")
