"""Replayed states and versions, in and out of the database."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from custody.attribution.queries.lineage import (
    KEYS_PER_STATEMENT_MAX,
    VOTERS_MAX,
    LaterStates,
    LineageTables,
    StateAuthor,
    StateRow,
    VersionRow,
)
from custody.core.ids import AgentName, CommitSha, RecordRef, Seq, SessionId, StoreId
from custody.core.paths import RepoPath
from custody.store import Store
from tests.builders.events import an_arrival
from tests.builders.stores import a_sqlite_store

PATH, OTHER = RepoPath(b"src/app.py"), RepoPath(b"caf\xe9\n.py")
COMMIT = CommitSha("c" * 40)
CHAIN = StoreId("5" * 32)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with a_sqlite_store(tmp_path) as opened:
        yield opened


def a_state(id_: int = 1, *, path: RepoPath = PATH, at_ns: int = 10, **fields: Any) -> StateRow:
    ref = RecordRef(CHAIN, Seq(id_))
    author = StateAuthor(
        ref=ref,
        at_ns=at_ns,
        observed=f"robot s1 e{id_}",
        agent=AgentName("robot"),
        session=SessionId("s1"),
        call="c1",
        revision=COMMIT,
        kind="hook",
    )
    usual: dict[str, Any] = {"n": 0, "text": None, "keys": (1, -2, 2**63 - 1, -(2**63)), "origins": b"\0\1"}
    return StateRow(id=id_, path=path, author=author, **{**usual, **fields})


def test_a_state_comes_back_as_it_was(store: Store) -> None:
    state = a_state(7, path=OTHER, text="caf\udce9 = 1\n")
    LineageTables(store).put(state, [1, 2, 1])
    assert LineageTables(store).states([7, 8]) == [state]
    assert LineageTables(store).read_state_author(7) == state.author
    assert LineageTables(store).read_state_author(8) is None
    bare = replace(a_state(9), author=replace(a_state(9).author, session=None, call=None, revision=None))
    LineageTables(store).put(bare, [])
    assert LineageTables(store).states([9]) == [bare]


def test_the_last_state_of_a_file_and_the_last_up_to_a_moment(store: Store) -> None:
    for state in (a_state(1, at_ns=10), a_state(2, at_ns=30), a_state(3, at_ns=20), a_state(4, path=OTHER, at_ns=99)):
        LineageTables(store).put(state, [])
    last = [LineageTables(store).last_of(PATH, until) for until in (None, 30, 29, 10, 9)]
    assert [state and state.id for state in last] == [2, 2, 3, 1, None]
    assert LineageTables(store).last_of(RepoPath(b"nothing")) is None


def test_the_state_with_exactly_these_lines_is_found_the_latest_first(store: Store) -> None:
    for state in (a_state(1, keys=(1, 2)), a_state(2, keys=(1, 2), at_ns=20), a_state(3, keys=(2, 1), at_ns=30)):
        LineageTables(store).put(state, [])
    found = LineageTables(store).same_text(PATH, [1, 2])
    assert found is not None
    assert found.id == 2
    assert LineageTables(store).same_text(PATH, [1]) is None
    assert LineageTables(store).same_text(OTHER, [1, 2]) is None


def test_how_many_there_are_and_since_when(store: Store) -> None:
    tables = LineageTables(store)
    assert (tables.newest(), tables.count(), tables.earliest_ns(), tables.first_traced_ns()) == (0, 0, None, None)
    tables.put(a_state(3, at_ns=30), [])
    tables.put(a_state(5, at_ns=20), [])
    assert (tables.newest(), tables.count(), tables.earliest_ns()) == (5, 2, 20)


def test_states_are_voted_for_by_the_lines_that_they_brought(store: Store) -> None:
    LineageTables(store).put(a_state(1), [11, 12, 12])
    LineageTables(store).put(a_state(2), [12])
    assert LineageTables(store).count_line_votes([11, 12, 13]) == {1: 2, 2: 1}
    assert LineageTables(store).count_line_votes([]) == {}


def test_what_very_many_states_brought_asks_only_the_latest(store: Store) -> None:
    for n in range(1, VOTERS_MAX + 3):
        LineageTables(store).put(a_state(n), [11])
    assert sorted(LineageTables(store).count_line_votes([11])) == list(range(3, VOTERS_MAX + 3))


def test_newer_states_with_one_of_very_many_lines_are_found(store: Store) -> None:
    LineageTables(store).put(a_state(5), [KEYS_PER_STATEMENT_MAX * 2 + 1])
    keys = list(range(1, KEYS_PER_STATEMENT_MAX * 2 + 2))
    assert LineageTables(store).has_newer(keys, 4)
    assert not LineageTables(store).has_newer(keys, 5)
    assert not LineageTables(store).has_newer(keys[:-1], 4)
    assert not LineageTables(store).has_newer([], 0)


def test_later_states_are_read_by_file_and_by_line(store: Store) -> None:
    tables = LineageTables(store)
    tables.put(a_state(4, at_ns=99), [11, 12])
    tables.put(a_state(5, at_ns=10), [11])
    tables.put(a_state(6, path=OTHER, at_ns=20), [13, 11])
    later = tables.read_later_states(4)
    assert later.files == {PATH: [(5, 10)], OTHER: [(6, 20)]}
    assert later.lines == {11: 6, 13: 6}
    assert tables.read_later_states(6) == LaterStates({}, {})


def a_version(commit: CommitSha = COMMIT, **fields: Any) -> VersionRow:
    usual: dict[str, Any] = {
        "blob": "b" * 40,
        "seen": 5,
        "at_ns": 10,
        "commits": 2,
        "keys": (3, -(2**63)),
        "uses": ((COMMIT, OTHER), (CommitSha("d" * 40), PATH)),
        "origins": b"one",
    }
    return VersionRow(commit=commit, **{**usual, **fields})


def test_a_version_is_kept_for_one_commit_path_and_set_of_rules(store: Store) -> None:
    tables = LineageTables(store)
    later = a_version(seen=6, keys=(), uses=(), origins=b"two")
    tables.put_version(PATH, "rules", a_version())
    assert tables.version(PATH, COMMIT, "rules") == a_version()
    tables.put_version(PATH, "rules", later)
    assert tables.version(PATH, COMMIT, "rules") == later
    assert tables.version(PATH, COMMIT, "other rules") is None
    assert tables.version(OTHER, COMMIT, "rules") is None
    assert tables.version(PATH, CommitSha("d" * 40), "rules") is None
    other = a_version(CommitSha("d" * 40))
    tables.put_version(PATH, "rules", other)
    assert tables.versions(PATH, "rules") == {COMMIT: later, other.commit: other}
    assert tables.versions(OTHER, "rules") == {}


def test_the_last_commit_of_a_file_is_kept_also_if_there_is_none(store: Store) -> None:
    tables = LineageTables(store)
    tables.put_touch(PATH, COMMIT, "rules", None)
    assert tables.find_touch(PATH, COMMIT, "rules") == (None,)
    tables.put_touch(PATH, COMMIT, "rules", CommitSha("d" * 40))
    assert tables.find_touch(PATH, COMMIT, "rules") == (CommitSha("d" * 40),)
    assert tables.find_touch(PATH, COMMIT, "other rules") is None
    assert tables.find_touch(OTHER, COMMIT, "rules") is None


def test_forgetting_a_file_forgets_its_states_its_lines_and_every_version(store: Store) -> None:
    tables = LineageTables(store)
    tables.put(a_state(1), [11])
    tables.put(a_state(2, path=OTHER), [11])
    tables.put_version(OTHER, "rules", a_version())
    assert tables.ids(PATH) == {"robot s1 e1": 1}
    tables.forget(PATH)
    assert (tables.count_line_votes([11]), tables.ids(PATH), tables.count()) == ({2: 1}, {}, 1)
    assert tables.version(OTHER, COMMIT, "rules") is None, "it may name deleted states"


def test_forgetting_everything_reads_every_chain_again(store: Store) -> None:
    (record,) = store.append([an_arrival("edit", path="src/app.py")]).made
    tables = LineageTables(store)
    assert tables.unread("v1") == [(record.store, 0, 1)]
    tables.read_until(record.store, 1, "v1")
    assert (tables.unread("v1"), tables.is_of("v1"), tables.is_of("v2")) == ([], True, False)
    assert tables.unread("v2") == [(record.store, 0, 1)], "another version reads from the start"
    tables.put(a_state(1), [11])
    tables.forget_all()
    assert (tables.count(), tables.count_line_votes([11]), tables.unread("v1")) == (0, {}, [(record.store, 0, 1)])


def test_only_the_new_records_of_a_chain_are_unread(store: Store) -> None:
    made = store.append([an_arrival("edit", id="1"), an_arrival("edit", id="2", path="b.py")]).made
    LineageTables(store).read_until(made[0].store, 1, "v1")
    ((chain, after, until),) = LineageTables(store).unread("v1")
    assert (after, until) == (1, 2)
    assert LineageTables(store).touched(chain, after, until) == {RepoPath(b"b.py")}
    assert LineageTables(store).touched(chain, 0, until) == {RepoPath(b"b.py"), PATH}


def test_a_chain_that_lost_its_end_is_read_from_the_start(store: Store) -> None:
    (record,) = store.append([an_arrival("edit")]).made
    LineageTables(store).read_until(record.store, 5, "v1")
    assert LineageTables(store).unread("v1") == [(record.store, 0, 1)]


def test_an_erasure_is_seen_in_its_part_only(store: Store) -> None:
    (record,) = store.append([an_arrival("edit")]).made
    store.erase([record.entry.digest], who="ana", why="a secret")
    assert LineageTables(store).has_erasures(record.store, 0, 2)
    assert LineageTables(store).has_erasures(record.store, 1, 2)
    assert not LineageTables(store).has_erasures(record.store, 0, 1)
    assert not LineageTables(store).has_erasures(record.store, 2, 9)


def test_moments_of_a_file_stand_in_the_order_of_time_then_of_records(store: Store) -> None:
    late, early = "2026-01-31T12:00:01Z", "2026-01-31T12:00:00Z"
    store.append([an_arrival("edit", id=str(n), at=at) for n, at in enumerate((late, early, early))])
    moments = LineageTables(store).snapshots(PATH)
    assert [moment[2].seq for moment in moments] == [2, 3, 1]


def test_files_stand_in_the_order_in_which_they_were_first_captured(store: Store) -> None:
    times = {"b.py": "2026-01-31T12:00:01Z", "a.py": "2026-01-31T12:00:02Z", "c.py": "2026-01-31T12:00:00Z"}
    store.append([an_arrival("edit", id=path, path=path, at=at) for path, at in times.items()])
    store.append([an_arrival("edit", id="again", path="a.py", at="2026-01-31T11:00:00Z")])
    ordered = LineageTables(store).by_first_snapshot([RepoPath.of(path) for path in times])
    assert [path.display for path in ordered] == ["a.py", "c.py", "b.py"]
