"""Who may have a stream, checked before it begins: host, origin, credentials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.db import Error
from django.http.request import split_domain_port, validate_host

from sessions_app import access
from sessions_app.models import Session
from sessions_app.store.trouble import trouble_of
from streaming.delivery.refusals import Scope, foreign_origin, not_authenticated, wrong_host

DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Guest:
    """A client whose credentials were good when it came."""

    user: User
    credentials: access.Credentials
    transport: str


def headers_of(scope: Scope) -> Mapping[str, str]:
    """By lower-case name; of repeated ones the last."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def check_host(scope: Scope) -> None:
    """Raises a 400 Problem for a name that is not ours: a page elsewhere may have pointed its own here."""
    domain, _ = split_domain_port(headers_of(scope).get("host", ""))
    if not (domain and validate_host(domain, settings.ALLOWED_HOSTS)):
        raise wrong_host()


async def admit(scope: Scope) -> Guest:
    """Raises a 401 Problem without good credentials, 403 where a login comes from another origin.

    A browser names the origin of every WebSocket; of a GET only where it is another one.
    """
    credentials = access.scope_credentials(scope)
    if credentials.bearer is None and credentials.session_key and not _origin_is_ours(scope):
        raise foreign_origin()
    with storage_told():
        identity = await access.identify(credentials)
    if identity is None:
        raise not_authenticated()
    transport = "websocket" if scope["type"] == "websocket" else "sse"
    return Guest(identity.user, credentials, transport)


async def session_of(guest: Guest, session_id: str) -> Session:
    """Raises a 404 Problem for a session that the guest may not see."""
    with storage_told():
        return await access.access_session(guest.user, session_id)


@contextmanager
def storage_told() -> Iterator[None]:
    """What the storage raises becomes the 503 Problem that the API tells of it."""
    try:
        yield
    except Error as error:
        trouble = trouble_of(error)
        if trouble is None:
            raise
        raise trouble.problem() from error


def _origin_is_ours(scope: Scope) -> bool:
    """Whether scheme, host and port of the Origin are those that the client itself connected to."""
    headers = headers_of(scope)
    if scope["type"] == "http" and "origin" not in headers:
        return True
    origin = _origin_parts(headers.get("origin", ""))
    scheme = "https" if _is_secure(scope, headers) else "http"
    return origin is not None and origin == _origin_parts(f"{scheme}://{headers.get('host', '')}")


def _is_secure(scope: Scope, headers: Mapping[str, str]) -> bool:
    trusted: tuple[str, str] | None = getattr(settings, "SECURE_PROXY_SSL_HEADER", None)
    if trusted is not None:
        name, value = trusted
        return headers.get(name.removeprefix("HTTP_").replace("_", "-").lower()) == value
    return scope.get("scheme") in ("wss", "https")


def _origin_parts(text: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of a bare origin; None for anything that is not one."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    bare = f"{parts.scheme}://{parts.netloc}" == text and "@" not in parts.netloc
    if not bare or parts.hostname is None or parts.scheme not in DEFAULT_PORTS:
        return None
    return parts.scheme, parts.hostname.lower(), port or DEFAULT_PORTS[parts.scheme]
