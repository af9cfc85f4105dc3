"""The HTTP API: `api.urls` is everything under /api/. Views are thin; facts are kept elsewhere."""

from sessions_app.api.application import api

__all__ = ["api"]
