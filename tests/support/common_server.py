"""One server for all modules that leave it as they found it; a module that imports `server` has it.

    from tests.support.common_server import no_session_stays, server

    __all__ = ["no_session_stays", "server"]

Starting one takes as long as many tests do. Each test leaves no session behind, and so no kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.support.modes import Servers
from tests.support.processes import wait_for
from tests.support.server import ServerProcess

# A busy machine has the time that it needs for what is to succeed.
PATIENT = {
    "ALBEDO_DELIVERY_CAPTURE_SECONDS": "30",
    "ALBEDO_KERNEL_INTERRUPT_GRACE_SECONDS": "30",
    "ALBEDO_KERNEL_START_SECONDS": "80",
    "ALBEDO_MCP_START_SECONDS": "80",
}


@pytest.fixture(scope="session")
def common_server(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with servers.running(tmp_path_factory.mktemp("common") / "data", **PATIENT) as running:
        yield running


@pytest.fixture(scope="module")
def server(common_server: ServerProcess) -> ServerProcess:
    """The one that all have; a new one where somebody broke it, who alone is to fail for it."""
    return common_server if common_server.alive() else common_server.start()


@pytest.fixture(autouse=True)
def no_session_stays(server: ServerProcess) -> Iterator[None]:
    yield
    with server.client() as client:
        wait_for(lambda: removed(client), "every session is removed")


def removed(client: httpx.Client) -> bool:
    """Whether no session is left; asks for the end of those that are."""
    left = client.get("/api/sessions").raise_for_status().json()["items"]
    for path in [f"/api/sessions/{session['id']}" for session in left]:
        if client.delete(path).status_code == httpx.codes.CONFLICT:
            shown = client.get(path, params={"tail": 0}).json()
            run = {"run_id": shown["status"]["run_id"], "through_input_order": shown["input_order"]}
            client.post(f"{path}/interrupt", json=run)
    return not left
