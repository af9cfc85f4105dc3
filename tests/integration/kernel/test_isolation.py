"""What a kernel may see of its server: nothing that is not on the list, and no port."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from streaming.kernel.pool import KernelPool
from streaming.kernel.session_kernel import SessionKernel
from tests.integration.kernel.conftest import LIMITS
from tests.integration.kernel.support import SECONDS, kernel_pid, run

PROJECT = Path(__file__).parents[3]
CANARY = "canary-6f1d0c"


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A home that is also the workspace, full of files that Python, IPython and Jupyter like to run."""
    code = f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__)"
    startup = tmp_path / ".ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    user_site = tmp_path / ".local" / "lib" / "python3.11" / "site-packages"
    user_site.mkdir(parents=True)
    (tmp_path / ".jupyter").mkdir()
    names = [
        "sitecustomize.py",
        "usercustomize.py",
        "ipython_config.py",
        "ipykernel.py",
        "orjson.py",
        "zmq.py",
    ]
    places = [tmp_path / name for name in names]
    places += [startup / "00.py", startup.parent / "ipython_config.py", user_site / "usercustomize.py"]
    places += [tmp_path / ".jupyter" / "jupyter_config.py"]
    for place in places:
        place.write_text(code)
    (user_site / "x.pth").write_text(f"import os; {code}\n")
    return tmp_path


async def test_no_secret_and_no_planted_file_reaches_a_kernel(planted: Path) -> None:
    server = {
        **os.environ,
        "HOME": str(planted),
        "OPENAI_API_KEY": CANARY,
        "DATABASE_URL": CANARY,
        "DJANGO_SETTINGS_MODULE": CANARY,
        "PYTHONPATH": str(planted),
        "PYTHONSTARTUP": str(planted / "sitecustomize.py"),
        "ALLOWED_ONE": "yes",
    }
    pool = KernelPool(LIMITS, server, extra_names=["ALLOWED_ONE"])
    await pool.start()
    kernel = SessionKernel(pool, planted)
    try:
        outcome = await run(
            kernel,
            "import os, json\n"
            "raw = open('/proc/self/environ').read() + open('/proc/self/cmdline').read()\n"
            "print(json.dumps([dict(os.environ), raw, os.getcwd()]))",
        )
        environment, raw, folder = json.loads(outcome.output.text)
        assert CANARY not in outcome.output.text
        assert "PYTHONPATH" not in environment
        assert "ALLOWED_ONE=yes" in raw
        assert environment["HOME"] == folder == str(planted)
        assert not (planted / "ran").exists()
    finally:
        await kernel.close()
        await pool.aclose()


async def test_a_server_that_forbids_it_is_closed_to_its_kernels_and_their_children(tmp_path: Path) -> None:
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.integration.kernel.guarded_host", str(tmp_path),
        cwd=PROJECT, stdout=asyncio.subprocess.PIPE, env={**os.environ, "OPENAI_API_KEY": CANARY},
    )  # fmt: skip
    out, _ = await asyncio.wait_for(server.communicate(), SECONDS)
    found = out.decode().split()
    assert found == ["environ", "PermissionError", "mem", "PermissionError", "maps", "PermissionError", "1"]


async def test_the_workspace_is_importable_behind_the_standard_library(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("value = 5")
    (tmp_path / "json.py").write_text("raise RuntimeError('shadowed')")
    pool = KernelPool(LIMITS, os.environ)
    await pool.start()
    kernel = SessionKernel(pool, tmp_path)
    try:
        outcome = await run(kernel, "import helper, json; helper.value")
        assert outcome.output.text == "5\n"
    finally:
        await kernel.close()
        await pool.aclose()


async def test_sockets_and_keys_lie_in_a_folder_of_the_owner_and_no_port_listens(tmp_path: Path) -> None:
    runtime = tmp_path / "run"
    runtime.mkdir()
    # Long test paths do not fit a socket's address; a link of a short name does.
    short = Path(f"/tmp/k{os.getpid()}")
    short.symlink_to(runtime)
    pool = KernelPool(LIMITS, {**os.environ, "XDG_RUNTIME_DIR": str(short)})
    await pool.start()
    kernel = SessionKernel(pool, tmp_path)
    try:
        await run(kernel, "1")
        [root] = runtime.iterdir()
        folders = [root, *(path for path in root.iterdir() if path.is_dir())]
        files = [path for folder in folders for path in folder.glob("connection.json")]
        assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
        assert files
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
        assert listening_ports(kernel_pid(kernel)) == []
    finally:
        await kernel.close()
        await pool.aclose()
        short.unlink()
    assert list(runtime.iterdir()) == []


def listening_ports(pid: int) -> list[str]:
    """Lines of TCP sockets in state LISTEN that the process holds."""
    inodes = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        target = os.readlink(f"/proc/{pid}/fd/{name}")
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    tables = [Path("/proc/net/tcp"), Path("/proc/net/tcp6")]
    lines = [
        line.split() for table in tables if table.exists() for line in table.read_text().splitlines()[1:]
    ]
    return [line[1] for line in lines if line[3] == "0A" and line[9] in inodes]


def test_the_look_for_ports_finds_one_that_listens() -> None:
    code = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(flush=True); input()"
    with subprocess.Popen(["python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert len(listening_ports(process.pid)) == 1
        process.kill()
