"""Calls for data of another project of the service: they show neither the data nor its existence."""

from pathlib import Path

import pytest

from bench import tenants
from bench.tenants_looks import LOOKS
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder

CALLS = 300
"""Calls in the suite; ``python -m bench tenants`` makes 10,000."""
WRITING = ("erasure", "the same", "another", "write")


def test_no_call_crosses_the_border(fresh_postgres: str, tmp_path: Path) -> None:
    done = tenants.crossed(Workspace(a_git_folder(tmp_path), fresh_postgres), CALLS, seed=5)

    assert done.leaks == []
    assert done.calls == CALLS
    assert {name for name, _ in done.statuses} == set(LOOKS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path)


ELSEWHERE = {
    "record by event",  # a record is read by its receipt's name
    "record by key",
    "record by digest",
    "changes behind a cursor",  # no change is indexed
    "origins of a file",  # none were pushed
    "duplicates of a change",  # these need the project's repository
    "why a line",
    "audit by a session",
}
"""Requests that find nothing even with the right token."""


def test_with_the_right_token_the_same_calls_find_it(folder: Path) -> None:
    read = {name: look for name, look in LOOKS.items() if not name.startswith(WRITING)}
    with tenants.two_projects(Workspace(folder), seed=5) as (_, theirs, things):
        found = {name: theirs.ask(look(things[1])) for name, look in read.items()}

    assert {name for name, (status, _) in found.items() if status != 200} == ELSEWHERE
    told = {name for name, (_, text) in found.items() if theirs.marker in text}
    assert told >= {"record by record", "conversation", "session", "chain with texts", "source", "blame"}


def test_a_store_that_leaks_is_noticed(folder: Path) -> None:
    with tenants.two_projects(Workspace(folder), seed=5) as (mine, theirs, things):
        done = tenants.Crossed()
        open_door = tenants.Project(mine.name, mine.marker, mine.client, theirs.secret)
        for name in ("record by record", "chain with texts", "a project's list"):
            look = LOOKS[name]
            asks = look(things[0]), look(tenants.made_up(things[0]))
            tenants.compared(open_door, theirs, name, asks, things[0], done)

    assert any("a text" in leak for leak in done.leaks)
    assert any("a chain" in leak for leak in done.leaks)
    assert any("of nothing 404" in leak for leak in done.leaks)
