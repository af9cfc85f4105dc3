"""Sessions made, changed and removed by their users. What an actor writes of a session is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from sessions_app import workspaces
from sessions_app.ids import new_id
from sessions_app.models import Input, Run, Session
from sessions_app.problems import Conflict, InvalidRequest, NotFound, Unavailable
from sessions_app.store import mcp_servers, profiles

TEXT_FIELDS = ("name", "provider", "model", "instructions")


@dataclass(frozen=True, slots=True)
class NewSession:
    """`workspace` empty: a folder of the session's own. `fingerprint` tells a repeated request."""

    workspace: str
    texts: Mapping[str, str]
    fingerprint: str
    mcp_servers: Sequence[dict[str, Any]] = ()


def create_session(owner: User, asked: NewSession, session_id: UUID | None = None) -> tuple[Session, bool]:
    """The session, and whether it is new. The same id and body again give the session as it is now.

    Raises NotFound where the id is another user's, Conflict for another body, InvalidRequest, and Unavailable
    while a session that had this id is removed.
    """
    try:
        with transaction.atomic():
            known = _known(owner, asked, session_id)
            return (known, False) if known else (_insert(owner, asked, session_id or new_id()), True)
    except IntegrityError:
        # Another request with this id was faster.
        known = _known(owner, asked, session_id)
        if known is None:
            if session_id and Session.every.filter(id=session_id, deleted_at__isnull=False).exists():
                raise Unavailable("The session of this id is being removed.", 2) from None
            raise
        return known, False


def _known(owner: User, asked: NewSession, session_id: UUID | None) -> Session | None:
    session = Session.objects.filter(id=session_id).first() if session_id else None
    if session is None:
        return None
    if session.owner_id != owner.pk and not owner.is_staff:
        raise NotFound
    if session.owner_id != owner.pk or session.fingerprint != asked.fingerprint:
        raise Conflict("session_conflict", "A session with this id was made with another body.")
    return session


def _insert(owner: User, asked: NewSession, session_id: UUID) -> Session:
    _check_provider(asked.texts.get("provider", ""))
    now = timezone.now()
    return Session.objects.create(
        id=session_id,
        owner=owner,
        workspace=str(_workspace(owner, asked.workspace, session_id)),
        fingerprint=asked.fingerprint,
        mcp_servers=mcp_servers.sealed(asked.mcp_servers, ()),
        created_at=now,
        activity_at=now,
        **dict(asked.texts),
    )


def _workspace(owner: User, requested: str, session_id: UUID) -> Path:
    if not requested:
        return workspaces.make_default(session_id)
    if owner.is_staff:
        return workspaces.make_for_staff(requested)
    return workspaces.make_for_user(requested, lambda folder: _owns(owner, folder))


def _owns(owner: User, folder: Path) -> bool:
    """Whether sessions of this user, and of nobody else, work in or below `folder`."""
    below = Session.objects.filter(workspace__startswith=str(folder)).values_list("owner_id", "workspace")
    owners = {owner_id for owner_id, path in below if workspaces.overlap(Path(path), folder)}
    return owners == {owner.pk}


def _check_provider(name: str) -> None:
    if name and not profiles.exists(name):
        raise InvalidRequest("There is no provider profile of this name.", "/provider")


def update_session(session_id: UUID, changes: Mapping[str, Any]) -> Session:
    """Change what is named, of what `patch_session` may name. Raises NotFound, InvalidRequest."""
    with transaction.atomic():
        if "provider" in changes:
            _check_provider(changes["provider"])
        if "mcp_servers" in changes:
            changes = {**changes, "mcp_servers": _sealed_again(session_id, changes["mcp_servers"])}
        if changes and Session.objects.filter(id=session_id).update(**changes) != 1:
            raise NotFound
        session = Session.objects.filter(id=session_id).first()
        if session is None:
            raise NotFound
        return session


def _sealed_again(session_id: UUID, asked: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    session = Session.objects.select_for_update().filter(id=session_id).first()
    if session is None:
        raise NotFound
    return mcp_servers.sealed(asked, session.mcp_servers)


def resolve_mcp_servers(session: Session) -> list[mcp_servers.ResolvedMcpServer]:
    """Those that a run of this session has: its profile's, and its own, which win over those of one name."""
    return mcp_servers.opened(profiles.mcp_servers(session.provider), session.mcp_servers)


def is_busy(session_id: UUID) -> bool:
    """Whether a run is unfinished or an input waits."""
    return (
        Run.objects.filter(session_id=session_id, state=Run.State.RUNNING).exists()
        or Input.objects.filter(session_id=session_id, state=Input.State.PENDING).exists()
    )


def require_idle(session_id: UUID) -> None:
    if is_busy(session_id):
        raise Conflict("session_busy", "The session has work that is not finished.")
