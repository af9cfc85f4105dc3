"""`manage.py chat` against the real server: a question from a script, a talk in a terminal, interruptions."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sessions_app.management.commands.chat import EXIT_CODES
from streaming.providers.scripted import Reply
from streaming.providers.scripted_http import Out, ScriptedRequest
from streaming.providers.scripted_parts import Call, Say
from streaming.providers.scripted_signal import Barrier
from tests.acceptance.conftest import MakeModel
from tests.support.common_server import no_session_stays, server
from tests.support.raw_model import RawModel
from tests.support.server import PROJECT, ServerProcess

__all__ = ["no_session_stays", "server"]

PATIENCE_SECONDS = 90.0
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def protocol() -> str:
    return "responses"


def environment(server: ServerProcess) -> dict[str, str]:
    return {**os.environ, "DATA_DIR": str(server.data_dir), "TERM": "xterm-256color", "COLUMNS": "100"}


def chat(server: ServerProcess, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "chat", *arguments],
        cwd=PROJECT,
        env=environment(server),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        **more,
    )


class Terminal:
    """`manage.py chat` with a terminal of its own."""

    def __init__(self, server: ServerProcess, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "chat", *arguments],
            cwd=PROJECT,
            env=environment(server),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def stop(self) -> None:
        """Ctrl-C, as a terminal would send it."""
        os.killpg(self.process.pid, signal.SIGINT)

    def until(self, words: str) -> None:
        """Read until `words` stand in what was printed since the last such wait."""
        end = time.monotonic() + PATIENCE_SECONDS
        seen = ""
        while words not in seen:
            assert time.monotonic() < end, f"{words!r} never came; the terminal shows:\n{self.text[-3000:]}"
            if not select.select([self._ours], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(self._ours, 65_536)
            except OSError:
                raise AssertionError(f"the chat ended before {words!r}:\n{self.text[-3000:]}") from None
            self.text += ESCAPES.sub("", data.decode("utf-8", "replace"))
            seen = self.text[self._read :]
        self._read += seen.index(words) + len(words)

    _read = 0

    def wait(self) -> int:
        return self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)


@contextmanager
def terminal(server: ServerProcess, *arguments: str) -> Iterator[Terminal]:
    opened = Terminal(server, *arguments)
    try:
        yield opened
    finally:
        opened.close()


def test_one_question_prints_the_answer_and_nothing_else(server: ServerProcess, model: MakeModel) -> None:
    made = model(
        Reply(Say("I look."), Call("python", {"code": "print(6 * 7)"})),
        Reply(Say("It is 42.")),
    )
    done = chat(server, made.session.id, "--once", "what is it?")
    assert (done.returncode, done.stdout, done.stderr) == (0, "I look.\n\nIt is 42.\n", "")


def test_a_second_question_goes_to_the_same_session_and_prints_only_its_own_answer(
    server: ServerProcess, model: MakeModel
) -> None:
    made = model(Reply(Say("first")), Reply(Say("second")))
    assert chat(server, made.session.id, "--once", "1").stdout == "first\n"
    assert chat(server, made.session.id, "--once", "2").stdout == "second\n"


def test_a_new_session_is_made_where_none_is_named(server: ServerProcess) -> None:
    before = len(server.client().get("/api/sessions").json()["items"])
    done = chat(server, "--once", "hello", "--name", "from a script")
    assert done.returncode == 0, done.stderr
    items = server.client().get("/api/sessions").json()["items"]
    assert len(items) == before + 1
    assert items[0]["name"] == "from a script"


def test_the_exit_code_tells_the_outcome(server: ServerProcess, model: MakeModel) -> None:
    async def refuse(request: ScriptedRequest, out: Out) -> None:
        await out.json(401, {"error": {"message": "no such key", "type": "invalid_request_error"}})

    made = model(refuse)
    done = chat(server, made.session.id, "--once", "hello")
    assert done.returncode == EXIT_CODES["failed"]
    assert "no such key" in done.stderr


def test_what_the_server_refuses_is_said_in_words(server: ServerProcess, tmp_path: Path) -> None:
    unknown = chat(server, "01890000-0000-7000-8000-000000000000", "--once", "x")
    assert (unknown.returncode, "nothing here" in unknown.stderr) == (1, True)
    wrong = chat(server, "--url", server.url, "--token", "albedo_wrong", "--once", "x")
    assert wrong.returncode == 1
    assert "albedo_wrong" not in wrong.stderr
    assert "Traceback" not in unknown.stderr + wrong.stderr


def test_a_talk_shows_a_call_while_it_is_written_its_output_while_it_runs_and_then_its_result(
    server: ServerProcess, model: MakeModel, protocol: str
) -> None:
    written = Barrier()

    async def slowly(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, protocol)
        await raw.begin()
        await raw.text("Let me see.")
        await raw.call(0, "python", "call_1", '{"code": "import time\\nprint(\'under way\', flush=True)')
        await out.pause(written)
        await raw.arguments(
            0, "\\nwhile not __import__('os').path.exists('go'): time.sleep(0.05)\\nprint('over')\"}"
        )
        await raw.end()

    made = model(slowly, Reply(Say("That was it.")))
    with terminal(server, made.session.id) as talk:
        talk.until("Ctrl-D leaves")
        talk.type("do it\n")
        talk.until("python · generating")
        talk.until("import time")
        written.release.set()
        talk.until("python · running")
        talk.until("under way")
        Path(made.session.snapshot()["workspace"], "go").touch()
        talk.until("python · ok")
        talk.until("That was it.")
        talk.type("\x04")
        assert talk.wait() == 0


def test_ctrl_c_stops_the_run_and_the_talk_goes_on(server: ServerProcess, model: MakeModel) -> None:
    code = "print('begun', flush=True)\nwhile True: pass"
    made = model(Reply(Call("python", {"code": code})), Reply(Say("still here")))
    with terminal(server, made.session.id) as talk:
        talk.until("Ctrl-D leaves")
        talk.type("loop\n")
        talk.until("begun")
        talk.stop()
        talk.until("interrupted.")
        talk.type("and now?\n")
        talk.until("still here")
    run = made.session.get("/runs")["items"][0]
    assert (run["state"], run["interrupt"]["by"]) == ("interrupted", "operator")


def test_ctrl_c_twice_leaves(server: ServerProcess, model: MakeModel) -> None:
    # It does not end by a stop: so the second one comes before the end.
    deaf = (
        "import os, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('begun', flush=True)\n"
    )
    made = model(Reply(Call("python", {"code": f"{deaf}while not os.path.exists('go'): time.sleep(0.05)"})))
    with terminal(server, made.session.id, "--once", "x") as talk:
        talk.until("begun")
        talk.stop()
        talk.until("once more leaves")
        talk.stop()
        assert talk.wait() == 130
    Path(made.session.snapshot()["workspace"], "go").touch()


def test_what_is_hostile_to_a_terminal_is_shown_as_marks(server: ServerProcess, model: MakeModel) -> None:
    made = model(Reply(Say("\x1b]0;title\x07 \x1b[2J done")))
    with terminal(server, made.session.id) as talk:
        talk.until("Ctrl-D leaves")
        talk.type("x\n")
        talk.until("<U+001B>]0;title<U+0007>")
        talk.until("done")


def test_a_restart_of_the_actor_in_the_middle_is_lived_through(
    server: ServerProcess, model_on: MakeModel
) -> None:
    """The run ends with its actor; the client takes the reset, and says how the run ended."""
    never = Barrier()

    async def half(request: ScriptedRequest, out: Out) -> None:
        raw = RawModel(out, "responses")
        await raw.begin()
        await raw.text("Half an ans")
        await out.pause(never)

    made = model_on(server, "responses", half)
    client = server.client()
    with terminal(server, made.session.id, "--once", "x") as talk:
        talk.until("Half an ans")
        answer = client.post(f"/api/inspect/sessions/{made.session.id}/restart")
        assert answer.status_code == 204
        assert talk.wait() == EXIT_CODES["abandoned"]
