"""Secrets at rest: encrypted; a key may instead be only the name of a variable that holds one.

What comes back in clear is for the runtime alone; no answer, log or event shows it.
"""

from __future__ import annotations

import re

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from sessions_app.problems import InvalidRequest

ENV_PREFIX = "env:"
ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,99}", re.ASCII)
# Naming one of these would send the server's own secrets to whatever host a profile points at.
SERVER_SECRETS = re.compile(r"SECRET_KEY|ENCRYPTION_KEY|DATABASE_URL|REDIS_URL|ALBEDO_.*|.*PASSWORD.*")


def seal(key: str) -> str:
    """What is stored of a key that a client wrote. Raises InvalidRequest for a bad `env:NAME`."""
    if not key.startswith(ENV_PREFIX):
        return _fernet().encrypt(key.encode()).decode() if key else ""
    name = key.removeprefix(ENV_PREFIX)
    if not ENV_NAME.fullmatch(name) or SERVER_SECRETS.fullmatch(name):
        raise InvalidRequest("This is not the name of a variable that may hold a provider's key.", "/api_key")
    return key


def unseal(stored: str) -> str:
    """The key in clear; empty where there is none, or none that can be read any more."""
    if stored.startswith(ENV_PREFIX):
        return str(settings.PROVIDER_KEY_SOURCE.get(stored.removeprefix(ENV_PREFIX), ""))
    try:
        return _fernet().decrypt(stored.encode()).decode() if stored else ""
    except InvalidToken:
        return ""


def seal_value(text: str) -> str:
    """Encrypted, whatever it says: it comes from users, who may not name the server's own variables."""
    return _fernet().encrypt(text.encode()).decode()


def unseal_value(stored: str) -> str:
    """In clear; empty where it cannot be read any more."""
    try:
        return _fernet().decrypt(stored.encode()).decode()
    except InvalidToken:
        return ""


def _fernet() -> Fernet:
    return Fernet(settings.ENCRYPTION_KEY)
