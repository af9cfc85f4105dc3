"""How a session ended: by the API, and by the store where the API has no word for it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from tests.chaos.client import Client
from tests.chaos.database import Database
from tests.chaos.history import CallEnd, Entry, Final, InputEnd, RunEnd

NONCE = re.compile(r"dumps\(\['([^']+)'")


def rank_of(generation: str) -> int:
    """Generations count the claims of their session. Clients must not know; the store's own form says so."""
    return int(generation.partition("-")[0])


def final_of(client: Client, database: Database, input_ids: Iterable[str]) -> Final:
    """`input_ids` are all that were ever sent; those that are not there are left out."""
    shown = client.get(tail=0)
    key = database.key(client.session)
    kept = database.rows("SELECT id, generation FROM sessions_app_run WHERE session_id = %s", key)
    generations = {str(UUID(str(run_id))): rank for run_id, rank in kept}
    return Final(
        client.session,
        phase=shown["status"]["phase"],
        pending=len(shown["pending_inputs"]),
        lease_live=_lease_live(database, key),
        entries=[_entry(item) for item in client.history()],
        inputs=list(_inputs(client, input_ids)),
        runs=[RunEnd(run["id"], run["state"], generations[run["id"]]) for run in client.runs()],
        calls=list(_calls(database, key)),
    )


def _entry(item: dict[str, Any]) -> Entry:
    return Entry(item["id"], item["position"], item["kind"], item["run_id"] or "", item.get("input_id") or "")


def _inputs(client: Client, input_ids: Iterable[str]) -> Iterable[InputEnd]:
    for input_id in input_ids:
        answer = client.request("GET", f"/inputs/{input_id}")
        assert answer is not None
        assert answer.status_code in (200, 404), answer.text
        if answer.status_code == 200:
            item = answer.json()
            yield InputEnd(item["id"], item["order"], item["state"], item["run_id"] or "")


def _calls(database: Database, key: Any) -> Iterable[CallEnd]:
    rows = database.rows(
        "SELECT call_id, arguments_text, state, started_at FROM sessions_app_toolcall WHERE session_id = %s",
        key,
    )
    for call_id, arguments, state, started_at in rows:
        nonce = NONCE.search(arguments)
        yield CallEnd(call_id, nonce[1] if nonce else "", state, started_at is not None)


def _lease_live(database: Database, key: Any) -> bool:
    ((until,),) = database.rows("SELECT lease_until FROM sessions_app_session WHERE id = %s", key)
    if until is None:
        return False
    moment = until if isinstance(until, datetime) else datetime.fromisoformat(until)
    return moment.replace(tzinfo=moment.tzinfo or UTC) >= datetime.now(UTC)
