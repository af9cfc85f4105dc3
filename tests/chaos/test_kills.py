"""Kill -9 at every kind of moment: what was accepted is answered once, what ran is not run again."""

from __future__ import annotations

from tests.chaos.plan import Step
from tests.chaos.rig import Rig
from tests.chaos.seeds import row


@row("F01", seeds=2)
def test_f01_killed_while_answers_are_written(rig: Rig) -> None:
    """Sessions that stream at once are each cut at another word."""
    users = rig.sessions(6)
    for user in users:
        rig.reader(user)
    before = rig.model.frames
    for user in users:
        user.ask(rig.plan(Step(words=60), pace_seconds=0.01))
    rig.model.until_frames(before + rig.rng.randrange(1, 6 * 60))
    rig.target.kill9()
    rig.target.start()
    for user in users:
        user.ask(rig.plan())
    history = rig.check()
    runs = [run.state for final in history.finals for run in final.runs]
    assert runs.count("completed") >= len(users)
    assert set(runs) <= {"completed", "abandoned"}
