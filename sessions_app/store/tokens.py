"""API tokens: shown once when made, kept as a digest, revoked for good."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from sessions_app.models import ApiToken
from sessions_app.problems import NotFound

PREFIX = "albedo_"
TOKEN_BYTES = 32
# One write for many requests: `last_used_at` tells of days, not of requests.
USE_NOTED_EVERY = timedelta(minutes=10)


def digest(token: str) -> str:
    """What is stored of a token; 256 random bits need no salt."""
    return hashlib.sha256(token.encode()).hexdigest()


def issue_token(user: User, name: str) -> tuple[ApiToken, str]:
    """A new token's row and the token itself, which nobody can show again."""
    token = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    with transaction.atomic():
        row = ApiToken.objects.create(user=user, name=name, digest=digest(token), created_at=timezone.now())
    return row, token


def revoke_token(user: User, token_id: UUID) -> None:
    """End a token of the user's own (staff: of anyone). Ending it twice is the same as once."""
    with transaction.atomic():
        rows = ApiToken.objects.filter(id=token_id)
        if not user.is_staff:
            rows = rows.filter(user=user)
        if not rows.exists():
            raise NotFound
        rows.filter(revoked_at__isnull=True).update(revoked_at=timezone.now())


def list_tokens(user: User, *, limit: int, after: UUID | None) -> list[ApiToken]:
    """The user's own tokens, oldest first."""
    rows = ApiToken.objects.filter(user=user).order_by("id")
    return list(rows.filter(id__gt=after)[:limit] if after else rows[:limit])


def token_by_text(token: str) -> ApiToken | None:
    """The usable token that `token` spells: not revoked, its user active."""
    live = ApiToken.objects.filter(revoked_at__isnull=True, user__is_active=True)
    return live.select_related("user").filter(digest=digest(token)).first()


def is_usable(token_id: UUID) -> bool:
    """Whether the token was not revoked."""
    return ApiToken.objects.filter(id=token_id, revoked_at__isnull=True).exists()


def use_is_worth_noting(row: ApiToken) -> bool:
    return row.last_used_at is None or timezone.now() - row.last_used_at > USE_NOTED_EVERY


def note_use(token_id: UUID) -> None:
    with transaction.atomic():
        ApiToken.objects.filter(id=token_id).update(last_used_at=timezone.now())
