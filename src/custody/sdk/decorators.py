"""``@capability`` and ``@tool``: a span around every call of a function of any kind."""

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Token, copy_context
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar, cast, overload

from custody.sdk.spans import Span, SpanIds, running

# The kind of a function, without the cost of importing ``inspect``.


_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
"""Flags of a code object, as documented for the interpreter."""


def is_coroutine_function(fn: Callable[..., Any]) -> bool:
    """Return whether calling it returns a coroutine."""
    return bool(_read_function_flags(fn) & _COROUTINE)


def is_generator_function(fn: Callable[..., Any]) -> bool:
    """Return whether calling it returns a generator."""
    return bool(_read_function_flags(fn) & _GENERATOR)


def is_async_generator_function(fn: Callable[..., Any]) -> bool:
    """Return whether calling it returns an asynchronous generator."""
    return bool(_read_function_flags(fn) & _ASYNC_GENERATOR)


def _read_function_flags(fn: Any) -> int:
    while isinstance(fn, partial):
        fn = fn.func
    fn = getattr(fn, "__func__", fn)
    code = getattr(fn, "__code__", None) or getattr(vars(type(fn)).get("__call__"), "__code__", None)
    return getattr(code, "co_flags", 0)


# Carrying the running span into code that another thread runs.


P = ParamSpec("P")
T = TypeVar("T")


def bind(fn: Callable[P, T]) -> Callable[P, T]:
    """Return ``fn`` so that every call runs inside the current span, in any thread and concurrently."""
    if is_coroutine_function(fn):
        return cast(Callable[P, T], _bind_coroutine_span(fn))
    context = copy_context()

    @wraps(fn)
    def bound(*args: P.args, **kwargs: P.kwargs) -> T:
        # A context can be entered only once at a time, so each call gets a copy.
        return context.copy().run(fn, *args, **kwargs)

    return bound


def _bind_coroutine_span(fn: Callable[..., Any]) -> Callable[..., Any]:
    outer = running.get()

    @wraps(fn)
    async def bound(*args: Any, **kwargs: Any) -> Any:
        token = running.set(outer)
        try:
            return await fn(*args, **kwargs)
        finally:
            running.reset(token)

    return bound


# A thread pool whose tasks run inside the span in which they were submitted.


class ContextExecutor(ThreadPoolExecutor):
    """``ThreadPoolExecutor`` that carries the caller's context variables; a plain one loses the running span."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call ``fn`` in the current context."""
        return super().submit(copy_context().run, fn, *args, **kwargs)  # type: ignore[arg-type]


# Generators step by step: their span runs while they do, and not while their caller does.


class _SteppedSpan:
    """A span that is the current span between two yields."""

    def __init__(self, span: Span) -> None:
        self._span = span.begin()
        self._inside: SpanIds | None = span.pair

    def _pause(self, token: Token[SpanIds | None]) -> None:
        self._inside = running.get()
        try:
            running.reset(token)
        except (ValueError, RuntimeError):
            pass  # the step ended in another context than it started in: nothing to restore in this one

    def _end_span(self, kind: type[BaseException], finished: type[Exception]) -> None:
        self._span.end(None if kind is finished else kind)


class GeneratorSteps(_SteppedSpan):
    """A generator for ``yield from``."""

    def __init__(self, inner: Generator[Any, Any, Any], span: Span) -> None:
        super().__init__(span)
        self._inner = inner

    def __iter__(self) -> "GeneratorSteps":
        return self

    def __next__(self) -> Any:
        return self._step(self._inner.__next__)

    def send(self, value: Any) -> Any:
        """Continue with a value."""
        return self._step(self._inner.send, value)

    def throw(self, *error: Any) -> Any:
        """Continue with an exception."""
        return self._step(self._inner.throw, *error)

    def close(self) -> None:
        """End it early."""
        self._step(self._inner.close)
        self._span.end(GeneratorExit)

    def _step(self, call: Callable[..., Any], *values: Any) -> Any:
        token = running.set(self._inside)
        try:
            return call(*values)
        except BaseException as error:
            self._end_span(type(error), StopIteration)
            raise
        finally:
            self._pause(token)


class AsyncSteps(_SteppedSpan):
    """An asynchronous generator whose every step runs inside its span."""

    def __init__(self, inner: AsyncGenerator[Any, Any], span: Span) -> None:
        super().__init__(span)
        self._inner = inner

    async def asend(self, value: Any) -> Any:
        """Continue with a value."""
        return await self._step(self._inner.asend(value))

    async def athrow(self, error: BaseException) -> Any:
        """Continue with an exception."""
        return await self._step(self._inner.athrow(error))

    async def aclose(self) -> None:
        """End it early."""
        await self._step(self._inner.aclose())
        self._span.end(GeneratorExit)

    async def _step(self, step: Awaitable[Any]) -> Any:
        token = running.set(self._inside)
        try:
            return await step
        except BaseException as error:
            self._end_span(type(error), StopAsyncIteration)
            raise
        finally:
            self._pause(token)


F = TypeVar("F", bound=Callable[..., Any])

LOCAL = "local"
"""The server of a tool that is a function of this program."""
IN_WORKER = "worker_capability"
"""The name of the decorator that a worker of the bridge defines: its capabilities are the parents of its tools."""

SpanOpener = Callable[[], Span]


@overload
def capability(fn: F, /) -> F: ...
@overload
def capability(fn: str | None = None, /, *, name: str | None = None, **attributes: Any) -> Callable[[F], F]: ...
def capability(fn: Any = None, /, *, name: str | None = None, **attributes: Any) -> Any:
    """Trace every call as a capability: ``@capability`` or ``@capability("plan", owner="ana")``."""
    return _decorate_traced_function(fn, name, "capability", None, attributes)


@overload
def tool(fn: F, /) -> F: ...
@overload
def tool(
    fn: str | None = None, /, *, name: str | None = None, server: str = LOCAL, **attributes: Any
) -> Callable[[F], F]: ...
def tool(fn: Any = None, /, *, name: str | None = None, server: str = LOCAL, **attributes: Any) -> Any:
    """Trace every call as a tool of ``server``: ``@tool`` or ``@tool("read", server="filesystem")``."""
    return _decorate_traced_function(fn, name, "tool", server, attributes)


def _decorate_traced_function(
    fn: Any, name: str | None, kind: str, server: str | None, attributes: dict[str, Any]
) -> Any:
    def decorate(fn: Any) -> Any:
        if isinstance(fn, classmethod | staticmethod):
            return type(fn)(decorate(fn.__func__))
        span_name = name or getattr(fn, "__name__", None) or type(fn).__name__
        in_worker = getattr(sys.modules.get("__main__"), IN_WORKER, None) if kind == "capability" else None
        if in_worker is not None and not (is_generator_function(fn) or is_async_generator_function(fn)):
            return in_worker(fn, name=span_name)

        def open_span() -> Span:
            return Span(span_name, kind, server, **attributes)

        return _trace_function(fn, open_span)

    if isinstance(fn, str):
        name, fn = fn, None
    return decorate if fn is None else decorate(fn)


def _trace_function(fn: Callable[..., Any], open_span: SpanOpener) -> Callable[..., Any]:
    if is_async_generator_function(fn):
        return _trace_async_generator(fn, open_span)
    if is_coroutine_function(fn):
        return _trace_coroutine(fn, open_span)
    if is_generator_function(fn):
        return _trace_generator(fn, open_span)
    return _trace_plain_function(fn, open_span)


def _trace_plain_function(fn: Callable[..., Any], open_span: SpanOpener) -> Callable[..., Any]:
    @wraps(fn)
    def traced(*args: Any, **kwargs: Any) -> Any:
        with open_span():
            return fn(*args, **kwargs)

    return traced


def _trace_coroutine(fn: Callable[..., Any], open_span: SpanOpener) -> Callable[..., Any]:
    @wraps(fn)
    async def traced(*args: Any, **kwargs: Any) -> Any:
        with open_span():
            return await fn(*args, **kwargs)

    return traced


def _trace_generator(fn: Callable[..., Any], open_span: SpanOpener) -> Callable[..., Any]:
    @wraps(fn)
    def traced(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from GeneratorSteps(fn(*args, **kwargs), open_span()))

    return traced


def _trace_async_generator(fn: Callable[..., Any], open_span: SpanOpener) -> Callable[..., Any]:
    @wraps(fn)
    async def traced(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        steps = AsyncSteps(fn(*args, **kwargs), open_span())
        sent: Any = None
        thrown: BaseException | None = None
        while True:
            try:
                item = await (steps.asend(sent) if thrown is None else steps.athrow(thrown))
            except StopAsyncIteration:
                return
            sent, thrown = None, None
            try:
                sent = yield item
            except GeneratorExit:
                await steps.aclose()
                raise
            except BaseException as error:  # noqa: BLE001 - the inner generator handles it
                thrown = error

    return traced
