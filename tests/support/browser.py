"""A real browser for the pages: Chromium, without a window. Tests that need it say so where it is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    expect,
    sync_playwright,
)

from tests.support.server import ServerProcess

PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass  # no slots: the browser's library keeps notes on whom it calls back
class Guard:
    """What a page must never do: throw, open a dialog, run foreign script, ask another host for anything."""

    host: str
    wrong: list[str] = field(default_factory=list)
    sockets: list[str] = field(default_factory=list)
    # Said by the browser for what the page does not decide: a refused request, a frame that may run nothing.
    expected: tuple[str, ...] = (
        "Failed to load resource",
        "Blocked script execution",
        "WebSocket connection to",
    )

    def watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("console", self._console)
        page.on("request", self._request)
        page.on("websocket", lambda socket: self.sockets.append(socket.url))

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(self.expected):
            self.wrong.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about") and parts.netloc != self.host:
            self.wrong.append(f"request: {request.url}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Gone with its module: while it runs, no test may have an event loop of its own."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed: the pages are not tried in a browser")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()


def signed_in(browser: Browser, server: ServerProcess, base: str = "", **options: object) -> BrowserContext:
    """A context that signed in on the login page with the server's token."""
    context = browser.new_context(**options)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(f"{base or server.url}/login/")
    page.click("summary")
    page.fill("[name=token]", server.token)
    page.click("details button")
    page.wait_for_selector("#new-session")
    page.close()
    return context
