"""This process: the id that tells it from its forerunner, and whether it is on its way out."""

from __future__ import annotations

from sessions_app.ids import new_id

VERSION = "0.1.0"
INSTANCE_ID = str(new_id())


class Draining:
    """Set once by whoever handles SIGTERM; only read by others."""

    def __init__(self) -> None:
        self.begun = False

    def begin(self) -> None:
        self.begun = True


draining = Draining()
