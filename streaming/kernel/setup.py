"""Moves a fresh kernel into its workspace. Only after the start: what lies there must not run by itself."""

from __future__ import annotations

from pathlib import Path

from streaming.kernel.errors import KernelStartFailed
from streaming.kernel.execution import Execution
from streaming.kernel.manager import Kernel
from streaming.kernel.outputs import OutputFolder

SETUP_SECONDS = 20.0

# The workspace goes before installed packages and behind the standard library, where IPython puts it.
SETUP = """
def _enter(path):
    import os, sys
    os.chdir(path)
    os.environ["PWD"] = path
    parts = [os.path.basename(entry) for entry in sys.path]
    sys.path.insert(parts.index("site-packages") if "site-packages" in parts else len(parts), path)
_enter({path!r})
del _enter
"""


async def enter_workspace(kernel: Kernel, workspace: Path) -> None:
    """`workspace` is absolute. Raises KernelStartFailed where the kernel cannot work there."""
    folder = OutputFolder(kernel.limits, str, lambda text: None)
    code = SETUP.format(path=str(workspace))
    ending = await Execution(kernel, folder).run(code, SETUP_SECONDS, silent=True)
    if ending != "ok":
        error = folder.output().error
        reason = error.name if error else ending
        raise KernelStartFailed(f"the kernel cannot work in this workspace ({reason})")
