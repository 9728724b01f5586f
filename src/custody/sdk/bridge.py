"""Run code in a worker, call its tools for it, and know who called what inside what.

``WorkerBridge(clients).execute(code, tools, context, capabilities)`` is document 004's own call. The code awaits
``capabilities.NAME(...)``, which runs beside it in the worker, and ``tools.SERVER.TOOL(...)`` (``mcp`` is the same
object), which is called here.
"""

import asyncio
import inspect
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

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
    parse_child_message,
    plain_result,
    write,
)

ERROR_MAX = 2000
WAITING_MAX = 256
"""Messages of a worker that wait to be read; a worker that says more waits itself."""
ENDING_SECONDS = 10.0
CALLS_MAX = 64
"""Tools that one execution calls at once."""


class ToolClient(Protocol):
    """Whoever calls the tools of one server: an MCP session, or any object with this method."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call one tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeLimits:
    """What an execution may use: time in all and for each tool, memory and output of its process."""

    time_seconds: float = 60.0
    call_seconds: float = 30.0
    memory_bytes: int = 512 * 1024 * 1024
    output_bytes: int = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """How code came out: what it gave or what went wrong, what it printed, what it called."""

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
    """Executes code, one worker process for each time; ``mcp_clients`` are the servers that it may ask, by name."""

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
        """Run ``code``; what goes wrong in it is in the answer, never raised.

        ``tools`` are those that it may call (``"server:tool"``, or mappings with ``server`` and ``name``), all when
        there is None; ``capabilities`` are bodies of functions by name, with their arguments as ``args``.
        """
        task = write(Task(code, f"<{name}>", {} if context is None else context, dict(capabilities or {})))
        run = _Execution(self, Calls(name), None if tools is None else frozenset(map(_tool_name, tools)))
        self._calls = run.calls
        return await run.of(task)

    def get_traces(self) -> list[CallTraceEvent]:
        """The events of the execution that began last, in the order in which they happened."""
        return [] if self._calls is None else list(self._calls.events)


@dataclass(slots=True)
class _ExecutionOutcome:
    """How an execution ended, before what it printed is known."""

    status: str
    error: str | None = None
    result: Any = None
    trace: str | None = None


@dataclass(slots=True)
class _Execution:
    """One execution under way."""

    bridge: WorkerBridge
    calls: Calls
    allowed: frozenset[str] | None
    inbox: "asyncio.Queue[bytes | WorkerEnd]" = field(default_factory=asyncio.Queue)
    ended: "asyncio.Future[WorkerEnd]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    tasks: "set[asyncio.Task[None]]" = field(default_factory=set)
    at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CALLS_MAX))

    async def of(self, task: bytes) -> Execution:
        limits = self.bridge.limits
        ear = _WorkerQueue(asyncio.get_running_loop(), self)
        token = running.set(self.calls.root.pair)
        outcome = _ExecutionOutcome("killed", "it was stopped before it came to an end")
        worker: WorkerProcess | None = None
        try:
            variables = {VARIABLE: current_traceparent() or ""}
            worker = WorkerProcess(Limits(limits.memory_bytes, limits.output_bytes), variables, ear.line, ear.ending)
            worker.send(task)
            outcome = await self._outcome(worker, ear)
        finally:
            running.reset(token)
            ear.close()
            if worker is not None:
                worker.kill()
            for call in self.tasks:
                call.cancel()
            self.calls.end_all(outcome.status, outcome.error)
        await asyncio.wait({self.ended}, timeout=ENDING_SECONDS)
        return self._make_execution(outcome, self.ended.result() if self.ended.done() else None)

    def hear(self, item: bytes | WorkerEnd) -> None:
        """Take what the worker said, or that it ended."""
        self.inbox.put_nowait(item)
        if isinstance(item, WorkerEnd) and not self.ended.done():
            self.ended.set_result(item)

    async def _outcome(self, worker: WorkerProcess, ear: "_WorkerQueue") -> _ExecutionOutcome:
        try:
            async with asyncio.timeout(self.bridge.limits.time_seconds):
                while True:
                    item = await self.inbox.get()
                    if isinstance(item, WorkerEnd):
                        return _ExecutionOutcome("killed", _why(item))
                    ear.heard()
                    said = parse_child_message(item)
                    if isinstance(said, Result):
                        return _ExecutionOutcome("ok" if said.success else "error", said.error, said.result, said.trace)
                    self._handle(worker, said)
        except TimeoutError:
            return _ExecutionOutcome("killed", f"the time limit of {self.bridge.limits.time_seconds:g} s was reached")
        except TooManyCalls:
            return _ExecutionOutcome("killed", "it made more calls than are kept")
        except (InputError, ValueError) as error:
            return _ExecutionOutcome("killed", f"its worker said what makes no sense: {error}")

    def _handle(self, worker: WorkerProcess, said: RpcCall | CapabilityStart | CapabilityEnd) -> None:
        if isinstance(said, RpcCall):
            call = self.calls.begin("tool", said.tool, said.server, said.parent_trace_id)
            task = asyncio.get_running_loop().create_task(self._tool(worker, said, call))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        elif isinstance(said, CapabilityStart):
            self.calls.begin("capability", said.name, None, said.parent_trace_id, int(said.trace_id, 16))
        else:
            begun = self.calls.open_call(int(said.trace_id, 16))
            if begun is None or (begun.kind, begun.name) != ("capability", said.name):
                raise ValueError("a capability ended that had not begun")
            status = "ok" if said.success else "abandoned" if said.error is None else "error"
            self.calls.end(begun, status, said.error)

    async def _tool(self, worker: WorkerProcess, said: RpcCall, call: OpenCall) -> None:
        running.set(call.pair)  # of this task alone
        async with self.at_once:
            answer = await self._answer(said)
        try:
            message = write(answer)
        except InputError as error:
            answer = RpcResult(said.id, success=False, error=f"'{said.server}:{said.tool}' gave {error.message}")
            message = write(answer)
        self.calls.end(call, "ok" if answer.success else "error", answer.error)
        worker.send(message)

    async def _answer(self, said: RpcCall) -> RpcResult:
        name = f"{said.server}:{said.tool}"
        client = self.bridge.clients.get(said.server)
        if client is None or (self.allowed is not None and name not in self.allowed):
            return RpcResult(said.id, success=False, error=f"there is no tool '{name}' here")
        asked = asyncio.ensure_future(_call_client_tool(client, said.tool, said.args))
        try:
            done, _ = await asyncio.wait({asked}, timeout=self.bridge.limits.call_seconds)
        except asyncio.CancelledError:
            asked.cancel()
            raise
        if not done:
            # Not waited for: a client that does not let itself be stopped must not hold this call beyond its limit.
            asked.cancel()
            return RpcResult(
                said.id, success=False, error=f"'{name}' gave no answer in {self.bridge.limits.call_seconds:g} s"
            )
        if asked.cancelled() or asked.exception() is not None:
            return RpcResult(said.id, success=False, error=_describe_failure(name, asked))
        return RpcResult(said.id, success=True, result=asked.result())

    def _make_execution(self, outcome: _ExecutionOutcome, ending: WorkerEnd | None) -> Execution:
        return Execution(
            id=self.calls.execution,
            success=outcome.status == "ok",
            result=outcome.result,
            error=outcome.error,
            trace=outcome.trace,
            stdout="" if ending is None else ending.out.text,
            stderr="" if ending is None else ending.err.text,
            dropped_bytes=0 if ending is None else ending.out.dropped + ending.err.dropped,
            traces=tuple(self.calls.events),
        )


class _WorkerQueue:
    """Between the worker's threads and the loop: holds the worker up when it says more than is heard."""

    def __init__(self, loop: asyncio.AbstractEventLoop, run: _Execution) -> None:
        self._loop, self._run = loop, run
        self._room = threading.Semaphore(WAITING_MAX)
        self._closed = False

    def line(self, line: bytes) -> None:
        """The worker said something."""
        self._room.acquire()
        if not self._closed:
            self._pass_on(line)

    def ending(self, ending: WorkerEnd) -> None:
        """The worker ended."""
        self._pass_on(ending)

    def heard(self) -> None:
        """One more may be said."""
        self._room.release()

    def close(self) -> None:
        """Let go of whoever still says something."""
        self._closed = True
        self._room.release(WAITING_MAX)

    def _pass_on(self, item: bytes | WorkerEnd) -> None:
        try:
            self._loop.call_soon_threadsafe(self._run.hear, item)
        except RuntimeError:
            self._closed = True  # the loop is closed: nobody hears any more


async def _call_client_tool(client: ToolClient, tool: str, arguments: dict[str, Any]) -> Any:
    """What a client gives for a tool; it is told the running span where it can take that."""
    more = {"meta": {HEADER: current_traceparent()}} if _takes_meta(client) else {}
    given: Any = client.call_tool(tool, arguments, **more)
    return plain_result(await given if inspect.isawaitable(given) else given)


def _takes_meta(client: ToolClient) -> bool:
    try:
        return "meta" in inspect.signature(client.call_tool).parameters
    except (TypeError, ValueError):
        return False  # what cannot be looked at is called as the protocol says


def _describe_failure(name: str, asked: "asyncio.Future[Any]") -> str:
    if asked.cancelled():
        return f"'{name}' was stopped"
    error = asked.exception()
    kind = "" if isinstance(error, ToolFailed) else f"{type(error).__name__}: "
    return f"'{name}' failed: {kind}{error}"[:ERROR_MAX]


def _why(ending: WorkerEnd) -> str:
    if ending.status < 0:
        return f"its worker was killed by signal {-ending.status}"
    return f"its worker ended with status {ending.status} before the code did"


def _tool_name(tool: Any) -> str:
    if isinstance(tool, Mapping):
        return f"{tool['server']}:{tool['name']}" if "server" in tool else str(tool["name"])
    return str(tool)
