"""Patterns that are compiled when they are first used."""

import re
from threading import Barrier, Thread
from typing import Any

import pytest

from custody.core.patterns import lazy_pattern


def test_making_a_pattern_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    real = re.compile

    def note(*of: Any) -> object:
        compiled.append(of)
        return real(*of)

    monkeypatch.setattr(re, "compile", note)
    pattern = lazy_pattern("a+", re.IGNORECASE)
    assert compiled == []
    assert [pattern.fullmatch("AA") is not None for _ in range(3)] == [True] * 3
    assert compiled == [("a+", re.IGNORECASE)]


def test_an_invalid_pattern_fails_at_its_first_use() -> None:
    pattern = lazy_pattern("(")
    with pytest.raises(re.error):
        pattern.match("")


def test_threads_that_are_first_together_all_get_an_answer() -> None:
    pattern, barrier, found = lazy_pattern(rb"[0-9]+"), Barrier(8), []

    def use() -> None:
        barrier.wait()
        found.append(pattern.findall(b"1 22"))

    threads = [Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[b"1", b"22"]] * 8
