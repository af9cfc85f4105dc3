"""A Redis of our own. It keeps nothing: what passes through it may be lost, and is."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from redis import asyncio as client
from redis.exceptions import RedisError

from albedo_project.keys import private_directory, private_file
from scripts.distributed.ports import HOST
from scripts.distributed.process import Program, StartFailed

CONFIGURATION = """bind {host}
port {port}
requirepass {password}
save ""
appendonly no
dir ./
"""


class Redis:
    """The server on `port`, with a password of this run."""

    def __init__(self, data_dir: Path, port: int) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise StartFailed("redis-server is not installed, and REDIS_URL is not set.")
        password = secrets.token_hex(24)
        folder = private_directory(data_dir / "redis")
        text = CONFIGURATION.format(host=HOST, port=port, password=password)
        # In a file, since a command line is for everybody to see.
        private_file(folder / "redis.conf").write_text(text, "ascii")
        self.url = f"redis://:{password}@{HOST}:{port}/0"
        environment = {"PATH": os.defpath, "TZ": "UTC"}
        self.program = Program("redis", (program, "redis.conf"), folder, environment)

    async def answers(self) -> bool:
        return await redis_answers(self.url)


async def redis_answers(url: str) -> bool:
    connection = client.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5)
    try:
        return bool(await connection.ping())
    except (RedisError, OSError):
        return False
    finally:
        await connection.aclose()
