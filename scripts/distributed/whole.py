"""All processes together: started in order, kept running, drained in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import httpx

from albedo_project.keys import private_directory
from scripts.distributed import once
from scripts.distributed.keeper import PROBE_SECONDS, READY_SECONDS, Keeper, Probe
from scripts.distributed.logs import Log
from scripts.distributed.nginx import Nginx
from scripts.distributed.plan import METRICS_VARIABLE, PROJECT, Plan, command
from scripts.distributed.ports import HOST, free_ports, is_free
from scripts.distributed.postgres import Postgres, database_answers
from scripts.distributed.process import Program, StartFailed
from scripts.distributed.redis import Redis, redis_answers
from scripts.distributed.roster import Roster

PORT_TRIES = 3
LEAVING_SECONDS, AGAIN_SECONDS = 3.0, 0.2
# What is left behind the drain's own time for kernels, connections and files.
HOST_SECONDS, WEB_SECONDS, NGINX_SECONDS, REDIS_SECONDS, POSTGRES_SECONDS = 9.0, 4.0, 1.0, 1.0, 4.0


class Whole:
    """`start`, then `drain` or `kill`."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._logs = private_directory(plan.data_dir / "logs")
        self._roster = Roster(plan.data_dir)
        # Every web process stands behind our nginx, which sets what is believed of it.
        self._environment = {
            **plan.environment,
            "DATA_DIR": str(plan.data_dir),
            "ALBEDO_TRUST_PROXY": "1",
            # Whatever else ALLOWED_HOSTS has: the printed link leads here.
            "ALBEDO_BIND_HOST": HOST,
            "PYTHONUNBUFFERED": "1",
        }

    async def start(self) -> tuple[str, str]:
        """The URL and a link that signs in, once everything answers. Raises StartFailed."""
        port = self._plan.port or free_ports(1)[0]
        await _become_free(port)
        url = f"http://{HOST}:{port}"
        await _together(self._start_redis(), self._start_postgres())
        await once.run(
            self._ours("migrate", "migrate", "--no-input", "--verbosity", "0"), self._log("manage")
        )
        webs = [self._start_web(number) for number in range(1, self._plan.webs + 1)]
        hosts = [self._start_host(number) for number in range(1, self._plan.hosts + 1)]
        link, *started = await _together(
            once.ask(self._ours("operator", "operator", "--url", url)), *webs, *hosts
        )
        nginx = Nginx(self._plan.data_dir, port, started[: self._plan.webs])
        await self._keep("nginx", nginx.program, nginx.answers)
        await _healthy(url)
        return url, str(link)

    async def drain(self) -> None:
        """No new connections; runs end or are interrupted; streams are closed; then what they stood on."""
        for nginx in self._roster.of("nginx"):
            nginx.begin_stop()
        await self._stop("actors", self._plan.drain_seconds + HOST_SECONDS)
        await self._stop("web", WEB_SECONDS)
        await self._stop("nginx", NGINX_SECONDS)
        await self._stop("redis", REDIS_SECONDS)
        await self._stop("postgres", POSTGRES_SECONDS)
        self._roster.remove()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        for keeper in self._roster:
            keeper.kill()
        self._roster.remove()

    async def _stop(self, kind: str, seconds: float) -> None:
        await asyncio.gather(*(keeper.stop(seconds) for keeper in self._roster.of(kind)))

    async def _start_redis(self) -> None:
        url = self._plan.redis_url
        if url:
            if not await redis_answers(url):
                raise StartFailed("The Redis of REDIS_URL does not answer.")
            return

        async def start(port: int) -> None:
            redis = Redis(self._plan.data_dir, port)
            await self._keep("redis", redis.program, redis.answers)
            self._environment["REDIS_URL"] = redis.url

        await _on_free_port(start)

    async def _start_postgres(self) -> None:
        url = self._plan.database_url
        if url:
            if not await database_answers(url):
                raise StartFailed("The database of DATABASE_URL does not answer.")
            return
        postgres = Postgres(self._plan.data_dir, self._plan.connections)
        await postgres.prepare(self._log("postgres"))

        async def start(port: int) -> None:
            postgres.port = port
            await self._keep("postgres", postgres.program, postgres.answers)

        await _patiently(lambda: _on_free_port(start))
        await postgres.ensure_database()
        self._environment["DATABASE_URL"] = postgres.url

    async def _start_web(self, number: int) -> int:
        async def start(port: int) -> None:
            await self._keep("web", self._ours(f"web-{number}", "run_web", "--port", str(port)))

        return await _on_free_port(start)

    async def _start_host(self, number: int) -> None:
        program = self._ours(f"actors-{number}", "run_actors")
        if self._plan.metrics_port:
            # Each answers for itself, and so on a port of its own.
            own = {METRICS_VARIABLE: str(self._plan.metrics_port + number - 1)}
            program = replace(program, environment={**program.environment, **own})
        await self._keep("actors", program)

    async def _keep(self, kind: str, program: Program, probe: Probe | None = None) -> None:
        keeper = Keeper(program, self._log(program.name), probe=probe, changed=self._roster.write)
        with self._roster.added(kind, keeper):
            await keeper.start()

    def _ours(self, name: str, *arguments: str) -> Program:
        return Program(name, command(*arguments), PROJECT, dict(self._environment))

    def _log(self, name: str) -> Log:
        return Log(self._logs / f"{name}.log")


async def _together(*parts: Awaitable[Any]) -> list[Any]:
    """All at once; the first that fails ends the others. Raises what it raised."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _patiently(start: Callable[[], Awaitable[int]]) -> None:
    """Whoever used the data before may be about to go: a launcher that was killed takes PostgreSQL along."""
    latest = asyncio.get_running_loop().time() + LEAVING_SECONDS
    while True:
        try:
            await start()
            return
        except StartFailed:
            if asyncio.get_running_loop().time() > latest:
                raise
        await asyncio.sleep(AGAIN_SECONDS)


async def _become_free(port: int) -> None:
    """As above, for the port that was asked for. Raises StartFailed."""
    latest = asyncio.get_running_loop().time() + LEAVING_SECONDS
    while not is_free(port):
        if asyncio.get_running_loop().time() > latest:
            raise StartFailed(f"Cannot listen on {HOST}:{port}: another program does.")
        await asyncio.sleep(AGAIN_SECONDS)


async def _on_free_port(start: Callable[[int], Awaitable[None]]) -> int:
    """Its port. Where somebody else was faster it is tried on another one."""
    for left in reversed(range(PORT_TRIES)):
        port = free_ports(1)[0]
        try:
            await start(port)
        except StartFailed:
            if is_free(port) or not left:
                raise
        else:
            return port
    raise AssertionError("the last try returns or raises")


async def _healthy(url: str) -> None:
    """Return once the whole answers, from nginx to a web process. Raises StartFailed."""
    try:
        async with asyncio.timeout(READY_SECONDS), httpx.AsyncClient(trust_env=False, verify=False) as client:
            while (await client.get(f"{url}/api/health")).status_code != 200:  # noqa: ASYNC110
                await asyncio.sleep(PROBE_SECONDS)
    except (TimeoutError, httpx.HTTPError) as error:
        raise StartFailed("No web process answers behind nginx.") from error
