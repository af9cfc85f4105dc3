"""Every way into a server, each tried once: what answers while its storage is in trouble, and how."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
from uuid_utils.compat import uuid7
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.support.session import SessionClient

SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """`code` of a problem, empty where there is none; `retry_after` as it came."""

    status: int
    code: str
    retry_after: str

    @property
    def refused(self) -> bool:
        """A refusal that says when to come back."""
        return self.status == 503 and self.retry_after.isdigit()


class Doors:
    """Those of one session's server. The browser is logged in already: sessions of it are read, not made."""

    def __init__(self, session: SessionClient, path: str = "/") -> None:
        self._session = session
        self._api = session.server.client(session.token, timeout=SECONDS)
        self._browser = session.server.client("", timeout=SECONDS, follow_redirects=False)
        page = self._browser.get("/login/")
        self._csrf = page.cookies["csrftoken"]
        entered = self._log_in(self._browser)
        assert entered.status_code == 302, entered.text

    def readers(self) -> dict[str, Callable[[], Answer]]:
        path, get = self._session.path, self._api.get
        return {
            "session": lambda: _answer(get(path)),
            "list": lambda: _answer(get("/api/sessions")),
            "history": lambda: _answer(get(f"{path}/history")),
            "inputs": lambda: _answer(get(f"{path}/inputs")),
            "runs": lambda: _answer(get(f"{path}/runs")),
            "attempts": lambda: _answer(get(f"{path}/attempts")),
            "providers": lambda: _answer(get("/api/providers")),
            "page": lambda: _answer(self._browser.get(f"/sessions/{self._session.id}/")),
            "admin": lambda: _answer(self._browser.get("/admin/sessions_app/session/")),
        }

    def streams(self) -> dict[str, Callable[[], Answer]]:
        return {"events": self._events, "socket": self._socket}

    def writers(self) -> dict[str, Callable[[], Answer]]:
        path, api = self._session.path, self._api
        return {
            "input": lambda: _answer(api.put(f"{path}/inputs/{uuid7()}", json={"text": "refused"})),
            "new session": lambda: _answer(api.post("/api/sessions", json={"name": "refused"})),
            "rename": lambda: _answer(api.patch(path, json={"name": "renamed"})),
            "token": lambda: _answer(api.post("/api/tokens", json={"name": "refused"})),
            "login": self._login,
        }

    def try_all(self, doors: dict[str, Callable[[], Answer]]) -> dict[str, Answer]:
        """All at once: none may stand in another's way."""
        with ThreadPoolExecutor(len(doors)) as threads:
            answers = {name: threads.submit(door) for name, door in doors.items()}
            return {name: answer.result() for name, answer in answers.items()}

    def _login(self) -> Answer:
        browser = self._session.server.client("", timeout=SECONDS, follow_redirects=False)
        browser.get("/login/")
        return _answer(self._log_in(browser))

    def _log_in(self, browser: httpx.Client) -> httpx.Response:
        csrf = browser.cookies["csrftoken"]
        form = {"token": self._session.token, "csrfmiddlewaretoken": csrf, "next": "/"}
        return browser.post("/login/", data=form, headers={"Referer": f"{self._session.server.url}/login/"})

    def _events(self) -> Answer:
        accept = {"Accept": "text/event-stream"}
        with self._api.stream("GET", self._session.path, headers=accept) as answer:
            if answer.status_code != 200:
                answer.read()
            return _answer(answer)

    def _socket(self) -> Answer:
        session = self._session
        url = f"{session.server.url.replace('http://', 'ws://')}/ws/sessions/{session.id}"
        headers = {"Authorization": f"Bearer {session.token}"}
        try:
            with connect(url, additional_headers=headers, open_timeout=SECONDS, proxy=None):
                return Answer(101, "", "")
        except InvalidStatus as refusal:
            response = refusal.response
            return Answer(response.status_code, "", response.headers.get("Retry-After", ""))


def _answer(response: httpx.Response) -> Answer:
    problem = response.headers.get("content-type", "").startswith("application/problem+json")
    code = str(response.json()["code"]) if problem else ""
    return Answer(response.status_code, code, response.headers.get("Retry-After", ""))
