"""Which actor hosts live: each says so again and again, and is believed for a while by the database."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now

from sessions_app.models import Host
from sessions_app.store.claims import lease_end

# A host that was killed leaves its row; whoever comes next clears away what is older than this.
FORGOTTEN_AFTER = timedelta(days=1)


def beat(name: str, seconds: float) -> None:
    """Be known as alive for `seconds` from now."""
    with transaction.atomic():
        if Host.objects.filter(name=name).update(alive_until=lease_end(seconds)) != 1:
            Host.objects.filter(alive_until__lt=Now() - FORGOTTEN_AFTER).delete()
            Host.objects.create(name=name, alive_until=lease_end(seconds))


def leave(name: str) -> None:
    """Be known as gone."""
    with transaction.atomic():
        Host.objects.filter(name=name).delete()


def living() -> int:
    """How many hosts are known as alive."""
    return Host.objects.filter(alive_until__gte=Now()).count()
