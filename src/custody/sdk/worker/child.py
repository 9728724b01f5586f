"""What runs in the worker: code, the capabilities that it may call, and a way to ask for tools.

Started as a file by ``process.py``; standard library only, nothing of ours, so that the worker has nothing else loaded.
Messages are JSON, one on each line. The running capability is a context variable, not a stack: two capabilities that
run at the same time each are the parent of their own calls.
"""

import ast
import asyncio
import json
import os
import resource
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
    """A tool or a capability said no, or could not be asked."""


class Wire:
    """The two pipes, and who waits for which answer."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._in = os.fdopen(incoming, "rb")
        self._out = os.fdopen(outgoing, "wb", buffering=0)
        self._sending = threading.Lock()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def first(self) -> WorkerMessage:
        """The task."""
        message: WorkerMessage = json.loads(self._in.readline())
        return message

    def listen(self) -> None:
        """Hear answers from now on, in a thread: code that never awaits must not keep us from hearing the end."""
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._hear, daemon=True).start()

    def send(self, message: WorkerMessage) -> None:
        """Say something."""
        data = json.dumps(message, allow_nan=False).encode() + b"\n"
        with self._sending:
            view = memoryview(data)
            while view:
                view = view[self._out.write(view) :]

    async def ask(self, message: WorkerMessage) -> Any:
        """Say something and wait for its answer."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        number = id(future)
        self._waiting[number] = future
        try:
            self.send({**message, "id": number})
            return await future
        finally:
            del self._waiting[number]

    def _hear(self) -> None:
        for line in self._in:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._answered, json.loads(line))
        os._exit(1)  # whoever started us is gone

    def _answered(self, message: WorkerMessage) -> None:
        future = self._waiting.get(message["id"])
        if future is None or future.done():
            return  # nobody waits for it any more
        if message["success"]:
            future.set_result(message["result"])
        else:
            future.set_exception(ToolError(message["error"]))


class ToolNames:
    """``tools.server.tool(...)``: names by attribute or by index, made when they are used."""

    def __init__(self, found: Callable[[str], Any]) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._found(name)

    def __getitem__(self, name: str) -> Any:
        return self._found(name)


def tools_over(wire: Wire) -> ToolNames:
    """Every server and its tools; whether they exist, the other side knows."""

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
    """The capabilities of a task: code that runs here, each call told when it begins and when it ends."""

    def __init__(self, wire: Wire, codes: dict[str, str], names: dict[str, Any]) -> None:
        self._wire = wire
        self._codes = {name: body_of(code, f"<capability {name}>") for name, code in codes.items()}
        self._names = names

    def named(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        """The one of that name."""
        if name not in self._codes:
            raise ToolError(f"there is no capability '{name}'")

        async def call(arguments: Any = None, **more: Any) -> Any:
            args = {**(arguments or {}), **more} if more or arguments is None else arguments
            return await self._call(name, args)

        return call

    async def _call(self, name: str, args: Any) -> Any:
        with self._trace_call(name):
            return await run(self._codes[name], {**self._names, "args": args})

    def defined(self, fn: Any = None, /, *, name: str | None = None) -> Any:
        """``@capability`` before a function of the code: its calls are told like those of a named capability."""
        if fn is None or isinstance(fn, str):
            return partial(self.defined, name=name or fn)
        signs = (sign if sign.isprintable() else " " for sign in name or fn.__name__)
        called = "".join(signs)[:NAME_MAX]

        @wraps(fn)
        async def awaited(*args: Any, **more: Any) -> Any:
            with self._trace_call(called):
                return await fn(*args, **more)

        @wraps(fn)
        def plain(*args: Any, **more: Any) -> Any:
            with self._trace_call(called):
                return fn(*args, **more)

        return awaited if iscoroutinefunction(fn) else plain

    @contextmanager
    def _trace_call(self, name: str) -> Iterator[None]:
        trace, parent = os.urandom(8).hex(), running.get()
        said = {"trace_id": trace, "parent_trace_id": parent, "name": name}
        token = running.set(trace)
        self._wire.send({"type": "capability_start", **said})
        success, error = False, None
        try:
            yield
            success = True
        except Exception as problem:
            error = short(problem)
            raise
        finally:
            # Neither: it was left before its end.
            running.reset(token)
            self._wire.send({"type": "capability_end", **said, "success": success, "error": error})


def body_of(code: str, file: str) -> CodeType:
    """Code as the body of an asynchronous function: it may await and return; a last expression is what it gives."""
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


async def run(code: CodeType, names: dict[str, Any]) -> Any:
    """Run a body with these names around it."""
    return await FunctionType(code, {"__name__": "__main__", "__builtins__": __builtins__, **names})()


def short(problem: BaseException) -> str:
    """A problem in one line."""
    return f"{type(problem).__name__}: {problem}"[:ERROR_MAX]


async def work(wire: Wire, task: WorkerMessage) -> WorkerMessage:
    """Do a task and give its last message."""
    wire.listen()
    names: dict[str, Any] = {"context": task["context"], "ToolError": ToolError}
    names["tools"] = names["mcp"] = tools_over(wire)
    try:
        capabilities = Capabilities(wire, task["capabilities"], names)
        names["capabilities"] = ToolNames(capabilities.named)
        # Under this name custody.sdk finds it, should the code import its own decorator from there.
        names["capability"] = globals()["worker_capability"] = capabilities.defined
        result = await run(body_of(task["code"], task["file"]), names)
        json.dumps(result, allow_nan=False)  # what is no JSON is this code's mistake, and shall be said to be
    except Exception as problem:  # noqa: BLE001 - whatever the code did, it is told
        return {
            "type": "result",
            "success": False,
            "error": short(problem),
            "trace": traceback.format_exc()[-ERROR_MAX:],
        }
    return {"type": "result", "success": True, "result": result}


def main() -> None:
    """Take the task from the first pipe named on the command line, and do it."""
    incoming, outgoing, memory = map(int, sys.argv[1:4])
    os.set_inheritable(incoming, False)
    os.set_inheritable(outgoing, False)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    wire = Wire(incoming, outgoing)
    sys.argv = [sys.argv[0]]
    last = asyncio.run(work(wire, wire.first()))
    if (sdk := sys.modules.get("custody.sdk")) is not None:
        sdk.shutdown()  # what else the code traced; nothing else is called when we leave
    sys.stdout.flush()
    sys.stderr.flush()
    wire.send(last)
    os._exit(0)


if __name__ == "__main__":
    main()
