"""``@capability`` and ``@tool``: a span around every call of a function, of whatever kind it is."""

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Token, copy_context
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar, cast, overload

from custody.sdk.spans import Span, SpanIds, running

# What kind of function this is, without the cost of importing ``inspect``.


_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
"""Flags of a code object, as the language reference of the interpreter has them."""


def is_coroutine_function(fn: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine."""
    return bool(_flags(fn) & _COROUTINE)


def is_generator_function(fn: Callable[..., Any]) -> bool:
    """Whether calling it gives a generator."""
    return bool(_flags(fn) & _GENERATOR)


def is_async_generator_function(fn: Callable[..., Any]) -> bool:
    """Whether calling it gives an asynchronous generator."""
    return bool(_flags(fn) & _ASYNC_GENERATOR)


def _flags(fn: Any) -> int:
    while isinstance(fn, partial):
        fn = fn.func
    fn = getattr(fn, "__func__", fn)
    code = getattr(fn, "__code__", None) or getattr(vars(type(fn)).get("__call__"), "__code__", None)
    return getattr(code, "co_flags", 0)


# Carry the running span into code that another thread runs.


P = ParamSpec("P")
T = TypeVar("T")


def bind(fn: Callable[P, T]) -> Callable[P, T]:
    """``fn``, to be called anywhere, any number of times at once, inside the span that runs now."""
    if is_coroutine_function(fn):
        return cast(Callable[P, T], _bound_coroutine(fn))
    context = copy_context()

    @wraps(fn)
    def bound(*args: P.args, **kwargs: P.kwargs) -> T:
        # A context can be entered once at a time, so that each call has a copy.
        return context.copy().run(fn, *args, **kwargs)

    return bound


def _bound_coroutine(fn: Callable[..., Any]) -> Callable[..., Any]:
    outer = running.get()

    @wraps(fn)
    async def bound(*args: Any, **kwargs: Any) -> Any:
        token = running.set(outer)
        try:
            return await fn(*args, **kwargs)
        finally:
            running.reset(token)

    return bound


# A thread pool whose work runs inside the span in which it was submitted.


class ContextExecutor(ThreadPoolExecutor):
    """``ThreadPoolExecutor`` that carries the caller's context variables; a plain one loses the running span."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have ``fn`` called in the context that is here now."""
        return super().submit(copy_context().run, fn, *args, **kwargs)  # type: ignore[arg-type]


# Generators step by step: their span runs while they do, and not while whoever asked them does.


class _SteppedSpan:
    """A span that is the running one from one yield to the next."""

    def __init__(self, span: Span) -> None:
        self._span = span.begin()
        self._inside: SpanIds | None = span.pair

    def _pause(self, token: Token[SpanIds | None]) -> None:
        self._inside = running.get()
        try:
            running.reset(token)
        except (ValueError, RuntimeError):
            pass  # the step ended in another context than it began in: there is nothing of ours to take out of this one

    def _left(self, kind: type[BaseException], finished: type[Exception]) -> None:
        self._span.end(None if kind is finished else kind)


class GeneratorSteps(_SteppedSpan):
    """A generator as ``yield from`` takes it."""

    def __init__(self, inner: Generator[Any, Any, Any], span: Span) -> None:
        super().__init__(span)
        self._inner = inner

    def __iter__(self) -> "GeneratorSteps":
        return self

    def __next__(self) -> Any:
        return self._step(self._inner.__next__)

    def send(self, value: Any) -> Any:
        """Go on with a value."""
        return self._step(self._inner.send, value)

    def throw(self, *error: Any) -> Any:
        """Go on with an exception."""
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
            self._left(type(error), StopIteration)
            raise
        finally:
            self._pause(token)


class AsyncSteps(_SteppedSpan):
    """An asynchronous generator whose every step runs inside its span."""

    def __init__(self, inner: AsyncGenerator[Any, Any], span: Span) -> None:
        super().__init__(span)
        self._inner = inner

    async def asend(self, value: Any) -> Any:
        """Go on with a value."""
        return await self._step(self._inner.asend(value))

    async def athrow(self, error: BaseException) -> Any:
        """Go on with an exception."""
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
            self._left(type(error), StopAsyncIteration)
            raise
        finally:
            self._pause(token)


F = TypeVar("F", bound=Callable[..., Any])

LOCAL = "local"
"""The server of a tool that is a function of this program."""
IN_WORKER = "worker_capability"
"""A worker of the bridge has its own decorator under this name: capabilities in it are the parents of its tools."""

SpanOpener = Callable[[], Span]


@overload
def capability(fn: F, /) -> F: ...
@overload
def capability(fn: str | None = None, /, *, name: str | None = None, **attributes: Any) -> Callable[[F], F]: ...
def capability(fn: Any = None, /, *, name: str | None = None, **attributes: Any) -> Any:
    """Trace every call as a capability: ``@capability`` or ``@capability("plan", owner="ana")``."""
    return _decorated(fn, name, "capability", None, attributes)


@overload
def tool(fn: F, /) -> F: ...
@overload
def tool(
    fn: str | None = None, /, *, name: str | None = None, server: str = LOCAL, **attributes: Any
) -> Callable[[F], F]: ...
def tool(fn: Any = None, /, *, name: str | None = None, server: str = LOCAL, **attributes: Any) -> Any:
    """Trace every call as a tool of ``server``: ``@tool`` or ``@tool("read", server="filesystem")``."""
    return _decorated(fn, name, "tool", server, attributes)


def _decorated(fn: Any, name: str | None, kind: str, server: str | None, attributes: dict[str, Any]) -> Any:
    def decorate(fn: Any) -> Any:
        if isinstance(fn, classmethod | staticmethod):
            return type(fn)(decorate(fn.__func__))
        called = name or getattr(fn, "__name__", None) or type(fn).__name__
        told = getattr(sys.modules.get("__main__"), IN_WORKER, None) if kind == "capability" else None
        if told is not None and not (is_generator_function(fn) or is_async_generator_function(fn)):
            return told(fn, name=called)

        def opened() -> Span:
            return Span(called, kind, server, **attributes)

        return _traced(fn, opened)

    if isinstance(fn, str):
        name, fn = fn, None
    return decorate if fn is None else decorate(fn)


def _traced(fn: Callable[..., Any], opened: SpanOpener) -> Callable[..., Any]:
    if is_async_generator_function(fn):
        return _async_generator(fn, opened)
    if is_coroutine_function(fn):
        return _coroutine(fn, opened)
    if is_generator_function(fn):
        return _generator(fn, opened)
    return _plain(fn, opened)


def _plain(fn: Callable[..., Any], opened: SpanOpener) -> Callable[..., Any]:
    @wraps(fn)
    def traced(*args: Any, **kwargs: Any) -> Any:
        with opened():
            return fn(*args, **kwargs)

    return traced


def _coroutine(fn: Callable[..., Any], opened: SpanOpener) -> Callable[..., Any]:
    @wraps(fn)
    async def traced(*args: Any, **kwargs: Any) -> Any:
        with opened():
            return await fn(*args, **kwargs)

    return traced


def _generator(fn: Callable[..., Any], opened: SpanOpener) -> Callable[..., Any]:
    @wraps(fn)
    def traced(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from GeneratorSteps(fn(*args, **kwargs), opened()))

    return traced


def _async_generator(fn: Callable[..., Any], opened: SpanOpener) -> Callable[..., Any]:
    @wraps(fn)
    async def traced(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        steps = AsyncSteps(fn(*args, **kwargs), opened())
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
            except BaseException as error:  # noqa: BLE001 - it is the inner generator's to handle
                thrown = error

    return traced
