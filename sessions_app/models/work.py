"""What is asked and how it is answered: inputs, runs, and the attempts at a provider."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from sessions_app.ids import new_id
from sessions_app.models.fields import JSONTextField
from sessions_app.models.session import Session


class Run(models.Model):
    """The work that answers one or more inputs; `state` leaves `running` exactly once."""

    class State(models.TextChoices):
        RUNNING = "running"
        COMPLETED = "completed"
        INTERRUPTED = "interrupted"
        FAILED = "failed"
        ABANDONED = "abandoned"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="runs")
    generation = models.BigIntegerField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.RUNNING)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, default=None)
    steps = models.IntegerField(default=0)
    provider = models.CharField(max_length=64, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    usage = JSONTextField(default=dict)
    error = JSONTextField(null=True, default=None)

    interrupt_requested_at = models.DateTimeField(null=True, default=None)
    interrupt_by = models.CharField(max_length=150, blank=True, default="")
    provider_closed_at = models.DateTimeField(null=True, default=None)
    tool_interrupted_at = models.DateTimeField(null=True, default=None)
    kernel = models.CharField(max_length=16, blank=True, default="")
    settled_at = models.DateTimeField(null=True, default=None)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session"], condition=models.Q(state="running"), name="one_unfinished_run_a_session"
            )
        ]
        indexes = [models.Index(fields=["session", "id"], name="run_session_id")]

    def __str__(self) -> str:
        return str(self.id)


class Input(models.Model):
    """What a user asks. `uid` is the client's id, unique in its session alone."""

    class State(models.TextChoices):
        PENDING = "pending"
        COMMITTED = "committed"
        CANCELLED = "cancelled"

    class WhenBusy(models.TextChoices):
        QUEUE = "queue"
        STEER = "steer"
        INTERRUPT = "interrupt"
        REJECT = "reject"

    uid = models.UUIDField(default=new_id, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="inputs")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    order = models.BigIntegerField()
    text = models.TextField(blank=True)
    when_busy = models.CharField(max_length=16, choices=WhenBusy.choices, default=WhenBusy.QUEUE)
    state = models.CharField(max_length=16, choices=State.choices, default=State.PENDING)
    fingerprint = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="inputs")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "uid"], name="input_uid_once_a_session"),
            models.UniqueConstraint(fields=["session", "order"], name="input_order_once_a_session"),
        ]
        indexes = [
            models.Index(
                fields=["session", "order"], condition=models.Q(state="pending"), name="input_pending"
            )
        ]

    def __str__(self) -> str:
        return str(self.uid)


class ProviderAttempt(models.Model):
    """One try at one step. `record` has every field of the diagnostics; names, counts and times alone."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="attempts")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="attempts")
    step = models.IntegerField()
    attempt = models.IntegerField()
    provider = models.CharField(max_length=64)
    model = models.CharField(max_length=200)
    protocol = models.CharField(max_length=32)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, default=None)
    outcome = models.CharField(max_length=16, blank=True, default="")
    phase = models.CharField(max_length=32, blank=True, default="")
    error_class = models.CharField(max_length=64, blank=True, default="")
    http_status = models.IntegerField(null=True, default=None)
    record = JSONTextField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "step", "attempt"], name="attempt_once_a_step")]
        indexes = [models.Index(fields=["session", "id"], name="attempt_session_id")]

    def __str__(self) -> str:
        return f"step {self.step}, attempt {self.attempt}"
