"""The admin: for looking, with links between everything of a session. Importing this registers its pages."""

from sessions_app.admin import access, attempts, history, sessions, work

__all__ = ["access", "attempts", "history", "sessions", "work"]
