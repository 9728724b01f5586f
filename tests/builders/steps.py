"""The work of a query in SQLite: steps of its virtual machine."""

import sqlite3
from collections.abc import Callable

import pytest

EVERY = 100


def steps_of(patch: pytest.MonkeyPatch, question: Callable[[], object]) -> int:
    """Count the steps of a query, approximately, over all connections that it opens."""
    counted = 0
    connect = sqlite3.connect

    def tick() -> int:
        nonlocal counted
        counted += EVERY
        return 0

    def counting(*given: object, **more: object) -> sqlite3.Connection:
        made: sqlite3.Connection = connect(*given, **more)  # type: ignore[call-overload]
        made.set_progress_handler(tick, EVERY)
        return made

    with patch.context() as patched:
        patched.setattr("custody.store.sqlite.sqlite3.connect", counting)
        question()
    return counted
