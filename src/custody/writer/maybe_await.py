"""Call what somebody handed over, whether it waits or not; the only file of this package that knows the event loop."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any


async def call_maybe_async(call: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """What ``call`` gives in the end; what it raises comes through as it is."""
    if inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None)):  # noqa: B004 - asked of the method, not whether there is one
        return await call(*values, **named)
    made = await asyncio.to_thread(call, *values, **named)
    return await made if inspect.isawaitable(made) else made
