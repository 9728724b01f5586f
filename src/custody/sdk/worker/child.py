"""The worker's program: user code, the capabilities that it may call, and a way to call tools.

Started as a file by ``process.py``; it uses only the standard library, so that the worker has nothing else loaded.
Messages are JSON, one per line. The running capability is a context variable, not a stack: of two concurrent
capabilities, each is the parent of its own calls.
"""

import ast
import asyncio
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from inspect import iscoroutinefunction
from types import CodeType, FunctionType
from typing import Any

WorkerMessage = dict[str, Any]

ERROR_MAX = 4000
NAME_MAX = 200
running: ContextVar[str | None] = ContextVar("running", default=None)


class ToolError(Exception):
    """A tool or a capability failed, or could not be called."""


class Wire:
    """The two pipes, and the futures that wait for answers."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._in = os.fdopen(incoming, "rb")
        self._out = os.fdopen(outgoing, "wb", buffering=0)
        self._sending = threading.Lock()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def read_task(self) -> WorkerMessage:
        """Return the task."""
        message: WorkerMessage = json.loads(self._in.readline())
        return message

    def listen(self) -> None:
        """Receive answers from now on, in a thread: code that never awaits must not delay noticing the end."""
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._receive, daemon=True).start()

    def send(self, message: WorkerMessage) -> None:
        """Send a message."""
        data = json.dumps(message, allow_nan=False).encode() + b"\n"
        with self._sending:
            view = memoryview(data)
            while view:
                view = view[self._out.write(view) :]

    async def ask(self, message: WorkerMessage) -> Any:
        """Send a message and wait for its answer."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        number = id(future)
        self._waiting[number] = future
        try:
            self.send({**message, "id": number})
            return await future
        finally:
            del self._waiting[number]

    def _receive(self) -> None:
        for line in self._in:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._resolve_answer, json.loads(line))
        os._exit(1)  # the parent process is gone

    def _resolve_answer(self, message: WorkerMessage) -> None:
        future = self._waiting.get(message["id"])
        if future is None or future.done():
            return  # its caller no longer waits
        if message["success"]:
            future.set_result(message["result"])
        else:
            future.set_exception(ToolError(message["error"]))


class ToolNames:
    """``tools.server.tool(...)``: names by attribute or by index, resolved on use."""

    def __init__(self, find: Callable[[str], Any]) -> None:
        self._find = find

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._find(name)

    def __getitem__(self, name: str) -> Any:
        return self._find(name)


def make_worker_tools(wire: Wire) -> ToolNames:
    """Return every server and its tools; the bridge decides whether they exist."""

    def tool_of(server: str, tool: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def call(arguments: WorkerMessage | None = None, **more: Any) -> Any:
            return await wire.ask(
                {
                    "type": "rpc_call",
                    "server": server,
                    "tool": tool,
                    "args": {**(arguments or {}), **more},
                    "parent_trace_id": running.get(),
                }
            )

        return call

    return ToolNames(lambda server: ToolNames(lambda tool: tool_of(server, tool)))


class Capabilities:
    """The capabilities of a task: code that runs here; each call is reported at its start and end."""

    def __init__(self, wire: Wire, codes: dict[str, str], names: dict[str, Any]) -> None:
        self._wire = wire
        self._codes = {name: compile_worker_body(code, f"<capability {name}>") for name, code in codes.items()}
        self._names = names

    def find_capability(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        """Return the capability of that name."""
        if name not in self._codes:
            raise ToolError(f"unknown capability '{name}'")

        async def call(arguments: Any = None, **more: Any) -> Any:
            args = {**(arguments or {}), **more} if more or arguments is None else arguments
            return await self._call(name, args)

        return call

    async def _call(self, name: str, args: Any) -> Any:
        with self._trace_call(name):
            return await run_worker_body(self._codes[name], {**self._names, "args": args})

    def decorate_capability(self, fn: Any = None, /, *, name: str | None = None) -> Any:
        """Trace a function of the code with ``@capability``, like a named capability."""
        if fn is None or isinstance(fn, str):
            return partial(self.decorate_capability, name=name or fn)
        characters = (character if character.isprintable() else " " for character in name or fn.__name__)
        call_name = "".join(characters)[:NAME_MAX]

        @wraps(fn)
        async def awaited(*args: Any, **more: Any) -> Any:
            with self._trace_call(call_name):
                return await fn(*args, **more)

        @wraps(fn)
        def plain(*args: Any, **more: Any) -> Any:
            with self._trace_call(call_name):
                return fn(*args, **more)

        return awaited if iscoroutinefunction(fn) else plain

    @contextmanager
    def _trace_call(self, name: str) -> Iterator[None]:
        trace, parent = os.urandom(8).hex(), running.get()
        fields = {"trace_id": trace, "parent_trace_id": parent, "name": name}
        token = running.set(trace)
        self._wire.send({"type": "capability_start", **fields})
        success, error = False, None
        try:
            yield
            success = True
        except Exception as problem:
            error = format_worker_error(problem)
            raise
        finally:
            # Without success and error, it was left before its end.
            running.reset(token)
            self._wire.send({"type": "capability_end", **fields, "success": success, "error": error})


def compile_worker_body(code: str, file: str) -> CodeType:
    """Compile code as the body of an async function: it may await and return; its last expression is the result."""
    tree = ast.parse(code, file)
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = tree.body[-1]
        tree.body[-1] = ast.copy_location(ast.Return(last.value), last)
    wrapper = ast.parse("async def code():\n    pass", file)
    function = wrapper.body[0]
    if isinstance(function, ast.AsyncFunctionDef) and tree.body:
        function.body = tree.body
    whole = compile(ast.fix_missing_locations(wrapper), file, "exec")
    return next(const for const in whole.co_consts if isinstance(const, CodeType))


async def run_worker_body(code: CodeType, names: dict[str, Any]) -> Any:
    """Run a body with these global names."""
    return await FunctionType(code, {"__name__": "__main__", "__builtins__": __builtins__, **names})()


def format_worker_error(problem: BaseException) -> str:
    """Return an error in one line."""
    return f"{type(problem).__name__}: {problem}"[:ERROR_MAX]


async def run_worker_task(wire: Wire, task: WorkerMessage) -> WorkerMessage:
    """Run a task; return its last message."""
    wire.listen()
    names: dict[str, Any] = {"context": task["context"], "ToolError": ToolError}
    names["tools"] = names["mcp"] = make_worker_tools(wire)
    try:
        capabilities = Capabilities(wire, task["capabilities"], names)
        names["capabilities"] = ToolNames(capabilities.find_capability)
        # custody.sdk looks for this name, if the code imports its own decorator from there.
        names["capability"] = globals()["worker_capability"] = capabilities.decorate_capability
        result = await run_worker_body(compile_worker_body(task["code"], task["file"]), names)
        json.dumps(result, allow_nan=False)  # a result that is not JSON is an error of this code
    except Exception as problem:  # noqa: BLE001 - any error of the code is reported
        return {
            "type": "result",
            "success": False,
            "error": format_worker_error(problem),
            "trace": traceback.format_exc()[-ERROR_MAX:],
        }
    return {"type": "result", "success": True, "result": result}


def main() -> None:
    """Read the task from the first pipe named on the command line, and run it."""
    import resource  # only POSIX has it, and only a worker needs it

    incoming, outgoing, memory = map(int, sys.argv[1:4])
    os.set_inheritable(incoming, False)
    os.set_inheritable(outgoing, False)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    wire = Wire(incoming, outgoing)
    sys.argv = [sys.argv[0]]
    last = asyncio.run(run_worker_task(wire, wire.read_task()))
    if (sdk := sys.modules.get("custody.sdk")) is not None:
        sdk.shutdown()  # exports what else the code traced; os._exit runs no handlers
    sys.stdout.flush()
    sys.stderr.flush()
    wire.send(last)
    os._exit(0)


if __name__ == "__main__":
    main()
