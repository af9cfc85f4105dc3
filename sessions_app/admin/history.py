"""What lasts of a conversation: entries, calls, the pieces of large texts, artifacts."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from sessions_app.admin.base import LookOnly, shows_one
from sessions_app.admin.links import block, joined, link_to, list_link
from sessions_app.models import Artifact, ContentChunk, Entry, Session, ToolCall
from sessions_app.models.fields import dump_json
from sessions_app.render import artifact_url

PAGE_SCALARS = 20_000


@admin.register(Entry)
class EntryAdmin(LookOnly[Entry]):
    list_display = ("position", "kind", "session_link", "run_id", "content_bytes", "truncated", "created_at")
    list_filter = ("kind", "created_at")
    ordering = ("-session_id", "-position")
    id_lookups = ("id", "session_id", "run_id")
    fields = (
        "id",
        "session_link",
        "run_link",
        "call_link",
        "position",
        "kind",
        "created_at",
        "truncated",
        "content_bytes",
        "chunk_links",
        "shown_content",
    )
    readonly_fields = ("id", "session_link", "run_link", "call_link", "chunk_links", "shown_content")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Entry]:
        rows = super().get_queryset(request).select_related("session").defer("echo")
        if shows_one(request):
            return rows.select_related("session", "run", "tool_call")
        return rows.defer("content", "echo")

    @admin.display(description="session")
    def session_link(self, entry: Entry) -> SafeString | str:
        return link_to(entry.session)

    @admin.display(description="run")
    def run_link(self, entry: Entry) -> SafeString | str:
        return link_to(entry.run)

    @admin.display(description="tool call")
    def call_link(self, entry: Entry) -> SafeString | str:
        return link_to(entry.tool_call)

    @admin.display(description="large texts")
    def chunk_links(self, entry: Entry) -> SafeString:
        fields = [part["reference"]["field"] for part in entry.content if part["kind"] == "reference"]
        return joined(
            [list_link(ContentChunk, name, entry__id__exact=entry.id, field__exact=name) for name in fields]
        )

    @admin.display(description="content")
    def shown_content(self, entry: Entry) -> SafeString | str:
        return block("\n\n".join(_part_text(part) for part in entry.content), PAGE_SCALARS)


def _part_text(part: dict[str, object]) -> str:
    """A part as people read it: its text, or its value as JSON."""
    for name in ("text", "value"):
        if isinstance(part.get(name), str):
            return str(part[name])
    return dump_json(part)


@admin.register(ToolCall)
class ToolCallAdmin(LookOnly[ToolCall]):
    list_display = (
        "name",
        "session_link",
        "state",
        "step",
        "attempt",
        "arguments_bytes",
        "result_bytes",
        "duration_ms",
        "created_at",
    )
    list_filter = ("state", "created_at")
    id_lookups = ("id", "session_id", "run_id")
    text_lookups = ("call_id__exact", "tool_call_id__exact", "name__exact")
    search_help_text = "An id of ours or the provider's, or a tool's whole name"
    fieldsets = (
        (None, {"fields": ("id", "session_link", "run_link", "everything", "name", "state")}),
        (
            "Identity",
            {
                "fields": (
                    ("generation", "step", "attempt", "output_index"),
                    "call_id",
                    "tool_call_id",
                    "native_id",
                )
            },
        ),
        ("Times", {"fields": (("created_at", "started_at", "ended_at", "duration_ms"),)}),
        ("Arguments", {"fields": (("arguments_bytes", "arguments_valid"), "shown_arguments")}),
        ("Result", {"fields": (("result_bytes", "output_bytes"), "shown_result")}),
    )
    readonly_fields = ("id", "session_link", "run_link", "everything", "shown_arguments", "shown_result")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ToolCall]:
        rows = super().get_queryset(request)
        if shows_one(request):
            return rows.select_related("session", "run")
        return rows.select_related("session").defer("arguments_text", "result_text", "echo")

    @admin.display(description="session")
    def session_link(self, call: ToolCall) -> SafeString | str:
        return link_to(call.session)

    @admin.display(description="run")
    def run_link(self, call: ToolCall) -> SafeString | str:
        return link_to(call.run)

    @admin.display(description="everything of it")
    def everything(self, call: ToolCall) -> SafeString:
        of_a_call = ((Entry, "Entries"), (Artifact, "Artifacts"))
        return joined([list_link(model, label, tool_call__id__exact=call.id) for model, label in of_a_call])

    @admin.display(description="arguments")
    def shown_arguments(self, call: ToolCall) -> SafeString | str:
        return block(call.arguments_text, PAGE_SCALARS)

    @admin.display(description="result")
    def shown_result(self, call: ToolCall) -> SafeString | str:
        return block(call.result_text, PAGE_SCALARS)


@admin.register(ContentChunk)
class ContentChunkAdmin(LookOnly[ContentChunk]):
    list_display = ("__str__", "entry_link", "field", "offset_bytes", "length_bytes")
    ordering = ("entry_id", "field", "offset_bytes")
    search_fields = ("entry_id",)
    id_lookups = ("entry_id",)
    search_help_text = "The id of an entry"
    fields = ("entry_link", "field", "offset_bytes", "length_bytes", "shown_text")
    readonly_fields = ("entry_link", "shown_text")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ContentChunk]:
        rows = super().get_queryset(request).select_related("entry__session")
        return rows if shows_one(request) else rows.defer("text")

    def session_of(self, obj: ContentChunk) -> Session:
        return obj.entry.session

    @admin.display(description="entry")
    def entry_link(self, chunk: ContentChunk) -> SafeString | str:
        return link_to(chunk.entry)

    @admin.display(description="text")
    def shown_text(self, chunk: ContentChunk) -> SafeString | str:
        return block(chunk.text, PAGE_SCALARS * 2)


@admin.register(Artifact)
class ArtifactAdmin(LookOnly[Artifact]):
    list_display = ("__str__", "session_link", "mime_type", "size_bytes", "created_at")
    list_filter = ("created_at",)
    id_lookups = ("id", "session_id", "tool_call_id")
    fields = (
        "id",
        "session_link",
        "call_link",
        "name",
        "mime_type",
        ("size_bytes", "width", "height"),
        "created_at",
        "open_link",
    )
    readonly_fields = ("id", "session_link", "call_link", "open_link")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Artifact]:
        return super().get_queryset(request).select_related("session", "tool_call").defer("data")

    @admin.display(description="session")
    def session_link(self, artifact: Artifact) -> SafeString | str:
        return link_to(artifact.session)

    @admin.display(description="tool call")
    def call_link(self, artifact: Artifact) -> SafeString | str:
        return link_to(artifact.tool_call)

    @admin.display(description="open")
    def open_link(self, artifact: Artifact) -> SafeString:
        return format_html('<a href="{}">Open</a>', artifact_url(artifact.session_id, artifact.id))
