"""Carry the running span into code that another thread runs."""

from collections.abc import Callable
from contextvars import copy_context
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from custody.sdk.calls import is_coroutine_function
from custody.sdk.spans import running

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
