"""Provider profiles: written by staff, resolved for the runtime with their key in clear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from sessions_app.models import ProviderProfile
from sessions_app.problems import Conflict, InvalidRequest, NotFound
from sessions_app.store.mcp_servers import sealed as sealed_mcp_servers
from sessions_app.store.secrets import seal, unseal

DEFAULT = "default"
DEMO = "demo"
TUNED = (
    "connect_timeout",
    "first_event_timeout",
    "idle_timeout",
    "request_timeout",
    "run_timeout",
    "max_retries",
)
PLAIN = ("base_url", "protocol", "model", "headers", "max_output_tokens", *TUNED, "fallback")


class UnknownProfile(Exception):
    """A session names a profile that is not there (any more)."""


@dataclass(frozen=True, slots=True)
class ResolvedProfile:
    """A profile ready to be used. Of `demo` the `base_url` is empty: the server fills its own in."""

    name: str
    base_url: str
    protocol: str
    model: str
    api_key: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    max_output_tokens: int | None
    connect_timeout: float
    first_event_timeout: float
    idle_timeout: float
    request_timeout: float
    run_timeout: float
    max_retries: int
    fallback: str
    mcp_servers: Sequence[dict[str, Any]] = ()


def resolve(name: str = "") -> ResolvedProfile:
    """The profile of this name; of no name the default one. Raises UnknownProfile.

    The default is the environment's, else the stored `default`, else `demo`.
    """
    wanted = name or DEFAULT
    built_in = _built_in().get(wanted)
    if built_in is not None:
        return built_in
    row = ProviderProfile.objects.filter(name=wanted).first()
    if row is not None:
        return _resolved(row)
    if not name:
        return _built_in()[DEMO]
    raise UnknownProfile(name)


def mcp_servers(name: str) -> Sequence[dict[str, Any]]:
    """The MCP servers of the profile that a session of this provider uses, as stored."""
    try:
        return resolve(name).mcp_servers
    except UnknownProfile:
        return ()


def exists(name: str) -> bool:
    return name in _built_in() or ProviderProfile.objects.filter(name=name).exists()


def _resolved(row: ProviderProfile) -> ResolvedProfile:
    plain: dict[str, Any] = {attribute: getattr(row, attribute) for attribute in PLAIN}
    return ResolvedProfile(name=row.name, api_key=unseal(row.api_key), mcp_servers=row.mcp_servers, **plain)


def _built_in() -> dict[str, ResolvedProfile]:
    """What needs no row: the scripted model, and the environment's profile where there is one."""
    rest: dict[str, Any] = {"headers": {}, "max_output_tokens": None, "fallback": "", **tuned_defaults()}
    demo = ResolvedProfile(name=DEMO, base_url="", protocol="responses", model="scripted", api_key="", **rest)
    if settings.ENV_PROFILE is None:
        return {DEMO: demo}
    environment: dict[str, Any] = dict(settings.ENV_PROFILE)
    return {DEMO: demo, DEFAULT: ResolvedProfile(**environment, **rest)}


def tuned_defaults() -> dict[str, int | float]:
    """Deadlines and retries where a profile names none."""
    return {name: settings.ALBEDO[name] for name in TUNED}


def built_in_profiles() -> list[ResolvedProfile]:
    return sorted(_built_in().values(), key=lambda profile: profile.name)


def get_profile(name: str) -> ProviderProfile | ResolvedProfile:
    """The profile as it stands, built in or stored. Raises NotFound."""
    found = _built_in().get(name) or ProviderProfile.objects.filter(name=name).first()
    if found is None:
        raise NotFound
    return found


def list_profiles(*, limit: int, after: str) -> list[ProviderProfile]:
    """Stored profiles by name; the built-in ones are not among them."""
    return list(ProviderProfile.objects.filter(name__gt=after).order_by("name")[:limit])


def put_profile(name: str, values: Mapping[str, Any]) -> tuple[ProviderProfile, bool]:
    """Make or replace a profile; whether it is new. Without `api_key` the stored one stays, as in a patch."""
    _refuse_built_in(name)
    now = timezone.now()
    with transaction.atomic():
        _check_fallback(name, values)
        known = ProviderProfile.objects.select_for_update().filter(name=name).first()
        if known is not None:
            _refuse_key_to_new_host(known, values)
        row = known or ProviderProfile(name=name, created_at=now)
        _apply(row, values, now)
        row.save()
    return row, known is None


def patch_profile(name: str, changes: Mapping[str, Any]) -> ProviderProfile:
    """Change some fields. Raises NotFound, Conflict for a built-in one, InvalidRequest."""
    _refuse_built_in(name)
    with transaction.atomic():
        _check_fallback(name, changes)
        row = ProviderProfile.objects.select_for_update().filter(name=name).first()
        if row is None:
            raise NotFound
        _refuse_key_to_new_host(row, changes)
        _apply(row, changes, timezone.now())
        row.save()
    return row


def delete_profile(name: str) -> None:
    """Remove a profile; sessions that name it fail their next run with `unknown_provider`."""
    _refuse_built_in(name)
    with transaction.atomic():
        if ProviderProfile.objects.filter(name=name).delete()[0] == 0:
            raise NotFound


def _apply(row: ProviderProfile, values: Mapping[str, Any], now: Any) -> None:
    for attribute in PLAIN:
        if attribute in values:
            setattr(row, attribute, values[attribute])
    if values.get("api_key") is not None:
        row.api_key = seal(values["api_key"])
    if values.get("mcp_servers") is not None:
        row.mcp_servers = sealed_mcp_servers(values["mcp_servers"], row.mcp_servers)
    row.updated_at = now


def _refuse_key_to_new_host(row: ProviderProfile, changes: Mapping[str, Any]) -> None:
    """A stored key belongs to the address it was given for: it does not follow to another one."""
    moved = changes.get("base_url", row.base_url) != row.base_url
    if moved and row.api_key and changes.get("api_key") is None:
        raise InvalidRequest("With a new base_url, api_key must be given again.", "/api_key")


def _check_fallback(name: str, values: Mapping[str, Any]) -> None:
    fallback = values.get("fallback")
    if fallback and (fallback == name or not exists(fallback)):
        raise InvalidRequest("The fallback must be another profile that exists.", "/fallback")


def _refuse_built_in(name: str) -> None:
    if name in _built_in():
        raise Conflict("profile_built_in", "This profile is the server's own and cannot be changed here.")
