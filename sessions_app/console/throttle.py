"""Counts failed logins of an account and of an address, each in windows of a minute."""

from __future__ import annotations

import hashlib
import time

from django.conf import settings
from django.core.cache import cache

WINDOW_SECONDS = 60


class LoginThrottle:
    """For one login: `names` are what is counted, such as an account and an address. Kept hashed."""

    def __init__(self, *names: str, now: float | None = None) -> None:
        self._window, self._second = divmod(int(time.time() if now is None else now), WINDOW_SECONDS)
        self._keys = [f"login-{self._window}-{hashlib.sha256(name.encode()).hexdigest()}" for name in names]

    @property
    def retry_after_seconds(self) -> int:
        return WINDOW_SECONDS - self._second

    def exhausted(self) -> bool:
        limit = int(settings.ALBEDO["login_attempts_per_minute"])
        return any(count >= limit for count in cache.get_many(self._keys).values())

    def failed(self) -> None:
        for key in self._keys:
            cache.add(key, 0, WINDOW_SECONDS * 2)
            try:
                cache.incr(key)
            except ValueError:
                # The cache made room in between: the count begins anew.
                cache.set(key, 1, WINDOW_SECONDS * 2)
