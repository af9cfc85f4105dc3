"""Who may ask, and whom we ask: API tokens and provider profiles. No secret stands here in clear."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from sessions_app.ids import new_id
from sessions_app.models.fields import JSONTextField


class ApiToken(models.Model):
    """A bearer token of a user, by its SHA-256 digest: the token has 256 bits of its own, so no salt."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, blank=True, default="")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, default=None)
    revoked_at = models.DateTimeField(null=True, default=None)

    def __str__(self) -> str:
        return self.name or str(self.id)


class ProviderProfile(models.Model):
    """A provider as the operator set it up. `api_key` is encrypted, or `env:NAME`.

    In `mcp_servers` the values of `env` and `headers` are encrypted.
    """

    class Protocol(models.TextChoices):
        RESPONSES = "responses"
        CHAT_COMPLETIONS = "chat_completions"

    name = models.CharField(max_length=64, primary_key=True)
    base_url = models.CharField(max_length=500)
    protocol = models.CharField(max_length=32, choices=Protocol.choices)
    model = models.CharField(max_length=200)
    api_key = models.TextField(blank=True, default="")
    headers = JSONTextField(default=dict)
    max_output_tokens = models.IntegerField(null=True, default=None)
    connect_timeout = models.FloatField()
    first_event_timeout = models.FloatField()
    idle_timeout = models.FloatField()
    request_timeout = models.FloatField()
    run_timeout = models.FloatField()
    max_retries = models.IntegerField()
    fallback = models.CharField(max_length=64, blank=True, default="")
    mcp_servers = JSONTextField(default=list)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
