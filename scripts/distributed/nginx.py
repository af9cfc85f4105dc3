"""nginx before the web processes, with the rules of deploy/nginx."""

from __future__ import annotations

import asyncio
import grp
import os
import pwd
import resource
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

from albedo_project.keys import private_directory, private_file
from scripts.distributed.ports import HOST
from scripts.distributed.process import Program, StartFailed

RULES = Path(__file__).resolve().parents[2] / "deploy" / "nginx"
PLACES = f"{os.defpath}:/usr/sbin:/usr/local/sbin"
WORKER_USER = "nobody"
# A stream takes two: its client's, and the one to its web process.
FILES = 32_768

CONFIGURATION = """daemon off;
worker_processes 1;
worker_rlimit_nofile {files};
pid nginx.pid;
error_log stderr;
{user}
events {{ worker_connections {connections}; }}

http {{
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path unused;
    uwsgi_temp_path unused;
    scgi_temp_path unused;
    include "{rules}/http.conf";
    access_log access.log albedo;

    upstream albedo {{
        least_conn;
{servers}
        keepalive 32;
        keepalive_timeout 60s;
    }}

    server {{
        listen {host}:{port} backlog=512 sndbuf=256k;
        set $albedo albedo;
        include "{rules}/server.conf";
    }}
}}
"""


def configuration(port: int, webs: Sequence[int], user: str) -> str:
    # On one machine a process that is gone refuses at once: none has to be avoided for a while.
    servers = "\n".join(f"        server {HOST}:{web} max_fails=0;" for web in webs)
    files = allowed_files()
    return CONFIGURATION.format(
        host=HOST, port=port, servers=servers, user=user, rules=RULES, files=files, connections=files // 2
    )


def allowed_files() -> int:
    """As many as nginx wants, or may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)


class Nginx:
    """The server on `port`, its folder `data_dir`/nginx."""

    def __init__(self, data_dir: Path, port: int, webs: Sequence[int]) -> None:
        program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:{PLACES}")
        if program is None:
            raise StartFailed("nginx is not installed.")
        folder = private_directory(data_dir / "nginx")
        private_file(folder / "nginx.conf").write_text(configuration(port, webs, worker_user()), "utf-8")
        self._port = port
        # Its workers, another user's, reach the folder by the way that stays open to them.
        command = (program, "-p", "/proc/self/cwd/", "-c", "nginx.conf", "-e", "stderr")
        environment = {"PATH": PLACES, "TZ": "UTC"}
        self.program = Program(
            "nginx",
            command,
            folder,
            environment,
            stop_signal=signal.SIGQUIT,
            # Killed, it would leave its workers behind.
            death_signal=signal.SIGTERM,
        )

    async def answers(self) -> bool:
        try:
            _, writer = await asyncio.open_connection(HOST, self._port)
        except OSError:
            return False
        writer.close()
        return True


def worker_user() -> str:
    """Only root may choose one, and has to: its workers are not to be root."""
    if os.geteuid() != 0:
        return ""
    group = grp.getgrgid(pwd.getpwnam(WORKER_USER).pw_gid).gr_name
    return f"user {WORKER_USER} {group};"
