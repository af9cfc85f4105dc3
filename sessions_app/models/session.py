"""A conversation with its own workspace and kernel, and who owns its actor right now."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from sessions_app.ids import new_id
from sessions_app.models.fields import JSONTextField


class Kept(models.Manager["Session"]):
    """Sessions that are not being removed: to everybody else the others do not exist."""

    def get_queryset(self) -> models.QuerySet[Session]:
        return super().get_queryset().filter(deleted_at__isnull=True)


class Session(models.Model):
    """One conversation.

    The lease columns say which actor may write: every durable write of an actor names `generation`.
    `last_sequence` is set only by an actor that left in order: null means that it may have died.
    With `deleted_at` the session is gone for its users, and the lease is of whoever removes its rows.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="agent_sessions"
    )
    name = models.CharField(max_length=200, blank=True, default="")
    workspace = models.TextField()
    provider = models.CharField(max_length=64, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    instructions = models.TextField(blank=True, default="")
    mcp_servers = JSONTextField(default=list)
    archived = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    activity_at = models.DateTimeField()
    fingerprint = models.CharField(max_length=64, blank=True, default="")

    input_order = models.BigIntegerField(default=0)
    head_position = models.BigIntegerField(default=0)
    usage = JSONTextField(default=dict)

    generation = models.BigIntegerField(default=0)
    generation_nonce = models.CharField(max_length=16, blank=True, default="")
    last_sequence = models.BigIntegerField(null=True, default=0)
    lease_until = models.DateTimeField(null=True, default=None)
    actor_channel = models.CharField(max_length=200, blank=True, default="")
    host = models.CharField(max_length=200, blank=True, default="")
    deleted_at = models.DateTimeField(null=True, default=None)

    objects = Kept()
    every = models.Manager["Session"]()

    class Meta:
        indexes = [
            models.Index(fields=["owner", "-activity_at", "-id"], name="session_owner_activity"),
            models.Index(fields=["-activity_at", "-id"], name="session_activity"),
            models.Index(fields=["lease_until"], name="session_lease"),
            models.Index(
                fields=["deleted_at"], condition=models.Q(deleted_at__isnull=False), name="session_deleted"
            ),
        ]

    def __str__(self) -> str:
        return self.name or str(self.id)

    @property
    def public_generation(self) -> str:
        """How clients see the generation; the nonce keeps a restored database from repeating one."""
        return f"{self.generation}-{self.generation_nonce or '0'}"
