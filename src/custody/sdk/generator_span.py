"""Generators step by step: their span runs while they do, and not while whoever asked them does."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextvars import Token
from typing import Any

from custody.sdk.spans import Span, SpanIds, running


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
