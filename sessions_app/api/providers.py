"""Provider profiles, for staff. A key is written and never read back."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import AfterValidator, Field, StringConstraints

from sessions_app.api.answers import answer, nothing
from sessions_app.api.gate import user_of
from sessions_app.api.mcp_servers import McpServerOut, McpServers, as_stored
from sessions_app.api.shapes import Body, PageQuery, ProfileChoice, Shown, Time, left_out, page
from sessions_app.endpoints import checked_base_url
from sessions_app.models import ProviderProfile
from sessions_app.problems import Forbidden, InvalidRequest, NotFound
from sessions_app.render import Rendered, render_time
from sessions_app.store import profiles as store
from sessions_app.store.executor import read, write
from sessions_app.store.mcp_servers import shown as shown_mcp_servers
from sessions_app.store.settled import settled

router = Router(tags=["providers"])

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,100}", re.ASCII)
HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,1000}", re.ASCII)
# Ours to set, or a place where a secret would stand readable: `api_key` is the place for those.
REFUSED_HEADERS = re.compile(
    r"host|content-.*|accept.*|connection|transfer-encoding|te|upgrade|proxy-.*|.*cookie.*"
    r"|.*auth.*|.*key.*|.*token.*|.*secret.*",
    re.IGNORECASE,
)
MAX_HEADERS = 20


def _headers(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if not HEADER_NAME.fullmatch(name) or REFUSED_HEADERS.fullmatch(name):
            raise ValueError("has a header that cannot be set here; secrets belong in api_key")
        if not HEADER_VALUE.fullmatch(text):
            raise ValueError("has a value that is not printable ASCII")
    return value


def _base_url(value: str) -> str:
    try:
        return checked_base_url(value)
    except InvalidRequest as problem:
        raise ValueError(problem.detail) from None


BaseUrl = Annotated[str, AfterValidator(_base_url)]
Protocol = Literal["responses", "chat_completions"]
Model = Annotated[str, StringConstraints(min_length=1, max_length=200)]
ApiKey = Annotated[str, StringConstraints(max_length=4_000, pattern=r"^[!-~]*$")]
Headers = Annotated[dict[str, str], Field(max_length=MAX_HEADERS), AfterValidator(_headers)]
Tokens = Annotated[int, Field(ge=1, le=10_000_000)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Retries = Annotated[int, Field(ge=0, le=20)]


class ProfileChange(Body):
    base_url: BaseUrl = left_out()
    protocol: Protocol = left_out()
    model: Model = left_out()
    api_key: ApiKey = left_out("Write only; `env:NAME` names a variable instead.")
    headers: Headers = left_out()
    max_output_tokens: Tokens | None = left_out("Null for none.")
    connect_timeout: Seconds = left_out()
    first_event_timeout: Seconds = left_out()
    idle_timeout: Seconds = left_out()
    request_timeout: Seconds = left_out()
    run_timeout: Seconds = left_out()
    max_retries: Retries = left_out()
    fallback: ProfileChoice = left_out()
    mcp_servers: McpServers = left_out("The whole list; it takes the old one's place.")

    def values(self) -> dict[str, Any]:
        """What was given, without what was not."""
        values: dict[str, Any] = self.model_dump(exclude_unset=True, exclude={"mcp_servers"})
        if "mcp_servers" in self.model_fields_set:
            values["mcp_servers"] = as_stored(self.mcp_servers)
        return values


class ProfileIn(ProfileChange):
    base_url: BaseUrl
    protocol: Protocol
    model: Model


class ProfileOut(Shown):
    name: str
    base_url: str
    protocol: Protocol
    model: str
    has_key: bool
    headers: dict[str, str]
    max_output_tokens: int | None
    connect_timeout: float
    first_event_timeout: float
    idle_timeout: float
    request_timeout: float
    run_timeout: float
    max_retries: int
    fallback: str
    mcp_servers: list[McpServerOut]
    built_in: bool = Field(description="The server's own; cannot be changed here.")
    created_at: Time | None
    updated_at: Time | None


class ProfileList(Shown):
    items: list[ProfileOut]
    next: str | None


def _require_staff(request: HttpRequest) -> None:
    if not user_of(request).is_staff:
        raise Forbidden


def _known_name(name: str) -> str:
    """A name that may exist; any other is as unknown as one that does not."""
    if not NAME.fullmatch(name):
        raise NotFound
    return name


def _new_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise InvalidRequest("A profile's name is 1 to 64 of a-z, 0-9, _ and -, not beginning with _ or -.")
    return name


@router.get("/providers", response=ProfileList)
async def list_providers(request: HttpRequest, query: Query[PageQuery]) -> HttpResponse:
    """Stored profiles by name; the server's own stand before them on the first page."""
    _require_staff(request)
    return answer(await read(_list, query))


def _list(query: PageQuery) -> Rendered:
    name = ["providers"]
    position = query.position(name)
    limit = query.count()
    rows = store.list_profiles(limit=limit + 1, after=position[0] if position else "")
    shown, token = page(rows, limit, name, lambda row: [row.name])
    own = [] if position else store.built_in_profiles()
    hidden = {profile.name for profile in store.built_in_profiles()}
    return {
        "items": [*map(_shown, own), *(_shown(row) for row in shown if row.name not in hidden)],
        "next": token,
    }


@router.get("/providers/{name}", response=ProfileOut)
async def get_provider(request: HttpRequest, name: str) -> HttpResponse:
    """One profile."""
    _require_staff(request)
    return answer(_shown(await read(store.get_profile, _known_name(name))))


@router.put("/providers/{name}", response={200: ProfileOut, 201: ProfileOut})
async def put_provider(request: HttpRequest, name: str, body: ProfileIn) -> HttpResponse:
    """Make or replace a profile. Without `api_key` a stored key stays, as long as the address does."""
    _require_staff(request)
    values = {**_defaults(), **body.values()}
    row, new = await settled(store.put_profile, _new_name(name), values)
    return answer(_shown(row), 201 if new else 200, location=f"/api/providers/{row.name}")


@router.patch("/providers/{name}", response=ProfileOut)
async def patch_provider(request: HttpRequest, name: str, body: ProfileChange) -> HttpResponse:
    """Change some fields; null takes `max_output_tokens` away, an empty `api_key` the key."""
    _require_staff(request)
    return answer(_shown(await settled(store.patch_profile, _known_name(name), body.values())))


@router.delete("/providers/{name}", response={204: None})
async def delete_provider(request: HttpRequest, name: str) -> HttpResponse:
    """Remove a profile."""
    _require_staff(request)
    await write(store.delete_profile, _known_name(name))
    return nothing()


def _defaults() -> dict[str, Any]:
    return {
        "headers": {},
        "max_output_tokens": None,
        "fallback": "",
        "mcp_servers": [],
        **store.tuned_defaults(),
    }


def _shown(profile: ProviderProfile | store.ResolvedProfile) -> Rendered:
    stored = profile if isinstance(profile, ProviderProfile) else None
    shown = {name: getattr(profile, name) for name in ("name", *store.PLAIN)}
    return {
        **shown,
        "headers": dict(profile.headers),
        "mcp_servers": shown_mcp_servers(profile.mcp_servers),
        "has_key": bool(profile.api_key),
        "built_in": stored is None,
        "created_at": render_time(stored.created_at) if stored else None,
        "updated_at": render_time(stored.updated_at) if stored else None,
    }
