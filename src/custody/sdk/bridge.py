"""Run code in a worker, call its tools for it, and record which call was made inside which.

``WorkerBridge(clients).execute(code, tools, context, capabilities)`` is document 004's own call. The code awaits
``capabilities.NAME(...)``, which runs in the worker, and ``tools.SERVER.TOOL(...)`` (``mcp`` is the same object), which
is called here.
"""

import asyncio
import inspect
import threading
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from msgspec import Struct, field

from custody.core.errors import InputError
from custody.sdk.execution import Calls, CallTraceEvent, OpenCall, TooManyCalls
from custody.sdk.propagation import HEADER, VARIABLE, current_traceparent
from custody.sdk.spans import running
from custody.sdk.worker import Limits, WorkerEnd, WorkerProcess
from custody.sdk.worker_messages import (
    CapabilityEnd,
    CapabilityStart,
    Result,
    RpcCall,
    RpcResult,
    Task,
    ToolFailed,
    encode_worker_message,
    parse_worker_message,
    tool_result_to_plain,
)

ERROR_MAX = 2000
WAITING_MAX = 256
"""Unread messages of a worker; a worker that sends more has to wait."""
ENDING_SECONDS = 10.0
CALLS_MAX = 64
"""Tools that one execution calls concurrently."""


class ToolClient(Protocol):
    """A client for the tools of one server: an MCP session, or any object with this method."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call one tool."""


class BridgeLimits(Struct, frozen=True, kw_only=True):
    """The limits of an execution: total time, time per tool call, memory and output of its process."""

    time_seconds: float = 60.0
    call_seconds: float = 30.0
    memory_bytes: int = 512 * 1024 * 1024
    output_bytes: int = 64 * 1024


class Execution(Struct, frozen=True, kw_only=True):
    """The result of an execution: its value or error, its output, and its calls."""

    id: str
    success: bool
    result: Any = None
    error: str | None = None
    trace: str | None = None
    stdout: str = ""
    stderr: str = ""
    dropped_bytes: int = 0
    traces: tuple[CallTraceEvent, ...] = ()


class WorkerBridge:
    """Executes code, each time in a new worker process; ``mcp_clients`` are the servers that it may call, by name."""

    def __init__(
        self, mcp_clients: Mapping[str, ToolClient] | None = None, *, limits: BridgeLimits | None = None
    ) -> None:
        self.clients = dict(mcp_clients or {})
        self.limits = limits or BridgeLimits()
        self._calls: Calls | None = None

    async def execute(
        self,
        code: str,
        tools: Collection[Any] | None = None,
        context: Any = None,
        capabilities: Mapping[str, str] | None = None,
        *,
        name: str = "code",
    ) -> Execution:
        """Run ``code``; an error in it is in the result, never raised.

        ``tools`` are those that it may call (``"server:tool"``, or mappings with ``server`` and ``name``), by default
        all; ``capabilities`` are bodies of functions by name, with their arguments as ``args``.
        """
        task = encode_worker_message(
            Task(code, f"<{name}>", {} if context is None else context, dict(capabilities or {}))
        )
        run = _Execution(self, Calls(name), None if tools is None else frozenset(map(_format_worker_tool_name, tools)))
        self._calls = run.calls
        return await run.execute(task)

    def get_traces(self) -> list[CallTraceEvent]:
        """Return the events of the latest execution, in order."""
        return [] if self._calls is None else list(self._calls.events)


class _ExecutionOutcome(Struct):
    """The outcome of an execution, before its output is known."""

    status: str
    error: str | None = None
    result: Any = None
    trace: str | None = None


class _Execution(Struct):
    """A running execution."""

    bridge: WorkerBridge
    calls: Calls
    allowed: frozenset[str] | None
    inbox: "asyncio.Queue[bytes | WorkerEnd]" = field(default_factory=asyncio.Queue)
    ended: "asyncio.Future[WorkerEnd]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    tasks: "set[asyncio.Task[None]]" = field(default_factory=set)
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CALLS_MAX))

    async def execute(self, task: bytes) -> Execution:
        limits = self.bridge.limits
        queue = _WorkerQueue(asyncio.get_running_loop(), self)
        token = running.set(self.calls.root.pair)
        outcome = _ExecutionOutcome("killed", "stopped before its end")
        worker: WorkerProcess | None = None
        try:
            variables = {VARIABLE: current_traceparent() or ""}
            worker = WorkerProcess(
                Limits(limits.memory_bytes, limits.output_bytes), variables, queue.line, queue.ending
            )
            worker.send(task)
            outcome = await self._outcome(worker, queue)
        finally:
            running.reset(token)
            queue.close()
            if worker is not None:
                worker.kill()
            for call in self.tasks:
                call.cancel()
            self.calls.end_all(outcome.status, outcome.error)
        await asyncio.wait({self.ended}, timeout=ENDING_SECONDS)
        return self._make_execution(outcome, self.ended.result() if self.ended.done() else None)

    def receive(self, item: bytes | WorkerEnd) -> None:
        """Take a message of the worker, or its end."""
        self.inbox.put_nowait(item)
        if isinstance(item, WorkerEnd) and not self.ended.done():
            self.ended.set_result(item)

    async def _outcome(self, worker: WorkerProcess, queue: "_WorkerQueue") -> _ExecutionOutcome:
        try:
            async with asyncio.timeout(self.bridge.limits.time_seconds):
                while True:
                    item = await self.inbox.get()
                    if isinstance(item, WorkerEnd):
                        return _ExecutionOutcome("killed", _describe_worker_end(item))
                    queue.release_slot()
                    message = parse_worker_message(item)
                    if isinstance(message, Result):
                        status = "ok" if message.success else "error"
                        return _ExecutionOutcome(status, message.error, message.result, message.trace)
                    self._handle(worker, message)
        except TimeoutError:
            return _ExecutionOutcome("killed", f"time limit of {self.bridge.limits.time_seconds:g} s reached")
        except TooManyCalls:
            return _ExecutionOutcome("killed", "too many calls")
        except (InputError, ValueError) as error:
            return _ExecutionOutcome("killed", f"invalid message from the worker: {error}")

    def _handle(self, worker: WorkerProcess, message: RpcCall | CapabilityStart | CapabilityEnd) -> None:
        if isinstance(message, RpcCall):
            call = self.calls.begin("tool", message.tool, message.server, message.parent_trace_id)
            task = asyncio.get_running_loop().create_task(self._tool(worker, message, call))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        elif isinstance(message, CapabilityStart):
            self.calls.begin("capability", message.name, None, message.parent_trace_id, int(message.trace_id, 16))
        else:
            ended = self.calls.open_call(int(message.trace_id, 16))
            if ended is None or (ended.kind, ended.name) != ("capability", message.name):
                raise ValueError("a capability ended that had not started")
            status = "ok" if message.success else "abandoned" if message.error is None else "error"
            self.calls.end(ended, status, message.error)

    async def _tool(self, worker: WorkerProcess, request: RpcCall, call: OpenCall) -> None:
        running.set(call.pair)  # in this task alone
        async with self.slots:
            answer = await self._answer(request)
        try:
            message = encode_worker_message(answer)
        except InputError as error:
            error_text = f"'{request.server}:{request.tool}' returned {error.message}"
            answer = RpcResult(request.id, success=False, error=error_text)
            message = encode_worker_message(answer)
        self.calls.end(call, "ok" if answer.success else "error", answer.error)
        worker.send(message)

    async def _answer(self, request: RpcCall) -> RpcResult:
        name = f"{request.server}:{request.tool}"
        client = self.bridge.clients.get(request.server)
        if client is None or (self.allowed is not None and name not in self.allowed):
            return RpcResult(request.id, success=False, error=f"unknown tool '{name}'")
        future = asyncio.ensure_future(_call_client_tool(client, request.tool, request.args))
        try:
            done, _ = await asyncio.wait({future}, timeout=self.bridge.limits.call_seconds)
        except asyncio.CancelledError:
            future.cancel()
            raise
        if not done:
            # Not awaited: a client that ignores cancellation must not hold this call beyond its limit.
            future.cancel()
            return RpcResult(
                request.id, success=False, error=f"'{name}' did not answer in {self.bridge.limits.call_seconds:g} s"
            )
        if future.cancelled() or future.exception() is not None:
            return RpcResult(request.id, success=False, error=_describe_tool_failure(name, future))
        return RpcResult(request.id, success=True, result=future.result())

    def _make_execution(self, outcome: _ExecutionOutcome, end: WorkerEnd | None) -> Execution:
        return Execution(
            id=self.calls.execution,
            success=outcome.status == "ok",
            result=outcome.result,
            error=outcome.error,
            trace=outcome.trace,
            stdout="" if end is None else end.out.text,
            stderr="" if end is None else end.err.text,
            dropped_bytes=0 if end is None else end.out.dropped + end.err.dropped,
            traces=tuple(self.calls.events),
        )


class _WorkerQueue:
    """Between the worker's threads and the loop: blocks the worker while too many messages are unread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, run: _Execution) -> None:
        self._loop, self._run = loop, run
        self._slots = threading.Semaphore(WAITING_MAX)
        self._closed = False

    def line(self, line: bytes) -> None:
        """Take a message of the worker."""
        self._slots.acquire()
        if not self._closed:
            self._pass_on(line)

    def ending(self, end: WorkerEnd) -> None:
        """Take the worker's end."""
        self._pass_on(end)

    def release_slot(self) -> None:
        """Allow one more message."""
        self._slots.release()

    def close(self) -> None:
        """Release the threads that still wait."""
        self._closed = True
        self._slots.release(WAITING_MAX)

    def _pass_on(self, item: bytes | WorkerEnd) -> None:
        try:
            self._loop.call_soon_threadsafe(self._run.receive, item)
        except RuntimeError:
            self._closed = True  # the loop is closed, so nothing reads the item


async def _call_client_tool(client: ToolClient, tool: str, arguments: dict[str, Any]) -> Any:
    """Return a client's result for a tool; pass the running span if the client accepts it."""
    more = {"meta": {HEADER: current_traceparent()}} if _can_take_meta(client) else {}
    result: Any = client.call_tool(tool, arguments, **more)
    return tool_result_to_plain(await result if inspect.isawaitable(result) else result)


def _can_take_meta(client: ToolClient) -> bool:
    try:
        return "meta" in inspect.signature(client.call_tool).parameters
    except (TypeError, ValueError):
        return False  # without a signature, call it as the protocol says


def _describe_tool_failure(name: str, future: "asyncio.Future[Any]") -> str:
    if future.cancelled():
        return f"'{name}' was stopped"
    error = future.exception()
    kind = "" if isinstance(error, ToolFailed) else f"{type(error).__name__}: "
    return f"'{name}' failed: {kind}{error}"[:ERROR_MAX]


def _describe_worker_end(end: WorkerEnd) -> str:
    if end.status < 0:
        return f"worker killed by signal {-end.status}"
    return f"worker ended with status {end.status} before the code did"


def _format_worker_tool_name(tool: Any) -> str:
    if isinstance(tool, Mapping):
        return f"{tool['server']}:{tool['name']}" if "server" in tool else str(tool["name"])
    return str(tool)
