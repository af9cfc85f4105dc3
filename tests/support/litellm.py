"""LiteLLM's proxy as a process: installed once in an environment of its own, in the user's cache folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import accepts, end, free_port, spawn, tail, wait_for

INSTALL_SECONDS = 900
START_SECONDS = 240
KEY = "sk-of-the-tests-alone"


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "albedo-tests" / "litellm"


def program() -> Path:
    """The proxy's command, installed if need be; skips the test where that does not work, and says why."""
    folder = cache_folder()
    command = folder / "bin" / "litellm"
    if not command.exists():
        _run([sys.executable, "-m", "venv", str(folder)], "no environment for LiteLLM")
        _run([str(folder / "bin" / "pip"), "install", "-q", "litellm[proxy]"], "LiteLLM does not install")
    if not command.exists():
        pytest.skip("LiteLLM was installed without its proxy")
    return command


def _run(command: list[str], reason: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{reason}: {type(error).__name__}")
    if done.returncode != 0:
        pytest.skip(f"{reason}: {(done.stderr.strip().splitlines() or ['no reason given'])[-1][:200]}")


@contextmanager
def litellm_proxy(folder: Path, models: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Its base URL while it runs with these models, each by its `litellm_params`."""
    config, log, port = folder / "config.yaml", folder / "litellm.log", free_port()
    listed = [{"model_name": name, "litellm_params": dict(params)} for name, params in models.items()]
    # JSON is YAML too.
    config.write_text(json.dumps({"model_list": listed, "general_settings": {"master_key": KEY}}), "utf-8")
    environment = {
        **os.environ,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_TELEMETRY": "False",
        "NO_PROXY": "127.0.0.1",
    }
    command: list[str | Path] = [program(), "--config", config, "--host", "127.0.0.1", "--port", str(port)]
    process = spawn(command, log, environment, folder=folder)
    try:
        wait_for(
            lambda: accepts(port) or process.poll() is not None, "LiteLLM's proxy listens", START_SECONDS
        )
        assert process.poll() is None, tail(log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        end(process)
