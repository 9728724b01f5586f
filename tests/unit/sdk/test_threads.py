"""Thousands of nested calls at once: every parent right, over tasks and over threads."""

import asyncio
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import sleep

from custody.sdk import ContextExecutor, bind, capability, span, tool
from custody.sdk.spans import LATE_MAX, LATE_THREADS_MAX, _late, running
from tests.unit.sdk.conftest import Kept

CALLS = 10_000
WIDTH = 50


def check(kept: Kept, roots: int, under_each: int) -> None:
    """Every tool's name begins with that of its capability, whose name begins with that of its root."""
    spans = kept.spans
    assert len(spans) == roots * (1 + 2 * under_each)
    by_id = {one.span: one for one in spans}
    assert len(by_id) == len(spans), "ids are unique"
    for one in spans:
        above, _, _ = one.name.rpartition("/")
        assert (by_id[one.parent].name if one.parent else "") == above
        assert one.parent is None or by_id[one.parent].execution == one.execution


def test_ten_thousand_calls_in_tasks(kept: Kept) -> None:
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
    check(kept, CALLS // WIDTH, WIDTH)


def test_ten_thousand_calls_in_threads(kept: Kept) -> None:
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
    check(kept, CALLS // WIDTH, WIDTH)


def test_a_plain_pool_loses_the_parent_and_bind_keeps_it(kept: Kept) -> None:
    def work(name: str) -> None:
        with span(name):
            pass

    with ThreadPoolExecutor(1) as pool, span("root"):
        pool.submit(work, "plain").result()
        pool.submit(bind(work), "bound").result()
        list(pool.map(bind(work), ["one", "two"]))
    assert kept.parents() == {"plain": None, "bound": "root", "one": "root", "two": "root", "root": None}


def test_map_of_the_executor_carries_too(kept: Kept) -> None:
    def work(name: str) -> str:
        with span(name):
            return name

    with ContextExecutor(2) as pool, span("root"):
        assert list(pool.map(work, ["one", "two"])) == ["one", "two"]
    assert kept.parents() == {"one": "root", "two": "root", "root": None}


def test_what_is_bound_can_run_many_times_at_once(kept: Kept) -> None:
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
    root = kept.one("root")
    assert [one.parent for one in kept.spans if one.name == "work"] == [root.span] * 4


def test_a_bound_coroutine_runs_inside_in_another_loop(kept: Kept) -> None:
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
    assert kept.parents() == {"work": "outer", "outer": None}


def test_spans_left_out_of_turn_in_many_threads_do_no_harm(kept: Kept) -> None:
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
    assert len(kept.spans) == 16 * LATE_MAX
    assert all(len(late) <= LATE_MAX for late in _late.values())
    _late.clear()


def test_spans_left_out_of_turn_are_forgotten_with_the_oldest_threads(kept: Kept) -> None:
    def work() -> None:
        outer, inner = span("outer"), span("inner")
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)
        ended.append(running.get())
        done.wait()  # so that no number of a thread is used twice

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
