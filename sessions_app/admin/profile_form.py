"""A provider profile's form. It refuses what the store refuses: it tries the write and takes it back."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.core.validators import RegexValidator
from django.db import transaction

from sessions_app.endpoints import checked_base_url
from sessions_app.models import ProviderProfile
from sessions_app.problems import Problem
from sessions_app.store.profiles import TUNED, put_profile

KEY_CHARS = 4_096


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]
    new_api_key = forms.CharField(
        label="API key",
        required=False,
        max_length=KEY_CHARS,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="A key, or env:NAME. Left empty, the stored one stays. It is never shown.",
    )

    class Meta:
        model = ProviderProfile
        fields = (
            "name",
            "base_url",
            "protocol",
            "model",
            "max_output_tokens",
            *TUNED,
            "fallback",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in TUNED:
            if name in self.fields and not self.instance.pk:
                self.fields[name].initial = settings.ALBEDO[name]
        for name in ("max_output_tokens", *TUNED):
            if name in self.fields:
                self.fields[name].widget.attrs["min"] = 0
        if "name" in self.fields:
            self.fields["name"].validators.append(RegexValidator(r"\A[A-Za-z0-9][A-Za-z0-9._-]*\Z"))
        if "max_output_tokens" in self.fields:
            self.fields["max_output_tokens"].required = False

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        try:
            cleaned["base_url"] = checked_base_url(cleaned["base_url"])
            with transaction.atomic():
                self.store()
                transaction.set_rollback(True)
        except Problem as problem:
            raise forms.ValidationError(problem.detail) from None
        return cleaned

    def store(self) -> ProviderProfile:
        """Make or replace the profile. Raises Problem."""
        values = {
            name: value for name, value in self.cleaned_data.items() if name not in ("name", "new_api_key")
        }
        key = self.cleaned_data.get("new_api_key")
        if key:
            values["api_key"] = key
        name = self.cleaned_data.get("name") or self.instance.name
        return put_profile(name, values)[0]
