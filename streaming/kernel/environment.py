"""The environment of a kernel: an allow-list, so that no key, token or setting of the server is in it.

Pure: the server's own environment is passed in. Must not read `os.environ`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

ALLOWED = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
        "VIRTUAL_ENV", "CONDA_PREFIX", "SSL_CERT_FILE", "SSL_CERT_DIR", "LD_LIBRARY_PATH",
    }
)  # fmt: skip
ALLOWED_PREFIXES = ("LC_",)
MARKER = "ALBEDO_KERNEL_RUN"
"""Names the run in the environment of everything that a kernel starts: how leftovers are found."""


def allowed_environment(source: Mapping[str, str], extra_names: Iterable[str] = ()) -> dict[str, str]:
    """The part of `source` that model code may see; `extra_names` are the operator's additions."""
    names = ALLOWED | frozenset(extra_names)
    return {
        name: value for name, value in source.items() if name in names or name.startswith(ALLOWED_PREFIXES)
    }


def kernel_environment(allowed: Mapping[str, str], folder: Path, token: str) -> dict[str, str]:
    """`allowed`, with every place where Jupyter and IPython look for files moved into the run folder."""
    private = {
        "IPYTHONDIR": folder / "ipython",
        "JUPYTER_CONFIG_DIR": folder / "jupyter",
        "JUPYTER_DATA_DIR": folder / "jupyter",
        "JUPYTER_RUNTIME_DIR": folder / "jupyter",
    }
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        **allowed,
        **{name: str(path) for name, path in private.items()},
        MARKER: token,
    }
