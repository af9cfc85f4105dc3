"""What the actor hosts say of themselves: a page, and a profile's breaker. It only asks, and not for long."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from sessions_app.admin.links import NOTHING
from sessions_app.live import live

log = logging.getLogger(__name__)

Host = dict[str, Any]

# More than the live half's own limit.
ANSWER_SECONDS = 3.0
FAILED = "The live half could not be asked; the log says why."
SILENT = "No actor host answered."


def known_hosts() -> list[Host] | None:
    """Every host that answered; None where the live half could not be asked."""
    try:
        return async_to_sync(_ask)()
    except Exception:
        # The pages tell of what lasts too: they stand whatever the live half does.
        log.exception("the live half failed for the admin")
        return None


async def _ask() -> list[Host]:
    async with asyncio.timeout(ANSWER_SECONDS):
        return await live().hosts()


@require_safe
def hosts_page(request: HttpRequest) -> TemplateResponse:
    """For staff, by the admin's own gate: hosts, their breakers, and whom they ask without streaming."""
    hosts = known_hosts()
    context = {
        **admin.site.each_context(request),
        "title": "Hosts",
        "hosts": hosts,
        "problem": FAILED if hosts is None else SILENT,
    }
    return TemplateResponse(request, "admin/albedo_hosts.html", context)


def breaker_in_short(hosts: list[Host] | None, base_url: str) -> str:
    """The worst state of an endpoint's breakers, and on how many hosts it is not closed."""
    if not hosts:
        return NOTHING
    states = [{found["state"] for found in _breakers(host, base_url)} for host in hosts]
    troubled = sum(not found <= {"closed"} for found in states)
    if not troubled:
        return "closed"
    worst = "open" if any("open" in found for found in states) else "half open"
    return worst if len(hosts) == 1 else f"{worst} ({troubled} of {len(hosts)} hosts)"


def breaker_in_full(hosts: list[Host] | None, base_url: str) -> SafeString | str:
    """A line for each host and model; a model that never failed has none."""
    if not hosts:
        return FAILED if hosts is None else SILENT
    lines = [(host["host"], _told(host, base_url)) for host in hosts]
    return format_html_join("", "<div>{}: {}</div>", lines)


def _told(host: Host, base_url: str) -> SafeString | str:
    found = _breakers(host, base_url)
    if not found:
        return "closed"
    return format_html_join("; ", "{}", ((_line(breaker),) for breaker in found))


def _line(breaker: dict[str, Any]) -> SafeString:
    state, wait = breaker["state"].replace("_", " "), breaker["wait_seconds"]
    more = f", asked again in {wait:.0f} s" if wait else ""
    return format_html(
        "{} for {} (failures in a row: {}{})", state, breaker["model"], breaker["failures"], more
    )


def _breakers(host: Host, base_url: str) -> list[dict[str, Any]]:
    return [found for found in host.get("breakers", ()) if found["base_url"] == base_url]
