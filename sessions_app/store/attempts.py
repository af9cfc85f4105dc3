"""The diagnostic record of an attempt: opened before the first byte, saved as it goes, ended once."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from sessions_app.models import ProviderAttempt
from sessions_app.store.fence import Fence, hold


def save_attempt(fence: Fence, attempt_id: UUID, run_id: UUID, record: dict[str, Any]) -> None:
    """Insert or replace the attempt's record. Raises LeaseLost."""
    with transaction.atomic():
        hold(fence)
        ProviderAttempt.objects.update_or_create(
            id=attempt_id,
            defaults={
                "session_id": fence.session_id,
                "run_id": run_id,
                "step": record["step"],
                "attempt": record["attempt"],
                "provider": record["provider"],
                "model": record["model"],
                "protocol": record["protocol"],
                "started_at": _time(record["started_at"]) or timezone.now(),
                "ended_at": _time(record.get("ended_at")),
                "outcome": record.get("outcome") or "",
                "phase": record.get("phase") or "",
                "error_class": record.get("error_class") or "",
                "http_status": record.get("http_status"),
                "record": record,
            },
        )


def close_open_attempts(run_id: UUID, reason: str) -> None:
    """End what a vanished actor left open, in the caller's transaction."""
    now = timezone.now()
    for row in ProviderAttempt.objects.filter(run_id=run_id, ended_at__isnull=True):
        stamp = now.isoformat().replace("+00:00", "Z")
        row.ended_at = now
        row.outcome = "cancelled"
        row.record = {
            **row.record,
            "ended_at": stamp,
            "outcome": "cancelled",
            # One that had failed and was waiting for its retry now has a cancel phase in its place.
            "failure_phase": None,
            "cancel_reason": reason,
            "cancel_phase": row.record.get("phase"),
            "cancel_observed_at": stamp,
        }
        row.save(update_fields=["ended_at", "outcome", "record"])


def _time(value: str | None) -> datetime | None:
    return parse_datetime(value) if value else None
