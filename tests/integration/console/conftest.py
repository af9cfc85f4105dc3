"""Users and a session for the console. Models are imported late: Django is set up after this file loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from pytest_django.fixtures import Settings

    from sessions_app.models import Session

PASSWORD = "four horses and a boat"


def _user(name: str, *, is_staff: bool = False) -> User:
    from django.contrib.auth.models import User

    return User.objects.create_user(name, password=PASSWORD, is_staff=is_staff, is_superuser=is_staff)


@pytest.fixture(autouse=True)
def _fresh_counts_and_a_cheap_hash(settings: Settings) -> None:
    from django.core.cache import cache

    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    cache.clear()


@pytest.fixture
def alice(db: None) -> User:
    return _user("alice")


@pytest.fixture
def bob(db: None) -> User:
    return _user("bob")


@pytest.fixture
def staff(db: None) -> User:
    return _user("staff", is_staff=True)


@pytest.fixture
def session(alice: User) -> Session:
    from sessions_app.models import Session

    now = timezone.now()
    return Session.objects.create(owner=alice, workspace="/w", created_at=now, activity_at=now)
