"""What code prints, returns, raises and shows, in a real kernel."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streaming.kernel.session_kernel import SessionKernel
from tests.integration.kernel.support import (
    WAIT_UNTIL_HEARD,
    forget_peak,
    kernel_pid,
    peak_memory,
    run,
    run_until_heard,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

MIB = 1024 * 1024
PNG = """
import struct, zlib
def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
head = struct.pack(">IIBBBBB", 3, 2, 8, 0, 0, 0, 0)
png = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\\0abc" * 2))
png += chunk(b"IEND", b"")
"""


async def test_state_is_kept_between_calls(shared: SessionKernel) -> None:
    await run(shared, "kept = 41")
    outcome = await run(shared, "kept + 1")
    assert (outcome.status, outcome.kernel, outcome.state_lost) == ("ok", "idle", False)
    assert outcome.output.text == "42\n"


async def test_the_value_of_a_last_expression_ends_the_output(shared: SessionKernel) -> None:
    outcome = await run(shared, "print('first', end='')\n'é' * 2")
    assert outcome.output.text == "first\n'éé'\n"


async def test_top_level_await_works(shared: SessionKernel) -> None:
    outcome = await run(shared, "import asyncio\nawait asyncio.sleep(0.01)\n'awaited'")
    assert outcome.output.text == "'awaited'\n"


async def test_stdout_and_stderr_come_in_the_order_of_writing(shared: SessionKernel) -> None:
    code = "import sys\nfor i in range(50): print(i); print(-i, file=sys.stderr)"
    outcome = await run(shared, code)
    assert outcome.output.text == "".join(f"{i}\n{-i}\n" for i in range(50))


async def test_what_subprocesses_and_forks_print_is_captured_whole(
    kernel: SessionKernel, tmp_path: Path
) -> None:
    code = (
        "import os, sys, subprocess\n"
        "subprocess.run([sys.executable, '-c', 'print(\"é\" * 100_000)'])\n"
        "if os.fork() == 0:\n    print('from a fork', flush=True); os._exit(0)\n"
        "os.wait()\n"
    )
    outcome = await run_until_heard(kernel, tmp_path, "from a fork\n", code + WAIT_UNTIL_HEARD)
    assert outcome.output.text.count("é") == 100_000
    assert "\ufffd" not in outcome.output.text
    assert "from a fork" in outcome.output.text


async def test_file_names_with_accents_and_emoji_work(shared: SessionKernel) -> None:
    code = "import os\nopen('né 🎈.txt', 'w').write('ça')\nprint(open('né 🎈.txt').read(), os.listdir('.'))"
    outcome = await run(shared, code)
    assert outcome.output.text == "ça ['né 🎈.txt']\n"


async def test_an_error_has_name_message_and_a_plain_traceback(shared: SessionKernel) -> None:
    outcome = await run(shared, "print('before')\ndef divide(): return 1 / 0\ndivide()")
    error = outcome.output.error
    assert (outcome.status, outcome.output.text) == ("error", "before\n")
    assert error is not None
    assert (error.name, error.message) == ("ZeroDivisionError", "division by zero")
    assert "return 1 / 0" in error.traceback
    assert "\x1b" not in error.traceback


async def test_odd_characters_never_cost_the_answer(shared: SessionKernel) -> None:
    printed = await run(shared, "print('a\\ud800b\\x00c')")
    raised = await run(shared, "raise ValueError('\\udc80\\ud83d')")
    bad_code = await run(shared, "x = '\ud800'")
    assert printed.output.text == "a\ufffdb\ufffdc\n"
    assert raised.output.error is not None
    assert raised.output.error.message.strip("\ufffd") == ""
    assert bad_code.status == "error"


async def test_an_image_becomes_an_artifact_with_its_size(shared: SessionKernel) -> None:
    code = PNG + "from IPython.display import Image, display\ndisplay(Image(data=png))"
    outcome = await run(shared, code)
    [artifact], [display] = outcome.output.artifacts, outcome.output.displays
    assert (artifact.mime_type, artifact.width, artifact.height) == ("image/png", 3, 2)
    assert artifact.data.startswith(b"\x89PNG")
    assert (display.kind, display.artifact) == ("image", artifact.id)
    assert outcome.output.text == ""


async def test_html_becomes_an_artifact_and_plain_text_is_output(shared: SessionKernel) -> None:
    code = "from IPython.display import HTML, display\ndisplay(HTML('<b>é</b>'))\ndisplay('plain')"
    outcome = await run(shared, code)
    [artifact] = outcome.output.artifacts
    assert (artifact.mime_type, artifact.data) == ("text/html", "<b>é</b>".encode())
    assert outcome.output.text == "'plain'\n"


async def test_a_flood_is_bounded_in_both_processes_and_marked(shared: SessionKernel) -> None:
    await run(shared, "pass")
    pids = (os.getpid(), kernel_pid(shared))
    for pid in pids:
        forget_peak(pid)
    before = [peak_memory(pid) for pid in pids]
    outcome = await run(shared, "for _ in range(22): print('x' * 10_000_000)\n'the end'")
    grown = [peak_memory(pid) - old for pid, old in zip(pids, before, strict=True)]
    assert max(grown) < 150 * MIB
    assert outcome.status == "ok"
    assert outcome.output.truncated
    assert "characters left out" in outcome.output.text
    assert 16 * MIB - 1024 < len(outcome.output.text) < 16 * MIB + 1024
    assert len(outcome.output.model_text) < 65 * 1024
    assert outcome.output.model_text.endswith("x\n'the end'\n")


async def test_messages_too_large_to_be_taken_cost_neither_the_answer_nor_the_kernel(
    shared: SessionKernel,
) -> None:
    raised = await run(shared, "kept = 7\nraise ValueError('x' * 60_000_000)")
    shown = await run(
        shared, "from IPython.display import HTML, display\ndisplay(HTML('y' * 60_000_000))\nkept"
    )
    assert raised.output.error is not None
    assert raised.output.error.name == "ValueError"
    assert len(raised.output.error.traceback) < 16 * 1024
    assert shown.output.text == "7\n"


async def test_late_output_of_a_thread_is_not_given_to_a_later_call(shared: SessionKernel) -> None:
    await run(
        shared,
        "import threading\ngo = threading.Event()\ndone = threading.Event()\n"
        "def late():\n    go.wait(30); print('late'); done.set()\n"
        "threading.Thread(target=late).start()",
    )
    outcome = await run(shared, "go.set(); done.wait(30); print('now')")
    assert outcome.output.text == "now\n"


async def test_asking_for_input_is_an_error_not_a_wait(shared: SessionKernel) -> None:
    outcome = await run(shared, "input('name? ')")
    assert outcome.status == "error"


async def test_live_output_comes_while_the_code_still_runs(shared: SessionKernel) -> None:
    chunks: list[str] = []

    def listen(text: str) -> None:
        chunks.append(text)
        (folder / "heard").touch()

    folder = shared._workspace
    code = "print('first')" + WAIT_UNTIL_HEARD + "print('second')"
    outcome = await shared.execute(code, timeout_seconds=40, on_output=listen)
    assert outcome.status == "ok"
    assert chunks[0] == "first\n"
    assert "".join(chunks) == outcome.output.text


async def test_a_listener_that_fails_does_not_hurt_the_call(shared: SessionKernel) -> None:
    def fail(text: str) -> None:
        raise RuntimeError("no")

    outcome = await shared.execute("print(1); print(2)", timeout_seconds=40, on_output=fail)
    assert (outcome.status, outcome.output.text) == ("ok", "1\n2\n")
