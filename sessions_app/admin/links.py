"""Links between the admin's pages. Every text is escaped here, once."""

from __future__ import annotations

from urllib.parse import urlencode

from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app.text import head

NOTHING = "–"
LABEL_SCALARS = 80


def name_of(model: type[Model], page: str) -> str:
    return f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"


def link_to(target: Model | None) -> SafeString | str:
    """A link to the page of an object, labelled as the object calls itself."""
    if target is None:
        return NOTHING
    url = reverse(name_of(type(target), "change"), args=[target.pk])
    return format_html('<a href="{}">{}</a>', url, head(str(target), LABEL_SCALARS))


def list_link(model: type[Model], label: str, **lookups: object) -> SafeString:
    """A link to a list, narrowed by exact lookups on its own foreign keys."""
    query = urlencode({name: str(value) for name, value in lookups.items()})
    return format_html('<a href="{}?{}">{}</a>', reverse(name_of(model, "changelist")), query, label)


def joined(links: list[SafeString]) -> SafeString:
    return format_html_join(" · ", "{}", ((link,) for link in links))


def block(text: str, scalars: int) -> SafeString | str:
    """Text as it stands, at most `scalars` of it, with the count of what is left out."""
    if not text:
        return NOTHING
    rest = len(text) - scalars
    more = format_html('<p class="albedo-more">{} more characters</p>', rest) if rest > 0 else ""
    return format_html('<pre class="albedo-text">{}</pre>{}', text[:scalars], more)
