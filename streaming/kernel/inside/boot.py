"""Starts one ipykernel, tied to the life of the server. Run by path, isolated from the environment.

Must not import anything of this project, and must not trust the folder it will work in.
"""

# ipykernel's methods say no types
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ipykernel.kernelapp import IPKernelApp
from jupyter_client.jsonutil import json_default
from traitlets.config import Config

PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
# CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON: each of them opens `/proc/<pid>/environ` of any process.
INSPECTING = (19, 21, 38)
CAPABILITY_VERSION = 0x20080522
# Of a message that is too long: what is kept of each text in it, and of each list.
KEPT_CHARS = 64 * 1024
KEPT_ITEMS = 64


def die_with_parent(expected_parent: int) -> None:
    """Have the system kill this process when the server's thread that started it is gone."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The server may have died before the line above; then nobody would tell us.
    if os.getppid() != expected_parent:
        os._exit(1)


def give_up_inspection() -> None:
    """Give up for good, if it is there, the right to look into processes that do not want it.

    A server that runs as root, as in many containers, would otherwise be open to its kernels.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) != 0:
        return
    for capability in INSPECTING:
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        # Effective, permitted, inheritable: the first 32 of each, then the rest of each.
        word, bit = divmod(capability, 32)
        for index in range(3 * word, 3 * word + 3):
            sets[index] &= ~(1 << bit)
    libc.capset(header, sets)


def bounded(pack: Callable[[Any], bytes], limit_bytes: int) -> Callable[[Any], bytes]:
    """A packer for any content: odd text is taken (else its reply is never sent), long text is cut.

    A message over the server's limit would end the connection, and so the kernel's use.
    """

    def pack_any(content: Any) -> bytes:
        try:
            data = pack(content)
        except UnicodeEncodeError:
            data = json.dumps(content, default=json_default).encode()
        return data if len(data) <= limit_bytes else json.dumps(shortened(content), default=str).encode()

    return pack_any


def shortened(value: Any) -> Any:
    if isinstance(value, str) and len(value) > KEPT_CHARS:
        half = KEPT_CHARS // 2
        return f"{value[:half]}\n... {len(value) - KEPT_CHARS} characters left out ...\n{value[-half:]}"
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in list(value.items())[:KEPT_ITEMS]}
    if isinstance(value, (list, tuple)):
        return [shortened(item) for item in value[:KEPT_ITEMS]]
    return value


def local_streams() -> Any:
    """The sibling module, loaded without leaving this folder on the user's `sys.path`."""
    folder = str(Path(__file__).parent)
    sys.path.insert(0, folder)
    try:
        return __import__("streams")
    finally:
        sys.path.remove(folder)


streams = local_streams()


class KernelApp(IPKernelApp):  # type: ignore[misc,unused-ignore]
    """An ipykernel that listens on nothing but its own folder, and never floods whoever reads it."""

    def init_iopub(self, context: Any) -> None:
        self.iopub_socket = streams.make_iopub_socket(context)
        self.iopub_port = self._bind_socket(self.iopub_socket, self.iopub_port)
        self.configure_tornado_logger()
        self.iopub_thread = streams.BoundedIOPubThread(self.iopub_socket, pipe=False, session=self.session)
        self.iopub_thread.start()
        self.iopub_socket = self.iopub_thread.background_socket

    def init_heartbeat(self) -> None:
        """None: the server watches the process itself, which is faster and needs no thread here."""

    def init_sockets(self) -> None:
        self.session.pack = bounded(self.session.pack, streams.LIMITS.message_bytes // 2)
        super().init_sockets()


class Forgetful(dict[int, list[Any]]):
    """Takes what IPython would keep of every cell's output, for a notebook that nobody saves."""

    def __missing__(self, key: int) -> list[Any]:
        return []


def keep_no_output(shell: Any) -> None:
    shell.history_manager.outputs = Forgetful()
    shell._tee = lambda channel: contextlib.nullcontext()


def configuration(connection_file: str) -> Config:
    config = Config()
    config.KernelApp.connection_file = connection_file
    config.KernelApp.outstream_class = "streams.OrderedStream"
    config.KernelApp.log_level = 50
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.cache_size = 100
    return config


def main() -> None:
    connection_file, parent, message_bytes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    die_with_parent(parent)
    give_up_inspection()
    streams.LIMITS.message_bytes = message_bytes
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.argv = sys.argv[:1]
    app = KernelApp.instance(config=configuration(connection_file))
    app.initialize([])
    streams.threads_keep_their_cell()
    keep_no_output(app.shell)
    app.start()


if __name__ == "__main__":
    main()
