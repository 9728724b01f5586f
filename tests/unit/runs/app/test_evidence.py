"""Runs and test evidence from recorded events: read from the tables of a store, never from bodies."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from custody.core.ids import SessionId
from custody.core.paths import RepoPath
from custody.runs.app.evidence import list_runs, read_run_history
from custody.runs.model import FileUnderTest, TestState
from custody.runs.rules import ReviewRules
from custody.store import Store
from tests.builders.events import an_arrival
from tests.builders.stores import a_sqlite_store

FILE = FileUnderTest(RepoPath.of("src/app.py"), frozenset((SessionId("s1"),)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with a_sqlite_store(tmp_path) as store:
        yield store


def edit(store: Store, at: int, **fields: Any) -> None:
    store.append([an_arrival("edit", id=f"edit{at}", at=f"2026-01-31T12:00:{at:02}Z", **fields)])


def call(store: Store, at: int, command: str = "pytest", status: str = "ok", **fields: Any) -> None:
    moment = f"2026-01-31T12:00:{at:02}Z"
    store.append(
        [
            an_arrival(
                "call",
                id=f"call{at}",
                at=moment,
                ended_at=f"2026-01-31T12:00:{at + 1:02}Z",
                name="Bash",
                input={"command": command},
                status=status,
                **fields,
            )
        ]
    )


def state(store: Store, file: FileUnderTest = FILE) -> TestState:
    return read_run_history(store, ReviewRules(), [file]).judge(file).state


def test_a_file_is_tested_by_a_run_after_its_last_edit(store: Store) -> None:
    edit(store, 1)
    assert state(store) is TestState.NONE
    call(store, 2)
    assert state(store) is TestState.AFTER_EDIT
    edit(store, 5, session="s2")
    assert state(store) is TestState.STALE
    call(store, 7, status="failed")
    assert state(store) is TestState.FAILED


def test_a_run_of_a_subagent_counts_for_the_session_that_started_it(store: Store) -> None:
    store.append([an_arrival("session"), an_arrival("session", id="2", session="s9", parent="s1")])
    edit(store, 1)
    call(store, 2, session="s9")
    assert state(store) is TestState.AFTER_EDIT


def test_a_run_of_an_unrelated_session_does_not_count(store: Store) -> None:
    edit(store, 1)
    call(store, 2, session="s9")
    assert state(store) is TestState.NONE


def test_the_sessions_that_edited_a_file_are_asked_if_none_is_named(store: Store) -> None:
    edit(store, 1)
    call(store, 2)
    assert state(store, FileUnderTest(FILE.path, frozenset())) is TestState.AFTER_EDIT


def test_an_erased_call_loses_its_command(store: Store) -> None:
    call(store, 2, "pytest -k secret")
    (run,) = list_runs(store, ReviewRules(), (SessionId("s1"),))
    assert run.record is not None
    assert run.duration_ns == 1_000_000_000
    record = store.tables.record(run.record)
    assert record is not None
    store.erase([record.entry.digest], who="ana", why="secret")
    assert list_runs(store, ReviewRules(), (SessionId("s1"),)) == []
    assert store.db.rows("SELECT count(*) FROM command_record") == [(0,)]


def test_runs_are_read_without_payloads(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    call(store, 2)

    def refuse(*_: object) -> None:
        raise AssertionError("a payload was read")

    monkeypatch.setattr(store.tables, "payloads", refuse)
    assert len(list_runs(store, ReviewRules(), (SessionId("s1"),))) == 1


def test_a_pass_that_does_not_count_changes_nothing_and_a_failure_always_counts(store: Store) -> None:
    edit(store, 1)
    call(store, 2)
    history = read_run_history(store, ReviewRules(), [FILE])
    assert history.judge(FILE, lambda _: True).state is TestState.AFTER_EDIT
    assert history.judge(FILE, lambda _: False).state is TestState.NONE
    call(store, 4, status="failed")
    assert read_run_history(store, ReviewRules(), [FILE]).judge(FILE, lambda _: False).state is TestState.FAILED
