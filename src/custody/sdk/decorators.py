"""``@capability`` and ``@tool``: a span around every call of a function, of whatever kind it is."""

import sys
from collections.abc import AsyncIterator, Callable, Generator
from functools import wraps
from typing import Any, TypeVar, overload

from custody.sdk.calls import is_async_generator_function, is_coroutine_function, is_generator_function
from custody.sdk.generator_span import AsyncSteps, GeneratorSteps
from custody.sdk.spans import Span

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
