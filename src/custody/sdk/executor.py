"""A thread pool whose work runs inside the span in which it was submitted."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class ContextExecutor(ThreadPoolExecutor):
    """``ThreadPoolExecutor`` that carries the caller's context variables; a plain one loses the running span."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have ``fn`` called in the context that is here now."""
        return super().submit(copy_context().run, fn, *args, **kwargs)  # type: ignore[arg-type]
