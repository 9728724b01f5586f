"""What kind of function this is, without the cost of importing ``inspect``."""

from collections.abc import Callable
from functools import partial
from typing import Any

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
