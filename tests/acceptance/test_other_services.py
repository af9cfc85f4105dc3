"""The same server on PostgreSQL and Redis, and with the production profile behind a proxy that ends TLS."""

from __future__ import annotations

import httpx
import pytest

from tests.support.processes import wait_for
from tests.support.server import StartServer
from tests.support.services import PostgresServer

BEHIND_TLS = {"X-Forwarded-Proto": "https"}


def answered(client: httpx.Client, session_id: str, input_id: str) -> bool:
    found = client.get(f"/api/sessions/{session_id}/inputs/{input_id}").raise_for_status().json()
    if found["outcome"] not in (None, "completed"):
        raise AssertionError(f"the run ended as {found['outcome']}")
    return found["outcome"] is not None


def test_an_input_is_answered_on_postgresql_and_redis(
    start_server: StartServer, postgres_server: PostgresServer, redis_url: str
) -> None:
    url = postgres_server.new_database()
    server = start_server(DATABASE_URL=url, REDIS_URL=redis_url)
    client = server.client()
    session = client.post("/api/sessions", json={}).raise_for_status().json()
    asked = client.post(f"/api/sessions/{session['id']}/inputs", json={"text": "What is 6 times 7?"})
    assert asked.status_code == 202
    wait_for(lambda: answered(client, session["id"], asked.json()["id"]), "the run completes")
    history = client.get(f"/api/sessions/{session['id']}/history").json()
    kinds = [entry["kind"] for entry in history["items"]]
    assert kinds[0] == "user"
    assert "tool_result" in kinds
    assert server.terminate() == 0
    assert not (server.data_dir / "albedo.sqlite3").exists()
    postgres_server.drop(url)


@pytest.mark.embedded(reason="the proxy here ends no TLS, and believes no client that says so")
def test_the_production_profile_speaks_https_alone(start_server: StartServer) -> None:
    server = start_server(ALBEDO_ENV="production", ALBEDO_TRUST_PROXY="1")
    client = server.client(token="")
    plain = client.get("/login/")
    assert plain.status_code == 301
    assert plain.headers["location"].startswith("https://")
    # Whoever asks each process for its health comes from behind what ends TLS.
    assert client.get("/api/health").json() == {"status": "ok"}
    assert client.get("/api/sessions").status_code == 301
    page = client.get("/login/", headers=BEHIND_TLS)
    assert page.status_code == 200
    assert "max-age=31536000" in page.headers["strict-transport-security"]
    cookie = page.headers["set-cookie"]
    assert cookie.startswith("__Host-csrftoken=")
    for attribute in ("HttpOnly", "Secure", "SameSite=Lax", "Path=/"):
        assert attribute in cookie
    assert "Domain=" not in cookie
