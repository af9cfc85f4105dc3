"""Starts a kernel and holds what belongs to it: process, run folder, sockets.

Readiness is our own check: the shell answers and iopub has said something, so that no
output of the first cell can be missed. Must not decide when kernels are started or replaced.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import zmq.asyncio

from streaming.kernel.channels import IOPUB_PORT, SHELL_PORT, Channel, Channels
from streaming.kernel.environment import kernel_environment
from streaming.kernel.errors import KernelStartFailed
from streaming.kernel.guard import Guard
from streaming.kernel.process import KernelProcess
from streaming.kernel.wire import Message
from streaming.limits import KernelLimits

# A Unix socket's path is at most 107 bytes; libzmq cuts nothing, it refuses.
SOCKET_PATH_BYTES = 107
ASK_SECONDS = 0.1


@dataclass(slots=True)
class Host:
    """What all kernels of one process share."""

    limits: KernelLimits
    python: str
    environment: Mapping[str, str]
    root: Path
    guard: Guard
    context: zmq.asyncio.Context


class Kernel:
    """One kernel, ready. It belongs to at most one session, and ends by `close`."""

    def __init__(self, host: Host, token: str, folder: Path, process: KernelProcess, key: bytes) -> None:
        self.limits = host.limits
        self.process = process
        self.channels = Channels(host.context, folder, key, host.limits.message_bytes)
        self._host = host
        self._token = token
        self._folder = folder
        self._closed = False

    @property
    def alive(self) -> bool:
        return self.process.alive and not self._closed

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()

    async def close(self) -> None:
        """Kill it, with all that it started, and remove its files. Safe to repeat, and to cancel."""
        if not self._closed:
            self._closed = True
            self.process.kill()
            self.channels.close()
            self._host.guard.end(self._token)
            shutil.rmtree(self._folder, ignore_errors=True)
        await self.process.ended()


async def start_kernel(host: Host) -> Kernel:
    """A kernel that answers, or `KernelStartFailed` within `start_seconds`, with nothing left behind."""
    token = secrets.token_hex(8)
    folder, key = _run_folder(host.root), secrets.token_hex(16).encode()
    try:
        connection = _write_connection_file(folder, key)
        environment = kernel_environment(host.environment, folder, token)
        process = KernelProcess.start(host.python, connection, environment, host.limits.message_bytes)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise KernelStartFailed(f"the kernel could not be started: {error.strerror}") from error
    host.guard.add(token, process.pid, folder)
    kernel = Kernel(host, token, folder, process, key)
    try:
        async with asyncio.timeout(host.limits.start_seconds):
            await _ready(kernel)
    except TimeoutError:
        await kernel.close()
        raise KernelStartFailed(f"the kernel did not answer within {host.limits.start_seconds:g} s") from None
    except BaseException:
        await kernel.close()
        raise
    return kernel


async def _ready(kernel: Kernel) -> None:
    channels_heard: set[Channel] = set()
    heard = asyncio.Event()

    def on_answer(channel: Channel, message: Message) -> None:
        channels_heard.add(channel)
        if len(channels_heard) == 2:
            heard.set()

    asked = []
    kernel.process.watchers.add(heard.set)
    try:
        while not heard.is_set():
            asked.append(kernel.channels.send("kernel_info_request", {}, on_answer))
            await _either(heard, ASK_SECONDS)
    finally:
        kernel.process.watchers.discard(heard.set)
        for message_id in asked:
            kernel.channels.forget(message_id)
    if not kernel.alive:
        raise KernelStartFailed("the kernel ended while it was starting")


async def _either(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


def _run_folder(root: Path) -> Path:
    folder = root / secrets.token_hex(4)
    folder.mkdir(mode=0o700)
    if len(os.fsencode(f"{folder}/s-{IOPUB_PORT}")) > SOCKET_PATH_BYTES:
        folder.rmdir()
        raise KernelStartFailed("the path of the run folder is too long for a socket")
    return folder


def _write_connection_file(folder: Path, key: bytes) -> Path:
    path = folder / "connection.json"
    connection = {
        "transport": "ipc",
        "ip": str(folder / "s"),
        "key": key.decode(),
        "signature_scheme": "hmac-sha256",
        "shell_port": SHELL_PORT,
        "iopub_port": IOPUB_PORT,
        "stdin_port": 3,
        "control_port": 4,
        "hb_port": 5,
        "kernel_name": "",
    }
    with open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        json.dump(connection, file)
    return path
