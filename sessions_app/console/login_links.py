"""One-time links that sign a browser in: signed, short-lived, good once. A ticket is no API token.

A ticket holds the user's `last_login`; using it moves that on in one conditional update. So no ticket works
twice, in any process and after any restart, with nothing to store and nothing to clean.
"""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.core import signing
from django.urls import reverse
from django.utils import timezone

TICKET_SECONDS = 600
SALT = "albedo.login-link"
# A ticket is about 150 characters; what is longer is not looked at.
TICKET_CHARS = 400


def make_login_link(user: User, base_url: str) -> str:
    """A link for `user`, good once within ten minutes. Any other login of the user ends it too."""
    ticket = signing.dumps([user.pk, _mark(user)], salt=SALT)
    return f"{base_url.rstrip('/')}{reverse('enter')}?{urlencode({'ticket': ticket})}"


def take_ticket(ticket: str) -> User | None:
    """The user whom the ticket signs in, if it is good; it is not good again."""
    if len(ticket) > TICKET_CHARS:
        return None
    try:
        user_id, mark = signing.loads(ticket, salt=SALT, max_age=TICKET_SECONDS)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or _mark(user) != mark:
        return None
    claimed = User.objects.filter(pk=user.pk, last_login=user.last_login).update(last_login=timezone.now())
    return user if claimed == 1 else None


def _mark(user: User) -> str:
    return user.last_login.isoformat() if user.last_login else ""
