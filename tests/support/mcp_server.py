"""A small real MCP server: echoes, adds, fails, hangs, dies, and returns the span of its caller."""

import os
import sys
import threading
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("small", log_level="CRITICAL")


@server.tool()
def echo(text: str) -> str:
    """Return the text."""
    return text


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def describe(name: str) -> dict[str, Any]:
    """Return an object."""
    return {"name": name, "pid": os.getpid()}


@server.tool()
def caller(ctx: Context) -> str:
    """Return the trace parent in ``params._meta``."""
    meta = ctx.request_context.meta
    found = meta.get("traceparent") if isinstance(meta, dict) else getattr(meta, "traceparent", None)
    return str(found)


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("cannot do that")


@server.tool()
def hang() -> str:
    """Never answer."""
    threading.Event().wait()
    return "never"


@server.tool()
def die() -> str:
    """End the whole server."""
    os._exit(3)


if __name__ == "__main__":
    if "--silent" in sys.argv:
        threading.Event().wait()
    server.run("stdio")
