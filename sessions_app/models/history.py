"""What lasts of a conversation: entries, tool calls, and the pages of what is large."""

from __future__ import annotations

from django.db import models

from sessions_app.ids import new_id
from sessions_app.models.fields import JSONTextField
from sessions_app.models.session import Session
from sessions_app.models.work import Input, Run


class ToolCall(models.Model):
    """A call that a step asked for. `state` leaves `pending` and `running` exactly once each.

    `call_id` is ours, `tool_call_id` the provider's made unique in the session, `native_id` as it came.
    The raw JSON text of the arguments stands here while small, else in the chunks of the call's entry.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        RUNNING = "running"
        OK = "ok"
        ERROR = "error"
        INTERRUPTED = "interrupted"
        TIMEOUT = "timeout"
        DIED = "died"
        LOST = "lost"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="tool_calls")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="tool_calls")
    generation = models.BigIntegerField()
    step = models.IntegerField()
    attempt = models.IntegerField()
    output_index = models.IntegerField()
    call_id = models.CharField(max_length=200)
    tool_call_id = models.TextField()
    native_id = models.TextField(blank=True, default="")
    name = models.TextField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.PENDING)
    arguments_text = models.TextField(blank=True, default="")
    arguments_bytes = models.BigIntegerField(default=0)
    arguments_valid = models.BooleanField(default=True)
    result_text = models.TextField(blank=True, default="")
    result_bytes = models.BigIntegerField(default=0)
    output_bytes = models.BigIntegerField(default=0)
    echo = JSONTextField(null=True, default=None)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, default=None)
    ended_at = models.DateTimeField(null=True, default=None)
    duration_ms = models.BigIntegerField(null=True, default=None)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "call_id"], name="call_id_once_a_session")]
        indexes = [models.Index(fields=["session", "state"], name="call_session_state")]

    def __str__(self) -> str:
        return self.name


class Entry(models.Model):
    """One line of history. `content` holds the parts; a `reference` part has its field and bytes, no url."""

    class Kind(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"
        THINKING = "thinking"
        TOOL_CALL = "tool_call"
        TOOL_RESULT = "tool_result"
        NOTE = "note"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="entries")
    position = models.BigIntegerField()
    kind = models.CharField(max_length=16, choices=Kind.choices)
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="entries")
    input = models.ForeignKey(Input, null=True, on_delete=models.SET_NULL, related_name="entries")
    tool_call = models.ForeignKey(ToolCall, null=True, on_delete=models.SET_NULL, related_name="entries")
    message_id = models.UUIDField(null=True, default=None)
    created_at = models.DateTimeField()
    content = JSONTextField(default=list)
    content_bytes = models.BigIntegerField(default=0)
    truncated = models.BooleanField(default=False)
    echo = JSONTextField(null=True, default=None)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "position"], name="entry_position_once_a_session")
        ]

    def __str__(self) -> str:
        return f"{self.position} {self.kind}"


class ContentChunk(models.Model):
    """A piece of one large field of an entry, cut on a character boundary, found by its byte offset."""

    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="chunks")
    field = models.CharField(max_length=16)
    offset_bytes = models.BigIntegerField()
    length_bytes = models.IntegerField()
    text = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["entry", "field", "offset_bytes"], name="chunk_offset_once_a_field"
            )
        ]

    def __str__(self) -> str:
        return f"{self.field} from {self.offset_bytes}"


class Artifact(models.Model):
    """An image or page that code displayed, whole and bounded."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="artifacts")
    tool_call = models.ForeignKey(ToolCall, on_delete=models.CASCADE, related_name="artifacts")
    name = models.CharField(max_length=200, blank=True, default="")
    mime_type = models.CharField(max_length=100)
    data = models.BinaryField()
    size_bytes = models.BigIntegerField()
    width = models.IntegerField(null=True, default=None)
    height = models.IntegerField(null=True, default=None)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name or str(self.id)
