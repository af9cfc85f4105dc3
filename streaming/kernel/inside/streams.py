"""stdout and stderr of a kernel: one queue in order of writing, in pieces, never far ahead of its reader.

ipykernel's own streams keep a buffer each (their order is lost) and send what was printed in
0.2 s as one message of any size. Must not import anything of this project.
"""

# ipykernel's methods say no types
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import codecs
import contextvars
import os
import threading
import time
from collections import deque
from typing import Any

import zmq
from ipykernel.iostream import IOPubThread, OutStream

PIECE_CHARS = 128 * 1024
# What may wait to be sent before a writer waits: enough to keep the reader busy, small beside a kernel.
UNSENT_BYTES = 8 * 1024 * 1024
QUEUED_MESSAGES = 64
FLUSH_SECONDS = 0.1
WAIT_SECONDS = 0.002
READ_BYTES = 64 * 1024


class Limits:
    """What the server takes; set once, before the first message."""

    message_bytes = 32 * 1024 * 1024


LIMITS = Limits()


def make_iopub_socket(context: Any) -> Any:
    """A publisher that waits for a slow reader instead of dropping, among others, the end of a cell."""
    socket = context.socket(zmq.XPUB)
    socket.linger = 1000
    socket.sndhwm = QUEUED_MESSAGES
    socket.setsockopt(zmq.XPUB_NODROP, 1)
    return socket


class BoundedIOPubThread(IOPubThread):  # type: ignore[misc,unused-ignore]
    """Counts what waits to be sent; any other thread that sends waits while that is too much."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._unsent = 0
        self._count_lock = threading.Lock()
        super().__init__(*args, **kwargs)

    def send_multipart(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.wait_for_room()
        self.send_now(msg)

    def wait_for_room(self) -> None:
        """Must not be called with a lock held that a flush needs: this thread's flush makes the room."""
        while (
            self._unsent > UNSENT_BYTES
            and threading.current_thread() is not self.thread
            and self.thread.is_alive()
        ):
            time.sleep(WAIT_SECONDS)

    def send_now(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Queue a message. It is always sent as a copy: what zmq borrows is given back far too late."""
        size = sum(len(part) for part in msg)
        # Contents are cut when they are packed: this is for what hangs binary buffers on a message.
        if size > LIMITS.message_bytes:
            return
        self._add(size)
        self.schedule(lambda: self._send_and_count(size, msg))

    def _send_and_count(self, size: int, msg: Any) -> None:
        try:
            self._really_send(msg)
        finally:
            self._add(-size)

    def _add(self, size: int) -> None:
        with self._count_lock:
            self._unsent += size

    def _really_send(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        # A forked child shares this socket's memory but not its threads: it must not touch it.
        if self._is_master_process():
            super()._really_send(msg, *args, **kwargs)


class Unwaiting:
    """The same thread as a socket that never waits, for who holds the outlet's lock."""

    def __init__(self, thread: BoundedIOPubThread) -> None:
        self.send_multipart = thread.send_now


def threads_keep_their_cell() -> None:
    """A thread's output belongs to the cell that started it, also when it comes in a later one."""
    start = threading.Thread.start

    def start_in_context(thread: threading.Thread) -> None:
        context, run = contextvars.copy_context(), thread.run
        thread.run = lambda: context.run(run)  # type: ignore[method-assign]
        start(thread)

    threading.Thread.start = start_in_context  # type: ignore[method-assign,assignment]


class Outlet:
    """What both streams have written and not yet sent, in order."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.pieces: deque[tuple[OrderedStream, dict[str, Any], str]] = deque()
        self.chars = 0

    def put(self, stream: OrderedStream, parent: dict[str, Any], text: str) -> None:
        with self.lock:
            self.pieces.append((stream, parent, text))
            self.chars += len(text)

    def send(self) -> None:
        """Send everything, neighbours of one stream and parent together. Keeps the order across threads."""
        with self.lock:
            self.chars = 0
            while self.pieces:
                stream, parent, text = self.pieces.popleft()
                texts = [text]
                while self.pieces and self.pieces[0][0] is stream and self.pieces[0][1] == parent:
                    texts.append(self.pieces.popleft()[2])
                stream.publish(parent, "".join(texts))


OUTLET = Outlet()


class OrderedStream(OutStream):  # type: ignore[misc,unused-ignore]
    """One of the two text streams of a kernel, on the shared outlet."""

    flush_interval = FLUSH_SECONDS

    def write(self, string: str) -> int:
        if not isinstance(string, str):
            raise TypeError(f"write() argument must be str, not {type(string)}")
        if self.pub_thread is None:
            raise ValueError("I/O operation on closed file")
        if not self._is_master_process():
            self._write_from_fork(string)
            return len(string)
        for start in range(0, len(string), PIECE_CHARS):
            self.pub_thread.wait_for_room()
            OUTLET.put(self, self.parent_header, string[start : start + PIECE_CHARS])
            if OUTLET.chars >= PIECE_CHARS:
                OUTLET.send()
        self._schedule_flush()
        return len(string)

    def flush(self) -> None:
        """Hand everything over now. What is sent after this call comes after it on the wire."""
        self._flush()

    def _flush(self) -> None:
        self._flush_pending = False
        if self._is_master_process():
            OUTLET.send()

    def _write_from_fork(self, string: str) -> None:
        """The parent reads this descriptor, and knows which cell runs."""
        data = string.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._original_stdstream_fd, data) :]

    def publish(self, parent: dict[str, Any], text: str) -> None:
        for start in range(0, len(text), PIECE_CHARS):
            content = {"name": self.name, "text": text[start : start + PIECE_CHARS]}
            message: Any = self.session.msg("stream", content, parent=parent)
            for hook in self._hooks:
                message = hook(message)
                if message is None:
                    return
            self.session.send(Unwaiting(self.pub_thread), message, ident=self.topic)

    def _watch_pipe_fd(self) -> None:
        """Text that subprocesses and C code write to the descriptor, decoded across reads."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while self._should_watch and self._fid is not None:
            data = os.read(self._fid, READ_BYTES)
            if not data:
                return
            text = decoder.decode(data)
            if text:
                self.write(text)
