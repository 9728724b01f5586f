"""MCP servers that a user names: programs that are started, asked for their tools, and ended.

May touch: the programs of the configuration that it is handed, through the official Python SDK, which this door alone
imports; and what those programs write on their standard error. The SDK gives them an environment without our secrets,
plus what the configuration says.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TextIO

from custody.core.errors import MissingExtra, WorldError
from custody.sdk.server_file import McpServer

# A server on standard input and output: started, greeted, ended.


@asynccontextmanager
async def start_server_session(name: str, server: McpServer, errors: TextIO) -> AsyncIterator[Any]:
    """A session with a server, with ``call_tool(name, arguments, meta=…)``; the server ends with the block."""
    try:
        from mcp import ClientSession, StdioServerParameters, stdio_client
    except ImportError as error:
        raise MissingExtra("the MCP SDK", "mcp") from error
    parameters = StdioServerParameters(command=server.command, args=server.args, env=server.env or None, cwd=server.cwd)
    problem: Exception
    async with AsyncExitStack() as stack:
        try:
            streams = await stack.enter_async_context(stdio_client(parameters, errors))
            session = await stack.enter_async_context(ClientSession(*streams))
            await session.initialize()
        except Exception as error:  # noqa: BLE001 - it is raised below, where the SDK does not put it into a group
            problem = error
        else:
            yield session
            return
    raise WorldError(
        f"cannot start the MCP server '{name}': {type(problem).__name__}: {problem}"[:500],
        hint="run its command by hand to see what it says",
    ) from problem
