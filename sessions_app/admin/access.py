"""API tokens (to be looked at and revoked) and provider profiles (to be edited, their key write-only)."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.safestring import SafeString

from sessions_app.admin.base import LookOnly
from sessions_app.admin.hosts import breaker_in_full, breaker_in_short, known_hosts
from sessions_app.admin.profile_form import ProfileForm
from sessions_app.models import ApiToken, ProviderProfile
from sessions_app.store.profiles import delete_profile
from sessions_app.store.tokens import revoke_token

PROFILE_FIELDS = (
    "name",
    ("base_url", "protocol", "model"),
    "breakers",
    "has_key",
    "new_api_key",
    "max_output_tokens",
    ("connect_timeout", "first_event_timeout", "idle_timeout", "request_timeout", "run_timeout"),
    ("max_retries", "fallback"),
    "header_names",
)


@admin.register(ApiToken)
class ApiTokenAdmin(LookOnly[ApiToken]):
    list_display = ("__str__", "user", "created_at", "last_used_at", "revoked_at")
    list_filter = ("created_at", "revoked_at")
    list_select_related = ("user",)
    text_lookups = ("name__icontains", "user__username__iexact")
    actions = ("revoke",)
    fields = ("id", "name", "user", "created_at", "last_used_at", "revoked_at")
    readonly_fields = ("id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiToken]:
        return super().get_queryset(request).select_related("user")

    @admin.action(description="Revoke", permissions=["operate"])
    def revoke(self, request: HttpRequest, tokens: QuerySet[ApiToken]) -> None:
        for token in tokens:
            revoke_token(cast(User, request.user), token.id)
        self.message_user(request, "Revoked.", messages.SUCCESS)


@admin.register(ProviderProfile)
class ProviderProfileAdmin(LookOnly[ProviderProfile]):
    """Written by the store's functions, which seal the key; the form never gets it back."""

    list_display = ("name", "base_url", "protocol", "model", "has_key", "fallback", "updated_at")
    ordering = ("name",)
    search_fields = ("name",)
    id_lookups = ()
    text_lookups = ("name__icontains",)
    form = ProfileForm

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_operate_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: ProviderProfile | None = None) -> bool:
        return self.has_operate_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: ProviderProfile | None = None) -> bool:
        return self.has_operate_permission(request)

    def get_readonly_fields(
        self, request: HttpRequest, obj: ProviderProfile | None = None
    ) -> tuple[str, ...]:
        looking = ("breakers", "has_key", "header_names")
        return looking if obj is None else ("name", *looking)

    def get_fields(self, request: HttpRequest, obj: ProviderProfile | None = None) -> Any:
        """Who may only look has no form, so no field of the form's own."""
        if self.has_change_permission(request, obj):
            return [field for field in PROFILE_FIELDS if obj is not None or field != "breakers"]
        return [field for field in PROFILE_FIELDS if field != "new_api_key"]

    def get_list_display(self, request: HttpRequest) -> Any:
        """With the breakers' states, for which a page asks the hosts once."""
        hosts = cache(known_hosts)

        @admin.display(description="breaker")
        def breaker(profile: ProviderProfile) -> str:
            return breaker_in_short(hosts(), profile.base_url)

        return (*self.list_display, breaker)

    @admin.display(description="breaker")
    def breakers(self, profile: ProviderProfile) -> SafeString | str:
        return breaker_in_full(known_hosts(), profile.base_url)

    @admin.display(description="key", boolean=True)
    def has_key(self, profile: ProviderProfile) -> bool:
        return bool(profile.api_key)

    @admin.display(description="headers")
    def header_names(self, profile: ProviderProfile) -> str:
        """Names alone: a header may be a credential."""
        return ", ".join(sorted(profile.headers)) or "none"

    def save_model(
        self, request: HttpRequest, obj: ProviderProfile, form: ModelForm[ProviderProfile], change: bool
    ) -> None:
        cast(ProfileForm, form).store()

    def delete_model(self, request: HttpRequest, obj: ProviderProfile) -> None:
        delete_profile(obj.name)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[ProviderProfile]) -> None:
        for profile in queryset:
            delete_profile(profile.name)
