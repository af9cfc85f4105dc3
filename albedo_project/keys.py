"""Secrets that the server makes for itself at its first start, each a file that only its owner reads."""

from __future__ import annotations

import base64
import binascii
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

SECRET_KEY_BYTES = 64
ENCRYPTION_KEY_BYTES = 32
SECRET_CHARS, SECRET_DIFFERENT_CHARS = 40, 10
# What stands in for a secret until somebody sets one; in a random one none of them is found.
SAMPLE_WORDS = ("change", "example", "insecure", "password", "replace", "sample", "secret", "your-", "your_")


def private_directory(path: Path) -> Path:
    """Make `path` for its owner alone (0700). One that stands already keeps the rights that it has."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ImproperlyConfigured(f"DATA_DIR cannot be used: {path}: {error.strerror}.") from error
    return path


def private_file(path: Path) -> Path:
    """Make an empty `path` (0600) if absent, so that whoever fills it does not choose wider rights."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        raise ImproperlyConfigured(f"DATA_DIR cannot be written: {path}: {error.strerror}.") from error
    return path


def stored_key(path: Path, make: Callable[[], str]) -> str:
    """The key in `path`, made first if absent. Two processes that race end with the same key."""
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    own = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(make() + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(own, path)  # fails where another process was first: a whole key or none is ever seen
    except FileExistsError:
        pass
    except OSError as error:
        raise ImproperlyConfigured(f"DATA_DIR cannot be written: {path}: {error.strerror}.") from error
    finally:
        own.unlink(missing_ok=True)
    return _read(path)


def new_secret_key() -> str:
    return secrets.token_urlsafe(SECRET_KEY_BYTES)


def new_encryption_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(ENCRYPTION_KEY_BYTES)).decode()


def checked_secret(name: str, value: str) -> str:
    """`value` if nobody could guess it, else `ImproperlyConfigured` (which never shows it)."""
    sample = any(word in text.lower() for text in (value, _decoded(value)) for word in SAMPLE_WORDS)
    if sample or len(value) < SECRET_CHARS or len(set(value)) < SECRET_DIFFERENT_CHARS:
        raise ImproperlyConfigured(
            f"{name} is a sample or too simple. `python -m albedo_project.new_keys` makes a good one."
        )
    return value


def checked_encryption_key(value: str) -> str:
    """`value` if it is a Fernet key, else `ImproperlyConfigured` (which never shows it)."""
    try:
        good = len(base64.b64decode(value, altchars=b"-_", validate=True)) == ENCRYPTION_KEY_BYTES
    except (binascii.Error, ValueError):
        good = False
    if not good:
        raise ImproperlyConfigured("ENCRYPTION_KEY must be 32 bytes in URL-safe base64 (a Fernet key).")
    return value


def _decoded(value: str) -> str:
    """What stands in `value` as base64, if it is that: a sample may hide there."""
    try:
        return base64.b64decode(value, altchars=b"-_").decode("latin-1")
    except ValueError:
        return ""


def _read(path: Path) -> str:
    value = path.read_text(encoding="ascii").strip()
    if not value:
        raise ImproperlyConfigured(f"{path} is empty; remove it to have a new key made.")
    return value
