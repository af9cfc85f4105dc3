"""Logins that were made from an API token last no longer than it: revoking the token ends them."""

from __future__ import annotations

from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth import get_user
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from sessions_app.models import ApiToken
from sessions_app.store.tokens import is_usable

KEY = "made_from_token"

Somebody = AbstractBaseUser | AnonymousUser


def remember(session: SessionBase, token: ApiToken | None) -> None:
    """What the login of this browser was made from; None: something else than a token."""
    if token is None:
        session.pop(KEY, None)
    else:
        session[KEY] = str(token.id)


def is_good(session: SessionBase) -> bool:
    """Whether the token that the login was made from, if it was one, is not revoked."""
    token_id = session.get(KEY)
    return token_id is None or is_usable(UUID(token_id))


class Authentication(AuthenticationMiddleware):
    """Django's own, for which a browser with a login that is over has none."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        setattr(request, "user", SimpleLazyObject(lambda: _user(request)))  # noqa: B010 - typed as a real user
        setattr(request, "auser", lambda: sync_to_async(_user)(request))  # noqa: B010


def _user(request: HttpRequest) -> Somebody:
    known: Somebody | None = getattr(request, "_cached_user", None)
    if known is None:
        known = get_user(request)
        if known.is_authenticated and not is_good(request.session):
            request.session.flush()
            known = AnonymousUser()
        request._cached_user = known  # type: ignore[attr-defined]
    return known
