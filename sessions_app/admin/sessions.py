"""Sessions: who owns one, where its actor is, what it says of itself, and the way to everything of it."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from sessions_app.admin.base import LookOnly
from sessions_app.admin.links import block, joined, list_link
from sessions_app.admin.live_panel import live_panel
from sessions_app.admin.operate import interrupt_session, restart_actor
from sessions_app.models import Artifact, Entry, Input, ProviderAttempt, Run, Session, ToolCall

INSTRUCTIONS_SCALARS = 4_000
OPERATIONS = (("interrupt", "Interrupt the run"), ("restart", "Restart the actor"))
OF_A_SESSION = (
    (Run, "Runs"),
    (ProviderAttempt, "Attempts"),
    (Input, "Inputs"),
    (Entry, "History"),
    (ToolCall, "Tool calls"),
    (Artifact, "Artifacts"),
)


@admin.register(Session)
class SessionAdmin(LookOnly[Session]):
    list_display = (
        "__str__",
        "owner",
        "provider",
        "model",
        "archived",
        "public_generation",
        "host",
        "activity_at",
    )
    list_filter = ("archived", "activity_at")
    list_select_related = ("owner",)
    ordering = ("-activity_at", "-id")
    search_help_text = "An id, a part of a name, or an owner's user name"
    text_lookups = ("name__icontains", "owner__username__iexact")
    actions = ("interrupt", "restart")
    change_form_template = "admin/albedo_session.html"
    fieldsets = (
        (None, {"fields": ("id", "name", "owner", "everything", "open_session", "archived")}),
        ("Settings", {"fields": ("workspace", "provider", "model", "shown_instructions")}),
        ("Counters", {"fields": ("created_at", "activity_at", "input_order", "head_position", "usage")}),
        ("Actor", {"fields": ("public_generation", "last_sequence", "lease_until", "host", "actor_channel")}),
    )
    readonly_fields = ("id", "everything", "open_session", "shown_instructions", "public_generation")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        return super().get_queryset(request).select_related("owner")

    def session_of(self, obj: Session) -> Session:
        return obj

    @admin.display(description="everything of it")
    def everything(self, session: Session) -> SafeString:
        return joined(
            [list_link(model, label, session__id__exact=session.id) for model, label in OF_A_SESSION]
        )

    @admin.display(description="console")
    def open_session(self, session: Session) -> SafeString:
        return format_html(
            '<a href="{}">Open in the console</a>', reverse("console-session", args=[session.id])
        )

    @admin.display(description="instructions")
    def shown_instructions(self, session: Session) -> SafeString | str:
        return block(session.instructions, INSTRUCTIONS_SCALARS)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Session | None = None,
    ) -> HttpResponse:
        more = {
            "live": live_panel(obj.id) if obj else None,
            "operations": OPERATIONS if self.has_operate_permission(request) else (),
        }
        return super().render_change_form(request, context | more, add, change, form_url, obj)

    @admin.action(description="Interrupt the run", permissions=["operate"])
    def interrupt(self, request: HttpRequest, sessions: QuerySet[Session]) -> None:
        user = cast(User, request.user)
        stopped = [session for session in sessions if interrupt_session(user, session.id)]
        self.message_user(request, f"Interrupts asked for: {len(stopped)}.", messages.SUCCESS)

    @admin.action(description="Restart the actor", permissions=["operate"])
    def restart(self, request: HttpRequest, sessions: QuerySet[Session]) -> None:
        for session in sessions:
            restart_actor(cast(User, request.user), session.id)
        self.message_user(
            request, "The actors were told to end; they start again when needed.", messages.SUCCESS
        )
