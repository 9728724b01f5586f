"""A script through the bridge, with the MCP servers of a file: what ``custody graph run`` does."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any, TextIO

import msgspec

from custody.core.errors import CustodyError, InputError, WorldError
from custody.core.wire.report import Report
from custody.sdk.bridge import BridgeLimits, Execution, WorkerBridge
from custody.sdk.execution import CallTraceEvent
from custody.sdk.outbox import OUT, configure, flush
from custody.sdk.server_file import McpServer, read_servers

# What ``custody graph run`` answers.


class GraphCall(msgspec.Struct, frozen=True):
    """One call of a run: what was called, inside what, when, and how it came out."""

    trace_id: str
    parent_trace_id: str | None
    node: str
    started_ns: int
    ended_ns: int
    success: bool
    error: str | None = None


class GraphRunReport(Report, frozen=True, kw_only=True, tag="graph-run"):
    """How a script came out, and its calls in the order in which they began; ``found`` when it failed."""

    execution: str
    success: bool
    result: Any
    error: str | None
    trace: str | None
    stdout: str
    stderr: str
    dropped_bytes: int
    calls: list[GraphCall]


# What ``custody graph run`` needs from outside: the script, the servers of a file, and the servers themselves.


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


START_SECONDS = 30.0
"""A server that has not greeted by then does not start."""


def run_script(
    folder: Path, script: Path, config: Path | None, limits: BridgeLimits, errors: TextIO
) -> tuple[GraphRunReport, bool]:
    """Run a script and record its calls in the repository around ``folder``; whether all of them are kept."""
    code = script_in(script)
    servers = {} if config is None else servers_in(config)
    configure(folder=folder)

    async def run() -> Execution:
        async with AsyncExitStack() as stack:
            try:
                clients = {name: await _entered(stack, name, server, errors) for name, server in servers.items()}
                return await WorkerBridge(clients, limits=limits).execute(code, name=script.name)
            except CustodyError as error:
                problem = error  # raised below: the servers' own tasks would put it into a group
        raise problem

    report = report_of(asyncio.run(run()))
    return report, flush() and OUT.on


async def _entered(stack: AsyncExitStack, name: str, server: McpServer, errors: TextIO) -> Any:
    try:
        async with asyncio.timeout(START_SECONDS):
            return await stack.enter_async_context(open_server(name, server, errors))
    except TimeoutError as error:
        raise WorldError(
            f"cannot start the MCP server '{name}': it said nothing in {START_SECONDS:g} s",
            hint="run its command by hand to see what it says",
        ) from error


def report_of(execution: Execution) -> GraphRunReport:
    """An execution as it is answered."""
    return GraphRunReport(
        outcome="fine" if execution.success else "found",
        execution=execution.id,
        success=execution.success,
        result=execution.result,
        error=execution.error,
        trace=execution.trace,
        stdout=execution.stdout,
        stderr=execution.stderr,
        dropped_bytes=execution.dropped_bytes,
        calls=calls_of(execution.traces),
    )


def calls_of(traces: Sequence[CallTraceEvent]) -> list[GraphCall]:
    """Start and end of each call put together."""
    ends = {event.trace_id: event for event in traces if event.type.endswith("_end")}
    return [
        GraphCall(
            trace_id=event.trace_id,
            parent_trace_id=event.parent_trace_id,
            node=event.name if event.type.startswith("tool") else f"capability:{event.name}",
            started_ns=event.at_ns,
            ended_ns=ends[event.trace_id].at_ns,
            success=bool(ends[event.trace_id].success),
            error=ends[event.trace_id].error,
        )
        for event in traces
        if event.type.endswith("_start")
    ]
