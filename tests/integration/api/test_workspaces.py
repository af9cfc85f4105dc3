"""Which folders a session may work in: never another user's, never the server's own data."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.api.callers import Caller, problem

pytestmark = pytest.mark.django_db(transaction=True)

REFUSED = 400, "invalid_request"


async def refuse(caller: Caller, workspace: str) -> None:
    answer = await caller.send("POST", "/api/sessions", {"workspace": workspace})
    found = problem(answer, *REFUSED)
    assert found["fields"] == ["/workspace"]
    assert workspace not in found["detail"] or not workspace


@pytest.mark.parametrize(
    "workspace",
    [
        "relative",
        "../x",
        "/etc",
        "//etc",
        "/etc/passwd",
        "{root}",
        "{root}/",
        "{root}/../x",
        "{root}/a/../../x",
        "{data}/secrets",
        "{data}",
        "{root}x",
        "C:\\x",
        "~/x",
        "{root}/" + "y" * 300,
        "{root}/" + "z" * 5_000,
    ],
)
async def test_users_work_below_the_workspaces_folder_alone(
    alice: Caller, own_data: Path, workspace: str
) -> None:
    await refuse(alice, workspace.format(root=own_data / "workspaces", data=own_data))


async def test_a_new_folder_is_made_for_its_owner_alone(alice: Caller, bob: Caller, own_data: Path) -> None:
    folder = own_data / "workspaces" / "project" / "deep"
    session = await alice.make_session(workspace=str(folder))
    assert Path(session["workspace"]) == folder.resolve()
    assert [p.stat().st_mode & 0o777 for p in (folder, folder.parent)] == [0o700, 0o700]
    await alice.make_session(workspace=str(folder.parent / "other"))
    for taken in (folder, folder.parent, folder.parent / "new", folder / "below"):
        await refuse(bob, str(taken))
    assert not (folder.parent / "new").exists()
    await bob.make_session(workspace=str(own_data / "workspaces" / "projectile"))


async def test_another_users_own_folder_cannot_be_taken(alice: Caller, bob: Caller, own_data: Path) -> None:
    session = await alice.make_session()
    await refuse(bob, session["workspace"])
    await refuse(bob, session["workspace"] + "/sub")


async def test_a_planted_symlink_is_not_followed(alice: Caller, own_data: Path, tmp_path: Path) -> None:
    mine = Path((await alice.make_session())["workspace"])
    outside = tmp_path / "outside"
    outside.mkdir()
    (mine / "link").symlink_to(outside)
    await refuse(alice, str(mine / "link"))
    await refuse(alice, str(mine / "link" / "below"))
    assert list(outside.iterdir()) == []


async def test_a_folder_that_is_left_over_is_nobodys(alice: Caller, own_data: Path) -> None:
    await alice.make_session()
    (own_data / "workspaces" / "left").mkdir()
    await refuse(alice, str(own_data / "workspaces" / "left"))


async def test_staff_use_all_but_the_servers_own(staff: Caller, own_data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "anywhere" / "new"
    session = await staff.make_session(workspace=str(folder))
    assert Path(session["workspace"]) == folder.resolve()
    (tmp_path / "link").symlink_to(own_data)
    (tmp_path / "file").write_text("x")
    for own in (
        own_data,
        own_data / "secrets",
        own_data.parent,
        Path("/"),
        tmp_path / "link",
        tmp_path / "file",
    ):
        await refuse(staff, str(own))


async def test_removing_a_session_keeps_folders_that_others_use_or_that_lie_elsewhere(
    staff: Caller, own_data: Path, tmp_path: Path
) -> None:
    elsewhere = await staff.make_session(workspace=str(tmp_path / "mine"))
    shared = str(own_data / "workspaces" / "shared")
    one = await staff.make_session(workspace=shared)
    two = await staff.make_session(workspace=f"{shared}/inner")
    for session, remains in ((elsewhere, True), (one, True), (two, False)):
        assert (await staff.send("DELETE", f"/api/sessions/{session['id']}")).status_code == 204
        assert Path(session["workspace"]).exists() is remains
