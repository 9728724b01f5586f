"""MCP servers that a user configures: programs that are started, called for their tools, and ended.

May touch: the programs of the configuration that is passed in, through the official Python SDK, which only this module
imports; and the standard error of those programs. The SDK gives them an environment without our secrets, plus what the
configuration adds.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TextIO

import msgspec

from custody.core.errors import InputError, MissingExtra, WorldError
from custody.core.wire.canonical import describe_conversion_error, parse_json_bytes

# The usual configuration file: ``{"mcpServers": {name: {command, args, env}}}``.


class McpServer(msgspec.Struct, frozen=True):
    """A program that speaks MCP on its standard input and output; fields of other tools are ignored."""

    command: str
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None


class _ServerFile(msgspec.Struct, frozen=True, rename={"servers": "mcpServers"}):
    servers: dict[str, McpServer]


def parse_mcp_servers(data: bytes) -> dict[str, McpServer]:
    """Return the servers of a configuration file; raise ``InputError`` naming an invalid field."""
    try:
        return msgspec.convert(parse_json_bytes(data), _ServerFile).servers
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(
            f"invalid configuration of MCP servers: {describe_conversion_error(error)}",
            hint='expected {"mcpServers": {"NAME": {"command": "…", "args": []}}}; URLs are not supported',
        ) from error


# A server on standard input and output: started, initialized, ended.


@asynccontextmanager
async def start_mcp_session(name: str, server: McpServer, errors: TextIO) -> AsyncIterator[Any]:
    """Open a session with a server, with ``call_tool(name, arguments, meta=…)``; the server ends with the block."""
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
        except Exception as error:  # noqa: BLE001 - raised below, where the SDK does not wrap it in a group
            problem = error
        else:
            yield session
            return
    raise WorldError(
        f"cannot start the MCP server '{name}': {type(problem).__name__}: {problem}"[:500],
        hint="run its command by hand to see its output",
    ) from problem
