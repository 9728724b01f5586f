"""Decorated functions of every kind: the same results, the same exceptions, the same signature, one span per call."""

import asyncio
import functools
import inspect
import traceback
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from custody.sdk import capability, span, tool
from tests.unit.sdk.conftest import ExportedSpans


def test_kinds_names_and_servers(exported: ExportedSpans) -> None:
    @capability
    def plan() -> None: ...

    @capability(name="other name", owner="ana")
    def named() -> None: ...

    @tool
    def read() -> None: ...

    @tool(server="filesystem")
    def write() -> None: ...

    @tool("list", server="filesystem")
    def listed() -> None: ...

    for call in (plan, named, read, write, listed):
        call()
    assert [(record.kind, record.server, record.name) for record in exported.spans] == [
        ("capability", None, "plan"),
        ("capability", None, "other name"),
        ("tool", "local", "read"),
        ("tool", "filesystem", "write"),
        ("tool", "filesystem", "list"),
    ]
    assert exported.one("other name").attributes == {"owner": "ana"}


def test_inspect_gives_the_same_answers() -> None:
    def plain(a: int, *, b: str = "x") -> str:
        """Return a text."""
        return b * a

    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    async def async_generator() -> AsyncIterator[int]:
        yield 1

    for fn in (plain, coroutine, generator, async_generator):
        traced: Any = capability(fn)
        for asks in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
            assert asks(traced) == asks(fn)
        assert asyncio.iscoroutinefunction(traced) == asyncio.iscoroutinefunction(fn)
        assert inspect.signature(traced) == inspect.signature(fn)
        assert (traced.__name__, traced.__doc__, traced.__module__) == (fn.__name__, fn.__doc__, fn.__module__)
        assert traced.__wrapped__ is fn


def test_methods_of_every_kind_are_traced(exported: ExportedSpans) -> None:
    class Robot:
        @tool
        def hand(self) -> str:
            return type(self).__name__

        @tool
        @classmethod
        def of_class(cls) -> str:
            return cls.__name__

        @classmethod
        @tool
        def under(cls) -> str:
            return cls.__name__

        @tool
        @staticmethod
        def still() -> str:
            return "still"

    assert (Robot().hand(), Robot.of_class(), Robot.under(), Robot.still()) == ("Robot", "Robot", "Robot", "still")
    assert [record.name for record in exported.spans] == ["hand", "of_class", "under", "still"]


def test_partials_and_objects_that_can_be_called(exported: ExportedSpans) -> None:
    class Doubler:
        async def __call__(self, n: int) -> int:
            return 2 * n

    async def add(a: int, b: int) -> int:
        return a + b

    assert asyncio.run(tool(functools.partial(add, 1))(2)) == 3
    assert asyncio.run(tool(Doubler())(2)) == 4
    assert tool(len)([1]) == 1
    assert [record.name for record in exported.spans] == ["partial", "Doubler", "len"]


def test_an_exception_keeps_its_identity_and_its_traceback(exported: ExportedSpans) -> None:
    @capability
    def fails() -> None:
        raise LookupError("here")

    with pytest.raises(LookupError) as caught:
        fails()
    assert "raise LookupError" in "".join(traceback.format_tb(caught.value.__traceback__))
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert exported.one("fails").status == "error"


def test_a_coroutine_is_a_parent_over_its_awaits(exported: ExportedSpans) -> None:
    @tool
    async def inner(n: int) -> int:
        await asyncio.sleep(0)
        return n

    @capability
    async def outer() -> list[int]:
        return [await inner(1), *await asyncio.gather(inner(2), inner(3))]

    assert asyncio.run(outer()) == [1, 2, 3]
    outer_span = exported.one("outer")
    assert [record.parent for record in exported.spans if record.name == "inner"] == [outer_span.span] * 3


def test_a_cancelled_call_is_abandoned(exported: ExportedSpans) -> None:
    @capability
    async def waits() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.ensure_future(waits())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert exported.one("waits").status == "abandoned"


def test_a_generator_is_the_parent_of_its_own_work_and_not_of_its_users(exported: ExportedSpans) -> None:
    @capability
    def produces() -> Iterator[int]:
        for n in range(2):
            with span(f"makes {n}"):
                pass
            with span(f"holds {n}"):
                yield n
                with span(f"after {n}"):
                    pass

    for n in produces():
        with span(f"uses {n}"):
            pass
    assert exported.parents() == {
        "makes 0": "produces", "uses 0": None, "holds 0": "produces", "after 0": "holds 0",
        "makes 1": "produces", "uses 1": None, "holds 1": "produces", "after 1": "holds 1", "produces": None,
    }  # fmt: skip
    assert exported.one("produces").status == "ok"


def test_a_generator_accepts_and_returns_the_same_values() -> None:
    def talks() -> Any:
        heard = []
        try:
            heard.append((yield 1))
            heard.append((yield 2))
        except ValueError as error:
            heard.append(error)
            yield 3
        return heard

    def conversation(generator: Any) -> list[Any]:
        error = ValueError("x")
        said = [next(generator), generator.send("a"), generator.throw(error)]
        with pytest.raises(StopIteration) as stopped:
            next(generator)
        heard = stopped.value.value
        return [*said, heard[0], type(heard[1])]

    assert conversation(capability(talks)()) == conversation(talks())


def test_a_generator_that_is_left_early_is_closed_and_abandoned(exported: ExportedSpans) -> None:
    closed = []

    @capability
    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    for _ in endless():
        break
    assert closed == [True]
    assert exported.one("endless").status == "abandoned"


def test_a_generator_that_fails_says_so(exported: ExportedSpans) -> None:
    @capability
    def fails() -> Iterator[int]:
        yield 1
        raise LookupError

    with pytest.raises(LookupError):
        list(fails())
    assert exported.one("fails").status == "error"


def test_an_async_generator_is_the_parent_of_what_it_does_and_not_of_what_its_user_does(
    exported: ExportedSpans,
) -> None:
    @capability
    async def produces() -> AsyncIterator[int]:
        for n in range(2):
            with span(f"holds {n}"):
                await asyncio.sleep(0)
                yield n
                with span(f"after {n}"):
                    pass

    async def main() -> None:
        async for n in produces():
            with span(f"uses {n}"):
                await asyncio.sleep(0)

    asyncio.run(main())
    assert exported.parents() == {
        "uses 0": None, "holds 0": "produces", "after 0": "holds 0",
        "uses 1": None, "holds 1": "produces", "after 1": "holds 1", "produces": None,
    }  # fmt: skip


def test_an_async_generator_takes_and_gives_what_it_did(exported: ExportedSpans) -> None:
    async def talks() -> Any:
        try:
            heard = yield 1
            yield heard
        except ValueError:
            yield "caught"

    async def conversation(generator: Any) -> list[Any]:
        said = [await anext(generator), await generator.asend("a"), await generator.athrow(ValueError("x"))]
        with pytest.raises(StopAsyncIteration):
            await anext(generator)
        return said

    assert asyncio.run(conversation(capability(talks)())) == asyncio.run(conversation(talks()))
    assert exported.one("talks").status == "ok"


def test_an_async_generator_that_is_closed_early_runs_its_finally_and_is_abandoned(exported: ExportedSpans) -> None:
    closed = []

    @capability
    async def endless() -> Any:
        try:
            while True:
                yield 1
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    async def main() -> None:
        generator = endless()
        await anext(generator)
        await generator.aclose()

    asyncio.run(main())
    assert closed == [True]
    assert exported.one("endless").status == "abandoned"


def test_steps_of_an_async_generator_may_be_taken_by_different_tasks(exported: ExportedSpans) -> None:
    @capability
    async def produces() -> Any:
        for n in range(3):
            with span(f"step {n}"):
                yield n

    async def main() -> None:
        generator = produces()
        for _ in range(4):
            await asyncio.ensure_future(anext(generator, None))

    asyncio.run(main())
    assert {name: parent for name, parent in exported.parents().items() if name != "produces"} == {
        f"step {n}": "produces" for n in range(3)
    }
