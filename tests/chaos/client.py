"""A user of one session, who sends again what was not answered and writes down what was."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
from uuid_utils.compat import uuid7

from tests.chaos.history import Outcome
from tests.chaos.plan import Plan
from tests.chaos.recording import Recording

PATIENCE_SECONDS = 90.0
RETRY_SECONDS = 0.1


class Client:
    """Asks `url()` for the address before each request: it changes when a server is started again."""

    def __init__(self, recording: Recording, session: str, url: Callable[[], str], token: str) -> None:
        self.recording = recording
        self.session = session
        self.url = url
        # The status of each answer, and when it says to come again.
        self.answers: list[tuple[int, str]] = []
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
            trust_env=False,
            verify=False,
            limits=httpx.Limits(max_connections=100, keepalive_expiry=1),
        )

    def close(self) -> None:
        self._http.close()

    def request(self, method: str, path: str = "", **options: Any) -> httpx.Response | None:
        """One request of this session; None where no answer came. Raises ConnectError: nothing was sent."""
        try:
            answer = self._http.request(method, f"{self.url()}/api/sessions/{self.session}{path}", **options)
        except httpx.ConnectError:
            raise
        except httpx.HTTPError:
            return None
        self.answers.append((answer.status_code, answer.headers.get("Retry-After", "")))
        return answer

    def get(self, path: str = "", **params: Any) -> Any:
        """What is there; tried again while the server is away or busy."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self._try("GET", path, params=params)
            if answer is not None and answer.status_code == 200:
                return answer.json()
            said = "no answer" if answer is None else f"{answer.status_code} {answer.text}"
            assert answer is None or answer.status_code >= 500, f"GET {path}: {said}"
            assert time.monotonic() < end, f"GET {path}: {said}"
            time.sleep(RETRY_SECONDS)

    def send(self, plan: Plan, input_id: str, when_busy: str = "queue") -> httpx.Response | None:
        """Send an input once, and record how that went."""
        body = {"text": plan.text, "when_busy": when_busy}
        invoked = time.monotonic()
        answer = self._try("PUT", f"/inputs/{input_id}", json=body)
        order = answer.json()["order"] if answer is not None and answer.status_code == 202 else None
        outcome = outcome_of(answer)
        self.recording.operation("input", self.session, invoked, outcome, input_id=input_id, order=order)
        return answer

    def ask(self, plan: Plan, when_busy: str = "queue") -> str:
        """Send an input until it is accepted; its id."""
        input_id = str(uuid7())
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self.send(plan, input_id, when_busy)
            if answer is not None and answer.status_code == 202:
                return input_id
            said = "no answer" if answer is None else f"{answer.status_code} {answer.text}"
            again = answer is None or answer.status_code >= 500 or answer.status_code == 429
            assert again, f"the input was refused: {said}"
            assert time.monotonic() < end, f"the input was not accepted in time: {said}"
            time.sleep(RETRY_SECONDS)

    def interrupt(self, shown: dict[str, Any] | None = None) -> httpx.Response | None:
        """Stop what a snapshot (by default: a fresh one) shows, once."""
        seen = shown or self.get(tail=0)
        body = {"run_id": seen["status"]["run_id"], "through_input_order": seen["input_order"]}
        invoked = time.monotonic()
        answer = self._try("POST", "/interrupt", json=body)
        self.recording.operation("interrupt", self.session, invoked, outcome_of(answer))
        return answer

    def stop(self, shown: dict[str, Any]) -> str:
        """Interrupt what a snapshot shows until that is answered; what it says of the run."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self.interrupt(shown)
            if answer is not None and answer.status_code == 200:
                return str(answer.json()["state"])
            said = "no answer" if answer is None else f"{answer.status_code} {answer.text}"
            assert answer is None or answer.status_code >= 500, f"the interrupt was refused: {said}"
            assert time.monotonic() < end, f"the interrupt was not answered: {said}"
            time.sleep(RETRY_SECONDS)

    def cancel(self, input_id: str) -> httpx.Response | None:
        invoked = time.monotonic()
        answer = self._try("POST", f"/inputs/{input_id}/cancel")
        outcome = outcome_of(answer)
        self.recording.operation("cancel", self.session, invoked, outcome, targets=(input_id,))
        return answer

    def delete(self, *, force: bool = True) -> httpx.Response | None:
        invoked = time.monotonic()
        answer = self._try("DELETE", params={"force": "true"} if force else {})
        self.recording.operation("delete", self.session, invoked, outcome_of(answer))
        return answer

    def history(self) -> list[dict[str, Any]]:
        """Every entry, oldest first."""
        page = self.get("/history", limit=200)
        entries = list(page["items"])
        while page["older"]:
            page = self.get("/history", next=page["older"])
            entries = [*page["items"], *entries]
        return entries

    def runs(self) -> list[dict[str, Any]]:
        page = self.get("/runs", limit=200)
        found = list(page["items"])
        while page["next"]:
            page = self.get("/runs", next=page["next"], limit=200)
            found += page["items"]
        return found

    def _try(self, method: str, path: str = "", **options: Any) -> httpx.Response | None:
        try:
            return self.request(method, path, **options)
        except httpx.ConnectError:
            return None


def outcome_of(answer: httpx.Response | None) -> Outcome:
    """A server's own error leaves open what became of the request, as no answer does."""
    if answer is None or answer.status_code >= 500:
        return "unknown"
    return "ok" if answer.status_code < 300 else "fail"
