"""The same request again: at once, after a crash, and because its answer never came."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
from uuid_utils.compat import uuid7

from tests.chaos.client import Client
from tests.chaos.plan import Step
from tests.chaos.rig import Rig
from tests.chaos.seeds import row
from tests.support.cut_proxy import CutProxy

AT_ONCE = 50


@row("F50", seeds=1)
def test_f50_the_same_input_fifty_times_at_once_and_again_after_a_crash(rig: Rig) -> None:
    user = rig.session()
    rig.reader(user)
    doors = [rig.client(user.session, number) for number in range(3)]
    plans = [rig.plan(Step(words=rig.rng.randrange(1, 30))) for _ in range(3)]
    ids = [str(uuid7()) for _ in plans]
    orders: dict[str, set[int]] = {input_id: set() for input_id in ids}
    barrier = threading.Barrier(AT_ONCE)

    def send(number: int) -> tuple[str, httpx.Response | None]:
        which = number % len(plans)
        barrier.wait(60)
        return ids[which], doors[number % len(doors)].send(plans[which], ids[which])

    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = list(threads.map(send, range(AT_ONCE)))
    rig.target.kill9()
    rig.target.start()
    answers += [(one, user.send(plan, one)) for one, plan in zip(ids, plans, strict=True)]
    for input_id, answer in answers:
        assert answer is not None
        assert answer.status_code == 202, answer.text
        assert answer.json()["id"] == input_id
        orders[input_id].add(answer.json()["order"])
    assert sorted(order for found in orders.values() for order in found) == [1, 2, 3]
    other = user.send(rig.plan(), ids[0])
    assert other is not None
    assert (other.status_code, other.json()["code"]) == (409, "input_conflict")
    rig.check()


@row("F51", seeds=1)
def test_f51_the_answer_is_lost_after_the_commit(rig: Rig) -> None:
    """Whoever sends the same request again gets the answer of the first, for whatever has an id."""
    with CutProxy(rig.target.url()) as line:
        user = Client(rig.recording, rig.session().session, lambda: line.url, rig.target.token)
        for _ in range(8):
            lost = line.cut_at("down", lambda data: data.startswith(b"HTTP/1.1 202"))
            plan, input_id = rig.plan(Step(words=rig.rng.randrange(1, 5))), str(uuid7())
            assert user.send(plan, input_id) is None
            assert lost.is_set()
            again = user.send(plan, input_id)
            assert again is not None
            assert again.status_code == 202
        created = f"/api/sessions/{uuid7()}"
        lost = line.cut_at("down", lambda data: data.startswith(b"HTTP/1.1 201"))
        assert put(rig, line, created) is None
        assert lost.is_set()
        found = put(rig, line, created)
        assert found is not None
        assert found.status_code == 200
        user.close()
    history = rig.check()
    assert [len(final.runs) for final in history.finals] == [8]


def put(rig: Rig, line: CutProxy, path: str) -> httpx.Response | None:
    headers = {"Authorization": f"Bearer {rig.target.token}"}
    try:
        return httpx.put(f"{line.url}{path}", json={"name": "once"}, headers=headers, trust_env=False)
    except httpx.HTTPError:
        return None
