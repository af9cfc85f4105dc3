"""Runs and inputs: what was asked, and the work that answered it."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from sessions_app.admin.base import LookOnly, shows_one
from sessions_app.admin.links import block, joined, link_to, list_link
from sessions_app.models import Entry, Input, ProviderAttempt, Run, Session, ToolCall

INPUT_SCALARS = 20_000


@admin.register(Run)
class RunAdmin(LookOnly[Run]):
    list_display = ("id", "session_link", "state", "steps", "provider", "model", "started_at", "ended_at")
    list_filter = ("state", "started_at")
    id_lookups = ("id", "session_id")
    fieldsets = (
        (None, {"fields": ("id", "session_link", "everything", "state", "generation", "steps")}),
        ("Times", {"fields": ("started_at", "ended_at")}),
        ("Provider", {"fields": ("provider", "model", "usage", "error")}),
        (
            "Interrupt",
            {
                "fields": (
                    *(f"interrupt_{name}" for name in ("requested_at", "by")),
                    *("provider_closed_at", "tool_interrupted_at", "kernel", "settled_at"),
                )
            },
        ),
    )
    readonly_fields = ("id", "session_link", "everything")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        return super().get_queryset(request).select_related("session")

    @admin.display(description="session")
    def session_link(self, run: Run) -> SafeString | str:
        return link_to(run.session)

    @admin.display(description="everything of it")
    def everything(self, run: Run) -> SafeString:
        of_a_run = (
            (ProviderAttempt, "Attempts"),
            (ToolCall, "Tool calls"),
            (Entry, "History"),
            (Input, "Inputs"),
        )
        return joined([list_link(model, label, run__id__exact=run.id) for model, label in of_a_run])


@admin.register(Input)
class InputAdmin(LookOnly[Input]):
    list_display = ("uid", "session_link", "order", "state", "when_busy", "author", "created_at")
    list_filter = ("state", "when_busy", "created_at")
    search_fields = ("uid",)
    id_lookups = ("uid", "session_id", "run_id")
    fields = (
        "uid",
        "session_link",
        "run_link",
        "order",
        "state",
        "when_busy",
        "author",
        "created_at",
        "shown_text",
    )
    readonly_fields = ("uid", "session_link", "run_link", "shown_text")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Input]:
        rows = super().get_queryset(request).select_related("session", "run", "author")
        # Lists show no text, and a text may be megabytes.
        return rows if shows_one(request) else rows.defer("text")

    @admin.display(description="session")
    def session_link(self, item: Input) -> SafeString | str:
        return link_to(item.session)

    @admin.display(description="run")
    def run_link(self, item: Input) -> SafeString | str:
        return link_to(item.run)

    @admin.display(description="text")
    def shown_text(self, item: Input) -> SafeString | str:
        return block(item.text, INPUT_SCALARS)

    def session_of(self, obj: Input) -> Session:
        return obj.session
