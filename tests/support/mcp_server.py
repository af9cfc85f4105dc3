"""A real MCP server of the tests' own, over stdio or (with a port) streamable HTTP. Run by path.

What it notes goes into the file that the variable NOTES names: its pid, calls that began, and how they ended.
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time

import anyio
from mcp import MCPError
from mcp.server.mcpserver import Context, Image, MCPServer

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

server = MCPServer("tests")


def note(text: str) -> None:
    if path := os.environ.get("NOTES"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text + "\n")


@server.tool(description="Add two numbers.")
def add(a: int, b: int) -> str:
    note(f"add {a} {b}")
    return str(a + b)


@server.tool()
def big(chars: int) -> str:
    return "é" * chars


@server.tool()
def variable(name: str) -> str:
    return os.environ.get(name, "none")


@server.tool()
def folder() -> str:
    return os.getcwd()


@server.tool()
def picture() -> Image:
    return Image(data=PNG, format="png")


@server.tool()
def fail() -> str:
    raise ValueError("it cannot be done")


@server.tool()
def refuse() -> str:
    """An error of the protocol, with a secret in it."""
    raise MCPError(-32603, f"no luck with {os.environ.get('MINE')}")


@server.tool(name="odd.tool/" + "n" * 80)
def odd() -> str:
    return "odd"


@server.tool()
async def slow(seconds: float) -> str:
    note("slow began")
    try:
        await anyio.sleep(seconds)
    except BaseException:
        note("slow cancelled")
        raise
    note("slow ended")
    return "slept"


@server.tool()
def die() -> str:
    os._exit(3)


@server.tool()
def leave_behind() -> str:
    """Start something that outlives its parent, out of its process group."""
    left = subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL)
    note(f"left {left.pid}")
    return str(left.pid)


@server.tool()
async def header(name: str, ctx: Context) -> str:
    request = ctx.request_context.request
    return "none" if request is None else str(request.headers.get(name, "none"))


def main() -> None:
    note(f"pid {os.getpid()}")
    if "--deaf" in sys.argv:
        time.sleep(600)
    if "--port" in sys.argv:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[sys.argv.index("--port") + 1]))
    else:
        server.run("stdio")


if __name__ == "__main__":
    main()
