"""Rows that tests begin with, as fixtures for a folder's conftest to take."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from sessions_app.models import Session


@pytest.fixture
def alice(transactional_db: None) -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def session(alice: User) -> Session:
    now = timezone.now()
    return Session.objects.create(owner=alice, workspace="/w", created_at=now, activity_at=now)
