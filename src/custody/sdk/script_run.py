"""A script run through the bridge, with the MCP servers of a file: the use case of ``custody graph run``."""

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
from custody.sdk.servers import McpServer, parse_mcp_servers

# The report of ``custody graph run``.


class GraphCall(msgspec.Struct, frozen=True):
    """One call of a run: its node, its parent, its times and its outcome."""

    trace_id: str
    parent_trace_id: str | None
    node: str
    started_ns: int
    ended_ns: int
    success: bool
    error: str | None = None


class GraphRunReport(Report, frozen=True, kw_only=True, tag="graph-run"):
    """The outcome of a script, and its calls in the order of their starts; ``found`` when it failed."""

    execution: str
    success: bool
    result: Any
    error: str | None
    trace: str | None
    stdout: str
    stderr: str
    dropped_bytes: int
    calls: list[GraphCall]


# The input of ``custody graph run``: the script, the servers of a file, and the servers themselves.


SCRIPT_BYTES_MAX = 4 * 1024 * 1024


def read_traced_script(path: Path) -> str:
    """Return the text of a script."""
    try:
        return _read_script_file(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"'{path}' is not UTF-8 at byte {error.start}", hint="the script must be Python in UTF-8"
        ) from error


def load_mcp_servers(path: Path) -> dict[str, McpServer]:
    """Return the MCP servers of a configuration file."""
    return parse_mcp_servers(_read_script_file(path))


def open_mcp_server(name: str, server: McpServer, errors: TextIO) -> AbstractAsyncContextManager[Any]:
    """Open a session with a server, for the duration of the block."""
    from custody.sdk.servers import start_mcp_session

    return start_mcp_session(name, server, errors)


def _read_script_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(SCRIPT_BYTES_MAX + 1)
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}") from error
    if len(data) > SCRIPT_BYTES_MAX:
        raise InputError(f"'{path}' is over the limit of {SCRIPT_BYTES_MAX:,} bytes")
    return data


START_SECONDS = 30.0
"""How long a server may take to start."""


def run_traced_script(
    folder: Path, script: Path, config: Path | None, limits: BridgeLimits, errors: TextIO
) -> tuple[GraphRunReport, bool]:
    """Run a script and record its calls in the repository around ``folder``; also return whether all are stored."""
    code = read_traced_script(script)
    servers = {} if config is None else load_mcp_servers(config)
    configure(folder=folder)

    async def run() -> Execution:
        async with AsyncExitStack() as stack:
            try:
                clients = {
                    name: await _start_mcp_server(stack, name, server, errors) for name, server in servers.items()
                }
                return await WorkerBridge(clients, limits=limits).execute(code, name=script.name)
            except CustodyError as error:
                problem = error  # raised below: the servers' own tasks would wrap it in a group
        raise problem

    report = report_script_run(asyncio.run(run()))
    return report, flush() and OUT.on


async def _start_mcp_server(stack: AsyncExitStack, name: str, server: McpServer, errors: TextIO) -> Any:
    try:
        async with asyncio.timeout(START_SECONDS):
            return await stack.enter_async_context(open_mcp_server(name, server, errors))
    except TimeoutError as error:
        raise WorldError(
            f"cannot start the MCP server '{name}': no answer in {START_SECONDS:g} s",
            hint="run its command by hand to see its output",
        ) from error


def report_script_run(execution: Execution) -> GraphRunReport:
    """Return the report of an execution."""
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
        calls=graph_calls_from_trace_events(execution.traces),
    )


def graph_calls_from_trace_events(traces: Sequence[CallTraceEvent]) -> list[GraphCall]:
    """Combine the start and end of each call."""
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
