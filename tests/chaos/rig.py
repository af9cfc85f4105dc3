"""One trial: sessions, users and readers on a target, everything drawn from one seed, checked at its end."""

from __future__ import annotations

import itertools
import re
import time
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

import httpx
import orjson

from tests.chaos.checker import check
from tests.chaos.client import Client
from tests.chaos.final import final_of, rank_of
from tests.chaos.history import Final, History
from tests.chaos.ledger import Ledger
from tests.chaos.model import PlannedModel
from tests.chaos.plan import Plan, Step, is_whole
from tests.chaos.reader import TRANSPORTS, Reader, Transport
from tests.chaos.recording import Recording
from tests.chaos.target import Target
from tests.support.processes import DeadlinePassed

SETTLE_SECONDS = 120.0
# The parts of a snapshot that events move; history has its own rules.
LIVE = (
    "status",
    "input_order",
    "pending_inputs",
    "current_message",
    "current_progress",
    "current_output",
    "usage",
)
# What no fault from outside explains.
FAULTS_OF_OURS = re.compile(
    r"Traceback|unforeseen|by a fault of ours|its actor failed|an actor failed|IllegalTransition"
)


class Rig:
    """`rng` is the only source of chance. Clients and readers end with the rig; the target lives on."""

    def __init__(self, target: Target, seed: int, folder: Path) -> None:
        self.target = target
        self.seed = seed
        self.rng = Random(seed)
        self.folder = folder
        self.ledger = Ledger(folder / "ledger.jsonl")
        self.model = PlannedModel(self.ledger)
        self.recording = Recording()
        self.clients: dict[str, Client] = {}
        self._users: list[Client] = []
        self.readers: list[Reader] = []
        self.plans: dict[str, Plan] = {}
        self.deleted: set[str] = set()
        self.protocol = self.rng.choice(["responses", "chat_completions"])
        self._numbers = itertools.count(1)
        self._profile = ""
        # What each log had when the rig began.
        self._log_sizes: dict[Path, int] = {}

    def __enter__(self) -> Self:
        self.target.start()
        self._log_sizes = {file: file.stat().st_size for file in self.target.log_files()}
        self.model.__enter__()
        try:
            self._profile = self._define_profile()
        except BaseException:
            self.model.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for reader in self.readers:
            reader.stop()
        for client in self._users:
            client.close()
        self.model.__exit__(kind, error, trace)

    # What a row builds its trial of

    def session(self, **fields: Any) -> Client:
        """A new session that the rig's model answers, and a user of it."""
        answer = self.api("POST", "/api/sessions", json={"provider": self._profile, **fields})
        assert answer.status_code == 201, answer.text
        return self.client(answer.json()["id"])

    def client(self, session_id: str, number: int = 0) -> Client:
        """A user of a session; `number` is the web process that is asked."""
        made = Client(self.recording, session_id, lambda: self.target.url(number), self.target.token)
        self._users.append(made)
        self.clients.setdefault(session_id, made)
        return made

    def sessions(self, count: int, **fields: Any) -> list[Client]:
        return [self.session(**fields) for _ in range(count)]

    def reader(self, client: Client, transport: Transport | None = None, number: int = 0) -> Reader:
        """A reader of a session, who is there when this returns; over either transport if none is named."""
        chosen = transport if transport is not None else self.rng.choice(TRANSPORTS)
        name = f"{chosen}-{len(self.readers)}"
        reading = self.recording.reading(name, client.session)
        made = Reader(reading, lambda: self.target.url(number), self.target.token, chosen)
        self.readers.append(made)
        return made.start()

    def plan(self, *steps: Step, pace_seconds: float = 0.0) -> Plan:
        """A plan with a name of its own; by default three words."""
        made = Plan(f"p{next(self._numbers)}s{self.seed}", steps or (Step(),), pace_seconds)
        self.plans[made.nonce] = made
        return made

    def gate(self) -> Path:
        """A file that is not there: a call can wait for it (`ledger.wait_for_file`)."""
        return self.folder / f"gate-{next(self._numbers)}"

    def api(self, method: str, path: str, **options: Any) -> httpx.Response:
        """One request as the operator."""
        headers = {"Authorization": f"Bearer {self.target.token}"}
        with httpx.Client(headers=headers, timeout=30, trust_env=False, verify=False) as http:
            return http.request(method, f"{self.target.url()}{path}", **options)

    # Its end

    def settle(self) -> None:
        """Wait until every session is at rest and every reader has come to its end."""
        end = time.monotonic() + SETTLE_SECONDS
        for client in self._present():
            readers = [reader for reader in self.readers if reader.reading.session == client.session]
            while True:
                shown = client.get(tail=0)
                at = (shown["cursor"]["generation"], shown["cursor"]["sequence"])
                behind = [reader.reading.reader for reader in readers if reader.cursor != at]
                idle = shown["status"]["phase"] == "idle" and not shown["pending_inputs"]
                if idle and not behind:
                    self._compare(readers, shown, at)
                    break
                if time.monotonic() > end:
                    state = f"{shown['status']}, {len(shown['pending_inputs'])} waiting, {behind} not at {at}"
                    raise DeadlinePassed(f"session {client.session} does not settle: {state}")
                time.sleep(0.05)

    def _compare(self, readers: list[Reader], shown: dict[str, Any], at: tuple[str, int]) -> None:
        """What readers made of the events is what a snapshot at the same cursor shows."""
        for reader in readers:
            view = reader.view()
            if reader.cursor == at:
                live = {name: (view[name], shown[name]) for name in LIVE if view[name] != shown[name]}
                assert live == {}, f"{reader.reading.reader} of {reader.reading.session} at {at}"

    def history(self) -> History:
        """All that is known now."""
        operations = list(self.recording.operations)
        ids: dict[str, dict[str, None]] = {}
        for operation in operations:
            if operation.input_id:
                ids.setdefault(operation.session, {})[operation.input_id] = None
        finals = [final_of(one, self.target.database, ids.get(one.session, {})) for one in self._present()]
        finals += [Final(session, deleted=True) for session in self.deleted]
        ranks: dict[str, dict[str, int]] = {}
        for reading in self.recording.readings:
            named = {item.generation: rank_of(item.generation) for item in reading.log}
            ranks.setdefault(reading.session, {}).update(named)
        return History(
            operations, self.recording.readings, finals, self.ledger.lines(), self.model.requests, ranks
        )

    def check(self) -> History:
        """Settle, and hold what happened against every promise."""
        self.settle()
        history = self.history()
        violations = [str(violation) for violation in check(history)]
        if violations:
            (self.folder / "history.json").write_bytes(orjson.dumps(history, option=orjson.OPT_INDENT_2))
        assert violations == [], f"the whole history stands in {self.folder}"
        assert [fault for reader in self.readers for fault in reader.faults] == []
        assert self._joined_answers() == []
        assert self._open_attempts() == []
        assert self._faults_of_ours() == []
        return history

    def _present(self) -> list[Client]:
        return [client for session, client in self.clients.items() if session not in self.deleted]

    def _open_attempts(self) -> list[str]:
        """Attempts at the provider that never got their end, though their runs did."""
        database = self.target.database
        query = "SELECT COUNT(*) FROM sessions_app_providerattempt WHERE ended_at IS NULL AND session_id = %s"
        return [one.session for one in self._present() if database.count(query, database.key(one.session))]

    def _joined_answers(self) -> list[str]:
        """Answers that are not exactly what one response said."""
        texts = [
            part["text"]
            for client in self._present()
            for entry in client.history()
            if entry["kind"] == "assistant"
            for part in entry["content"]
            if part["kind"] == "text"
        ]
        return [text for text in texts if not is_whole(text, self.plans)]

    def _faults_of_ours(self) -> list[str]:
        """Lines of the logs since the rig began that tell of a defect, with what is around them."""
        found = []
        for file in self.target.log_files():
            lines = file.read_bytes()[self._log_sizes.get(file, 0) :].decode("utf-8", "replace").splitlines()
            defects = [at for at, line in enumerate(lines) if FAULTS_OF_OURS.search(line)]
            found += ["\n".join(lines[max(0, at - 2) : at + 30]) for at in defects]
        return found

    def _define_profile(self) -> str:
        name = f"chaos-{self.seed}-{time.monotonic_ns()}"
        body = {"base_url": self.model.base_url, "protocol": self.protocol, "model": "scripted"}
        answer = self.api("PUT", f"/api/providers/{name}", json=body)
        assert answer.status_code in (200, 201), answer.text
        return name
