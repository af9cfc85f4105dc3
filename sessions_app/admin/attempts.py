"""Attempts at a provider: the record as a timeline and tables, names, counts and times alone."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from sessions_app.admin.base import LookOnly
from sessions_app.admin.filters import words_filter
from sessions_app.admin.links import link_to
from sessions_app.admin.timeline import timeline
from sessions_app.models import ProviderAttempt

# Shown as plain rows; what is a list of its own or in the timeline is left out here.
FACTS = (
    "failure_phase",
    "cancel_phase",
    "cancel_reason",
    "timeout_scope",
    "tool_argument_chars",
    "stream_guard",
    "longest_gap_ms",
    "usage",
    "usage_source",
    "retry_cause",
    "retry_delay_ms",
)
PHASES = (
    "connecting",
    "waiting_first_event",
    "generating_text",
    "generating_thinking",
    "generating_tool_arguments",
    "completing",
    "retry_wait",
)
RESPONSE_COLUMNS = ("status", "bytes", "events", "body_eof_observed", "close_error_type")
# No provider sends more calls than this in one response without being stopped.
SHOWN_TOOLS = 256


@admin.register(ProviderAttempt)
class AttemptAdmin(LookOnly[ProviderAttempt]):
    list_display = (
        "id",
        "run_link",
        "step",
        "attempt",
        "provider",
        "model",
        "outcome",
        "phase",
        "error_class",
        "http_status",
        "started_at",
    )
    list_filter = (
        words_filter("outcome", ("completed", "failed", "cancelled")),
        words_filter("protocol", ("responses", "chat_completions")),
        words_filter("phase", PHASES),
        "started_at",
    )
    id_lookups = ("id", "session_id", "run_id")
    text_lookups = ("error_class__iexact", "provider__iexact", "model__iexact")
    search_help_text = "An id, an error class, a provider or a model"
    change_form_template = "admin/albedo_attempt.html"
    fieldsets = (
        (None, {"fields": ("id", "session_link", "run_link", ("step", "attempt"))}),
        ("Provider", {"fields": (("provider", "model", "protocol"),)}),
        ("End", {"fields": (("outcome", "phase"), ("error_class", "http_status"))}),
    )
    readonly_fields = ("id", "session_link", "run_link")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProviderAttempt]:
        return super().get_queryset(request).select_related("session", "run")

    @admin.display(description="session")
    def session_link(self, attempt: ProviderAttempt) -> SafeString | str:
        return link_to(attempt.session)

    @admin.display(description="run")
    def run_link(self, attempt: ProviderAttempt) -> SafeString | str:
        return link_to(attempt.run)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: ProviderAttempt | None = None,
    ) -> HttpResponse:
        shown = record_context(obj.record) if obj else {}
        return super().render_change_form(request, context | shown, add, change, form_url, obj)


def record_context(record: dict[str, Any]) -> dict[str, Any]:
    """What the attempt's template draws."""
    constraints = record.get("wire_request_constraints") or {}
    return {
        "timeline": timeline(record),
        "facts": [(name, record[name]) for name in FACTS if record.get(name) is not None],
        "constraints": constraints,
        "asked_tools": (constraints.get("tools") or [])[:SHOWN_TOOLS],
        "response_columns": RESPONSE_COLUMNS,
        "responses": [_response(response) for response in record.get("wire_responses") or []],
    }


def _response(response: dict[str, Any]) -> dict[str, Any]:
    cells = [response.get(name) for name in RESPONSE_COLUMNS]
    return {"cells": cells, "tools": (response.get("tools") or [])[:SHOWN_TOOLS]}
