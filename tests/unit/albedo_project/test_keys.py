"""Secrets that the server makes for itself."""

from __future__ import annotations

import base64
import stat
import threading
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from albedo_project import keys, new_keys


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_key_is_made_once_and_kept_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret_key"
    first = keys.stored_key(path, keys.new_secret_key)
    assert keys.stored_key(path, keys.new_secret_key) == first
    assert mode(path) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["secret_key"]


def test_two_installations_have_different_keys(tmp_path: Path) -> None:
    made = {keys.stored_key(tmp_path / name, keys.new_secret_key) for name in "ab"}
    assert len(made) == 2
    assert all(len(key) >= 50 for key in made)


def test_starts_that_race_end_with_one_key(tmp_path: Path) -> None:
    path, start, found = tmp_path / "key", threading.Barrier(8), []

    def begin() -> None:
        start.wait(60)
        found.append(keys.stored_key(path, keys.new_secret_key))

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 8
    assert len(set(found)) == 1


def test_an_empty_key_file_is_refused_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.touch()
    with pytest.raises(ImproperlyConfigured, match="empty"):
        keys.stored_key(path, keys.new_secret_key)


def test_a_made_encryption_key_encrypts() -> None:
    key = keys.checked_encryption_key(keys.new_encryption_key())
    fernet = Fernet(key)
    assert fernet.decrypt(fernet.encrypt(b"provider key")) == b"provider key"


@pytest.mark.parametrize("value", ["short", "a" * 44, "é" * 44, ""])
def test_a_bad_encryption_key_is_refused_unseen(value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="ENCRYPTION_KEY") as caught:
        keys.checked_encryption_key(value)
    assert not value or value not in str(caught.value)


def test_a_folder_and_a_file_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    folder = keys.private_directory(tmp_path / "data")
    file = keys.private_file(folder / "database")
    assert (mode(folder), mode(file)) == (0o700, 0o600)


def test_a_folder_that_stands_already_keeps_its_rights(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir(mode=0o755)
    keys.private_directory(folder)
    assert mode(folder) == 0o755


def test_a_data_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ImproperlyConfigured, match="DATA_DIR"):
        keys.private_directory(tmp_path / "file" / "data")


def test_random_keys_are_good_for_production() -> None:
    for key in (keys.new_secret_key(), keys.new_encryption_key()):
        assert keys.checked_secret("KEY", key) == key


@pytest.mark.parametrize(
    "sample",
    [
        "...",
        "change-me-before-you-deploy-this-anywhere-please",
        "django-insecure-8f3l&2k#9x!q0zr7v5w1m4n6b8c2t9y3u",
        "a" * 64,
        base64.urlsafe_b64encode(bytes(32)).decode(),
        base64.urlsafe_b64encode(b"a sample key of 32 bytes in here").decode(),
        "é" * 64,
    ],
)
def test_a_sample_is_refused_and_not_shown(sample: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY is a sample") as refused:
        keys.checked_secret("SECRET_KEY", sample)
    assert sample not in str(refused.value)


def test_an_environment_file_gets_both_keys() -> None:
    given = dict(line.split("=", 1) for line in new_keys.lines().splitlines())
    assert given.keys() == {"SECRET_KEY", "ENCRYPTION_KEY"}
    assert keys.checked_encryption_key(given["ENCRYPTION_KEY"])
