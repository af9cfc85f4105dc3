"""The real server, and a scripted model behind it in either protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from uuid_utils.compat import uuid4

from streaming.providers.scripted import ScriptedThread
from streaming.providers.scripted_http import Script, ScriptedRequest
from tests.support.modes import MODE
from tests.support.request_checker import faults
from tests.support.server import ServerProcess
from tests.support.session import SessionClient


@dataclass(frozen=True, slots=True)
class Model:
    """A scripted model, the profile that names it, and a session that uses it."""

    provider: ScriptedThread
    profile: str
    session: SessionClient

    @property
    def requests(self) -> list[ScriptedRequest]:
        return list(self.provider.requests)


MakeModel = Callable[..., Model]


def pytest_runtest_setup(item: pytest.Item) -> None:
    mark = item.get_closest_marker("embedded")
    if mark is not None and MODE != "embedded":
        pytest.skip(f"of the embedded mode alone: {mark.kwargs['reason']}")


@pytest.fixture(params=["chat_completions", "responses"])
def protocol(request: pytest.FixtureRequest) -> str:
    """A test that takes this runs once for each protocol."""
    return str(request.param)


@pytest.fixture
def model_on() -> Iterator[MakeModel]:
    """`model_on(server, protocol, *scripts, **profile)`: each script answers one request, in order.

    Whatever a test is about, every request must be one that a strict server accepts.
    """
    providers: list[ScriptedThread] = []
    with ExitStack() as stack:

        def make(server: ServerProcess, protocol: str, *scripts: Script, **fields: Any) -> Model:
            provider = stack.enter_context(ScriptedThread(list(scripts)))
            providers.append(provider)
            profile = define_profile(server, provider.base_url, protocol, **fields)
            return Model(provider, profile, SessionClient.create(server, provider=profile))

        yield make
        sent = [request for provider in providers for request in provider.requests]
        assert [fault for request in sent for fault in faults(request.path, request.body)] == []


@pytest.fixture
def model(server: ServerProcess, protocol: str, model_on: MakeModel) -> MakeModel:
    """The same on the module's server and the test's protocol."""

    def make(*scripts: Script, **fields: Any) -> Model:
        return model_on(server, protocol, *scripts, **fields)

    return make


def define_profile(server: ServerProcess, base_url: str, protocol: str, **fields: Any) -> str:
    name = f"scripted-{uuid4().hex[:12]}"
    body = {"base_url": base_url, "protocol": protocol, "model": "scripted", **fields}
    answer = server.client().put(f"/api/providers/{name}", json=body)
    assert answer.status_code in (200, 201), answer.text
    return name
