"""The usual configuration file of MCP servers: ``{"mcpServers": {name: {command, args, env}}}``."""

import msgspec

from custody.core.errors import InputError
from custody.core.wire.canonical import describe_conversion_error, parse_json_bytes


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
