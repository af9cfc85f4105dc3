"""The server's sockets against a peer of the test's own: routing, limits, and a flood."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import zmq
import zmq.asyncio

from streaming.kernel.channels import IOPUB_PORT, Channel, Channels
from streaming.kernel.wire import Message
from tests.integration.kernel.support import until
from tests.unit.kernel.peer import KEY, Peer, answer


async def test_answers_reach_who_asked_and_nobody_else(
    context: zmq.asyncio.Context, folder: Path, peer: Peer
) -> None:
    channels = Channels(context, folder, KEY, 1_000_000)
    await peer.subscribed()
    heard: list[tuple[Channel, Message]] = []
    asked = channels.send("execute_request", {}, lambda channel, message: heard.append((channel, message)))
    assert await peer.asked("execute_request") == asked
    await peer.say("somebody else", "stream", text="no")
    await peer.say(asked, "stream", text="yes")
    await peer.reply(asked, status="ok")
    await until(lambda: len(heard) == 2, "both answers are heard")
    assert {(channel, message.kind) for channel, message in heard} == {
        ("iopub", "stream"),
        ("shell", "execute_reply"),
    }
    channels.forget(asked)
    await peer.say(asked, "stream", text="late")
    await until(lambda: channels.received == 3, "the late one is read")
    assert len(heard) == 2
    channels.close()


async def test_a_flood_lets_others_on_the_loop_have_their_turn(
    context: zmq.asyncio.Context, folder: Path
) -> None:
    channels = Channels(context, folder, KEY, 1_000_000)
    over = threading.Event()
    flooding = threading.Thread(target=flood, args=(folder, over))
    flooding.start()
    try:
        await until(lambda: channels.received > 500, "many were read while this test had its turns")
    finally:
        over.set()
        flooding.join()
        channels.close()


def flood(folder: Path, over: threading.Event) -> None:
    """Publish as fast as it goes, from a thread: on the loop the sender would give the reader its turns."""
    frames = answer("stream", "nobody", {"text": "x" * 1_000})
    with zmq.Context() as own, own.socket(zmq.PUB) as socket:
        socket.linger = 0
        socket.bind(f"ipc://{folder}/s-{IOPUB_PORT}")
        while not over.is_set():
            socket.send_multipart(frames)


async def test_sending_to_a_kernel_that_does_not_read_never_waits(
    context: zmq.asyncio.Context, folder: Path
) -> None:
    channels = Channels(context, folder, KEY, 1_000_000)
    for _ in range(3_000):
        channels.send("kernel_info_request", {}, lambda channel, message: None)
    await asyncio.sleep(0)
    channels.close()
