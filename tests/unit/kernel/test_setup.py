"""The code that moves a kernel into its workspace, run by a plain interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from streaming.kernel.setup import SETUP

SHOW = "import json, os, sys\nprint(json.dumps([os.getcwd(), sys.path, '_enter' in globals()]))"


def test_it_moves_there_and_makes_it_importable_and_leaves_no_name(folder: Path) -> None:
    odd = folder / 'it\'s "né" {x}'
    odd.mkdir()
    code = SETUP.format(path=str(odd)) + SHOW
    shown = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True)
    cwd, path, left = json.loads(shown.stdout)
    packages = next(index for index, entry in enumerate(path) if entry.endswith("site-packages"))
    library = next(index for index, entry in enumerate(path) if entry.endswith("lib-dynload"))
    assert cwd == str(odd)
    assert library < path.index(str(odd)) < packages
    assert left is False
