"""Another machine as far as TCP can tell: a network namespace with a cable to pull. Needs root and `ip`."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


class FarSide:
    """`here` is this machine's address on the cable; commands run on the other end of it."""

    def __init__(self, name: str, network: int) -> None:
        self._name = name
        self._near, self._far = f"{name}a", f"{name}b"
        self.here, self.there = f"10.213.{network}.1", f"10.213.{network}.2"

    def set_up(self) -> None:
        for command in (
            f"netns add {self._name}",
            f"link add {self._near} type veth peer name {self._far} netns {self._name}",
            f"addr add {self.here}/30 dev {self._near}",
            f"link set {self._near} up",
            f"-n {self._name} addr add {self.there}/30 dev {self._far}",
            f"-n {self._name} link set {self._far} up",
        ):
            subprocess.run(["ip", *command.split()], check=True, capture_output=True, timeout=30)

    def tear_down(self) -> None:
        for command in (f"link del {self._near}", f"netns del {self._name}"):
            subprocess.run(["ip", *command.split()], check=False, capture_output=True, timeout=30)

    def command(self, *arguments: str) -> list[str]:
        """`arguments`, to be run there."""
        return ["ip", "netns", "exec", self._name, *arguments]

    def pull_cable(self) -> None:
        """From now on every packet is lost, in both directions, and nobody is told."""
        subprocess.run(["ip", "-n", self._name, "link", "set", self._far, "down"], check=True, timeout=30)


@contextmanager
def far_side() -> Iterator[FarSide]:
    """Skips the test where the machine does not let it make one."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("a network namespace needs root and the program `ip`")
    made = FarSide(f"ab{secrets.token_hex(3)}", secrets.randbelow(256))
    try:
        try:
            made.set_up()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespace can be made here: {error.stderr.decode().strip()}")
        yield made
    finally:
        made.tear_down()
