"""The cache of pages: one computation at a time per key, and keys do not wait for each other."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from custody.core.errors import InputError
from custody.server.page_data.cache import StateCache

WAIT = 30.0


def slowly(begun: Event, go_on: Event) -> Callable[[], int]:
    def make() -> int:
        begun.set()
        assert go_on.wait(WAIT)
        return 1

    return make


def test_a_slow_answer_of_one_project_blocks_no_other() -> None:
    cache, begun, go_on = StateCache[int](), Event(), Event()
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(cache.get, ("slow",), 0, 0, slowly(begun, go_on))
        try:
            assert begun.wait(WAIT)
            assert cache.get(("quick",), 0, 0, lambda: 2) == 2
            assert not slow.done()
        finally:
            go_on.set()
        assert slow.result(WAIT) == 1
    assert cache.get(("slow",), 0, 0, lambda: 3) == 1


def test_concurrent_requests_share_one_answer() -> None:
    cache, begun, go_on = StateCache[int](), Event(), Event()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(cache.get, ("here",), 0, 0, slowly(begun, go_on))
        assert begun.wait(WAIT)
        second = pool.submit(cache.get, ("here",), 0, 0, lambda: 2)
        go_on.set()
        assert (first.result(WAIT), second.result(WAIT)) == (1, 1)


def test_the_cache_has_a_maximum_size() -> None:
    cache = StateCache[int](most=2)
    for n in range(10):
        cache.get((str(n),), 0, 0, lambda: 1)
    assert cache.get(("9",), 0, 0, lambda: 2) == 1
    assert cache.get(("0",), 0, 0, lambda: 2) == 2
    assert cache._turns._turns == {}


def test_a_failed_answer_is_computed_again() -> None:
    def fails() -> int:
        raise InputError("not now")

    cache = StateCache[int]()
    with pytest.raises(InputError, match="not now"):
        cache.get(("here",), 0, 0, fails)
    assert cache.get(("here",), 0, 0, lambda: 2) == 2
