"""Answers that are kept for pages: one at a time for a place, and nobody waits for another place."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from custody.core.errors import InputError
from custody.server.page_data import cache as pages_kept
from custody.server.page_data.cache import StateCache

WAIT = 30.0


def slowly(begun: Event, go_on: Event) -> Callable[[], int]:
    def make() -> int:
        begun.set()
        assert go_on.wait(WAIT)
        return 1

    return make


def test_a_slow_count_of_one_project_holds_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_kept, "WAIT_SECONDS_MAX", 0.01)
    kept, begun, go_on = StateCache[int](), Event(), Event()
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(kept.get, ("slow",), 0, 0, slowly(begun, go_on))
        try:
            assert begun.wait(WAIT)
            assert kept.get(("quick",), 0, 0, lambda: 2) == 2
            with pytest.raises(InputError, match="takes long"):
                kept.get(("slow",), 0, 0, lambda: 3)
        finally:
            go_on.set()
        assert slow.result(WAIT) == 1
    assert kept.get(("slow",), 0, 0, lambda: 3) == 1


def test_whoever_comes_second_finds_what_the_first_one_made() -> None:
    kept, begun, go_on = StateCache[int](), Event(), Event()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(kept.get, ("here",), 0, 0, slowly(begun, go_on))
        assert begun.wait(WAIT)
        second = pool.submit(kept.get, ("here",), 0, 0, lambda: 2)
        go_on.set()
        assert (first.result(WAIT), second.result(WAIT)) == (1, 1)


def test_no_more_is_remembered_than_was_agreed_on() -> None:
    kept = StateCache[int](most=2)
    for n in range(10):
        kept.get((str(n),), 0, 0, lambda: 1)
    assert kept.get(("9",), 0, 0, lambda: 2) == 1
    assert kept.get(("0",), 0, 0, lambda: 2) == 2
    assert kept._turns._turns == {}


def test_what_failed_is_made_again() -> None:
    def fails() -> int:
        raise InputError("not now")

    kept = StateCache[int]()
    with pytest.raises(InputError, match="not now"):
        kept.get(("here",), 0, 0, fails)
    assert kept.get(("here",), 0, 0, lambda: 2) == 2
