"""The account of whoever started the server: staff, with a token of its own, made at the first start."""

from __future__ import annotations

from pathlib import Path

from django.contrib.auth.models import User

from albedo_project.keys import stored_key
from sessions_app.store.tokens import issue_token, token_by_text

NAME = "operator"
TOKEN_NAME = "serve"  # noqa: S105


def ensure_operator(secrets_dir: Path) -> tuple[User, str]:
    """The operator and its API token, the same at every start while the token is not revoked."""
    user, made = User.objects.get_or_create(username=NAME, defaults={"is_staff": True, "is_superuser": True})
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    file = secrets_dir / "operator_token"

    def issue() -> str:
        return issue_token(user, TOKEN_NAME)[1]

    token = stored_key(file, issue)
    if token_by_text(token) is None:
        # The database is a new one, or the token was revoked: the file tells of nothing any more.
        file.unlink()
        token = stored_key(file, issue)
    return user, token
