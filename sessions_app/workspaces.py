"""Which folder a session may work in, and making it with owner-only rights.

Staff name any folder that the server may use, never one that holds the server's own data. Others name a
folder under DIR/workspaces: whoever makes its first component owns what is below. No symlink is followed
there, since code in a kernel can plant one.
"""

from __future__ import annotations

import logging
import os
import shutil
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

from django.conf import settings

from sessions_app.problems import InvalidRequest

log = logging.getLogger("albedo.workspaces")

MAX_PATH_CHARS = 1_000
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def root() -> Path:
    """DIR/workspaces, made if absent."""
    folder: Path = settings.DATA_DIR / "workspaces"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder.resolve()


def make_default(session_id: UUID) -> Path:
    """The folder of a session that names none."""
    folder = root() / str(session_id)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def make_for_staff(requested: str) -> Path:
    """Any folder that the server may use, symlinks resolved. Raises InvalidRequest."""
    try:
        folder = _absolute(requested).resolve()
        if not folder.is_relative_to(root()) and _touches_own_data(folder):
            raise _unusable()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise _unusable()
    except (OSError, RuntimeError):
        raise _unusable() from None
    return folder


def make_for_user(requested: str, owns: Callable[[Path], bool]) -> Path:
    """A folder strictly below DIR/workspaces whose first component is new, or the user's own by `owns`.

    Making a folder is atomic, so of two users who want the same new one only one gets it.
    """
    top = root()
    parts = _parts_below(_absolute(requested), top)
    try:
        folder = os.open(top, _OPEN_FOLDER)
        try:
            if not _make(parts[0], folder) and not owns(top / parts[0]):
                raise _unusable()
            for index, part in enumerate(parts):
                if index:
                    _make(part, folder)
                below = os.open(part, _OPEN_FOLDER, dir_fd=folder)
                os.close(folder)
                folder = below
        finally:
            os.close(folder)
    except OSError:
        raise _unusable() from None
    return top.joinpath(*parts)


def remove(folder: Path) -> bool:
    """Remove a workspace below DIR/workspaces with all that is in it; any other folder stays as it is.

    Whether it is gone: what still runs in it may write while it is removed.
    """
    top = root()
    if folder == top or not folder.is_relative_to(top):
        return False
    *above, name = folder.relative_to(top).parts
    try:
        parent = _open_below(top, above)
    except OSError:
        # It is gone, or somebody planted a link on the way there: what that leads to is not ours.
        return True
    try:
        _remove_in(parent, name)
    except RecursionError:
        log.warning("a workspace is nested too deeply to be removed: %s", folder.name)
    finally:
        os.close(parent)
    return not os.path.lexists(folder)


def _remove_in(parent: int, name: str) -> None:
    """A link is removed itself, never what it leads to."""
    try:
        if stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode):
            os.unlink(name, dir_fd=parent)
            return
    except OSError:
        return
    shutil.rmtree(name, ignore_errors=True, dir_fd=parent)


def _open_below(top: Path, parts: Sequence[str]) -> int:
    """The folder that these lead to, opened; no link on the way is followed. Raises OSError."""
    folder = os.open(top, _OPEN_FOLDER)
    for part in parts:
        try:
            below = os.open(part, _OPEN_FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder


def overlap(one: Path, other: Path) -> bool:
    """Whether one of the folders is, or lies in, the other: by components, so that s1 is not in s10."""
    return one.is_relative_to(other) or other.is_relative_to(one)


def _absolute(requested: str) -> Path:
    folder = Path(requested)
    if not folder.is_absolute() or ".." in folder.parts or len(requested) > MAX_PATH_CHARS:
        raise _unusable()
    return folder


def _parts_below(folder: Path, top: Path) -> tuple[str, ...]:
    for start in (top, Path(settings.DATA_DIR) / "workspaces"):
        if folder.is_relative_to(start) and folder != start:
            return folder.relative_to(start).parts
    raise _unusable()


def _make(name: str, parent: int) -> bool:
    """Whether the folder is new."""
    try:
        os.mkdir(name, mode=0o700, dir_fd=parent)
    except FileExistsError:
        return False
    return True


def _touches_own_data(folder: Path) -> bool:
    return overlap(folder, Path(settings.DATA_DIR).resolve())


def _unusable() -> InvalidRequest:
    return InvalidRequest("The workspace is not a folder that you may use.", "/workspace")
