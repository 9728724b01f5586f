"""What ``custody graph run`` needs from outside: the script, the servers of a file, and the servers themselves."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TextIO

from custody.core.errors import InputError
from custody.sdk.server_file import McpServer, read_servers

SCRIPT_BYTES_MAX = 4 * 1024 * 1024


def script_in(path: Path) -> str:
    """The text of a script."""
    try:
        return _bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"'{path}' is not UTF-8 at byte {error.start}", hint="a script is Python in UTF-8") from error


def servers_in(path: Path) -> dict[str, McpServer]:
    """The MCP servers that a configuration file names."""
    return read_servers(_bytes(path))


def open_server(name: str, server: McpServer, errors: TextIO) -> AbstractAsyncContextManager[Any]:
    """A session with a server, for as long as the block lasts."""
    from custody.sdk.servers import start_server_session

    return start_server_session(name, server, errors)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(SCRIPT_BYTES_MAX + 1)
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}") from error
    if len(data) > SCRIPT_BYTES_MAX:
        raise InputError(f"'{path}' has more than {SCRIPT_BYTES_MAX:,} bytes")
    return data
