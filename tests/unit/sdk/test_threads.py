"""Thousands of nested concurrent calls: every parent is right, in tasks and in threads."""

import asyncio
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import sleep

from custody.sdk import ContextExecutor, bind, capability, span, tool
from custody.sdk.spans import LATE_MAX, LATE_THREADS_MAX, _late, running
from tests.unit.sdk.conftest import ExportedSpans

CALLS = 10_000
WIDTH = 50


def check(exported: ExportedSpans, roots: int, under_each: int) -> None:
    """Check that every span has the parent that its name says: root, root/capability, root/capability/tool."""
    spans = exported.spans
    assert len(spans) == roots * (1 + 2 * under_each)
    by_id = {record.span: record for record in spans}
    assert len(by_id) == len(spans), "ids are unique"
    for record in spans:
        above, _, _ = record.name.rpartition("/")
        assert (by_id[record.parent].name if record.parent else "") == above
        assert record.parent is None or by_id[record.parent].execution == record.execution


def test_ten_thousand_calls_in_tasks(exported: ExportedSpans) -> None:
    chance = random.Random(7)

    async def leaf(name: str) -> None:
        with span(f"{name}/tool", kind="tool"):
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(0)

    async def branch(name: str) -> None:
        with span(name):
            await asyncio.sleep(0)
            await leaf(name)

    async def root(n: int) -> None:
        with span(f"r{n}"):
            await asyncio.gather(*(branch(f"r{n}/{m}") for m in range(WIDTH)))

    async def main() -> None:
        await asyncio.gather(*(root(n) for n in range(CALLS // WIDTH)))

    asyncio.run(main())
    check(exported, CALLS // WIDTH, WIDTH)


def test_ten_thousand_calls_in_threads(exported: ExportedSpans) -> None:
    def branch(name: str) -> None:
        with span(name), span(f"{name}/tool", kind="tool"):
            pass

    def root(pool: ContextExecutor, n: int) -> None:
        with span(f"r{n}"):
            for done in [pool.submit(branch, f"r{n}/{m}") for m in range(WIDTH)]:
                done.result()

    with ContextExecutor(8) as pool, ThreadPoolExecutor(4) as roots:
        for done in [roots.submit(root, pool, n) for n in range(CALLS // WIDTH)]:
            done.result()
    check(exported, CALLS // WIDTH, WIDTH)


def test_a_plain_pool_loses_the_parent_and_bind_keeps_it(exported: ExportedSpans) -> None:
    def work(name: str) -> None:
        with span(name):
            pass

    with ThreadPoolExecutor(1) as pool, span("root"):
        pool.submit(work, "plain").result()
        pool.submit(bind(work), "bound").result()
        list(pool.map(bind(work), ["one", "two"]))
    assert exported.parents() == {"plain": None, "bound": "root", "one": "root", "two": "root", "root": None}


def test_map_of_the_executor_carries_too(exported: ExportedSpans) -> None:
    def work(name: str) -> str:
        with span(name):
            return name

    with ContextExecutor(2) as pool, span("root"):
        assert list(pool.map(work, ["one", "two"])) == ["one", "two"]
    assert exported.parents() == {"one": "root", "two": "root", "root": None}


def test_a_bound_function_can_run_concurrently(exported: ExportedSpans) -> None:
    together = threading.Barrier(4)

    def work() -> None:
        together.wait()
        with span("work"):
            together.wait()

    with span("root"):
        bound = bind(work)
    threads = [threading.Thread(target=bound) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    root = exported.one("root")
    assert [record.parent for record in exported.spans if record.name == "work"] == [root.span] * 4


def test_a_bound_coroutine_runs_inside_in_another_loop(exported: ExportedSpans) -> None:
    @tool
    async def work(n: int) -> int:
        return n

    results: list[int] = []

    @capability
    def outer() -> None:
        run: Callable[[], None] = lambda: results.append(asyncio.run(bound(3)))  # noqa: E731 - a thread's target
        bound = bind(work)
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()

    outer()
    assert results == [3]
    assert exported.parents() == {"work": "outer", "outer": None}


def test_spans_ended_out_of_order_in_many_threads_do_no_harm(exported: ExportedSpans) -> None:
    def work() -> None:
        for _ in range(2 * LATE_MAX):
            outer, inner = span("outer"), span("inner")
            outer.__enter__()
            inner.__enter__()
            outer.__exit__(None, None, None)
            inner.__exit__(None, None, None)
        ended.append(running.get())

    ended: list[object] = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == [None] * 4
    assert len(exported.spans) == 16 * LATE_MAX
    assert all(len(late) <= LATE_MAX for late in _late.values())
    _late.clear()


def test_spans_ended_out_of_order_are_forgotten_with_the_oldest_threads(exported: ExportedSpans) -> None:
    def work() -> None:
        outer, inner = span("outer"), span("inner")
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)
        ended.append(running.get())
        done.wait()  # so that no thread id is used twice

    ended: list[object] = []
    done = threading.Event()
    threads = [threading.Thread(target=work) for _ in range(LATE_THREADS_MAX + 20)]
    for thread in threads:
        thread.start()
    while len(ended) < len(threads):
        sleep(0.001)
    done.set()
    for thread in threads:
        thread.join()
    assert set(ended) == {None}
    assert len(_late) <= LATE_THREADS_MAX
    _late.clear()
