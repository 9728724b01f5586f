"""The usual file that names MCP servers: ``{"mcpServers": {name: {command, args, env}}}``."""

import msgspec

from custody.core.errors import InputError
from custody.core.wire.canonical import parse, problem


class McpServer(msgspec.Struct, frozen=True):
    """A program that speaks MCP on its standard input and output; other tools' fields are passed over."""

    command: str
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None


class _ServerFile(msgspec.Struct, frozen=True, rename={"servers": "mcpServers"}):
    servers: dict[str, McpServer]


def read_servers(data: bytes) -> dict[str, McpServer]:
    """The servers of a configuration file, or an ``InputError`` that names the field."""
    try:
        return msgspec.convert(parse(data), _ServerFile).servers
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(
            f"not a configuration of MCP servers: {problem(error)}",
            hint='it looks like {"mcpServers": {"NAME": {"command": "…", "args": []}}}; a server has a command, no URL',
        ) from error
