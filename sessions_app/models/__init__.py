"""What lasts. Only `sessions_app.store` writes these."""

from sessions_app.models.access import ApiToken, ProviderProfile
from sessions_app.models.history import Artifact, ContentChunk, Entry, ToolCall
from sessions_app.models.hosts import Host
from sessions_app.models.session import Session
from sessions_app.models.work import Input, ProviderAttempt, Run

__all__ = [
    "ApiToken",
    "Artifact",
    "ContentChunk",
    "Entry",
    "Host",
    "Input",
    "ProviderAttempt",
    "ProviderProfile",
    "Run",
    "Session",
    "ToolCall",
]
