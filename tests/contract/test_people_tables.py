"""Statements of people are found on every database."""

from custody.attribution.queries.author_claims import list_author_claims
from custody.core.paths import RepoPath
from custody.people.queries import find_author_claims, find_hunk_reads, list_read_ranges
from custody.store import Store
from tests.builders.events import OTHER_SHA, SHA, an_arrival


def test_reads_are_found_by_hunk_and_by_head(store: Store) -> None:
    hunks = ["a" * 64, "b" * 64, "b" * 64 + "-2"]
    store.append([an_arrival("read", id=str(n), hunk=hunk, person=f"p{n}") for n, hunk in enumerate(hunks)])
    store.append([an_arrival("read", id="9", hunk=hunks[0], person="later", head_commit=OTHER_SHA)])
    assert [read.view.person for read in find_hunk_reads(store, [hunks[0]])] == ["p0", "later"]
    assert [read.view.person for read in find_hunk_reads(store, [hunks[2], "c" * 64])] == ["p2"]
    assert find_hunk_reads(store, []) == []
    assert sorted(read.view.head for read in list_read_ranges(store)) == [SHA, OTHER_SHA]


def test_statements_of_authors_are_found_by_path_and_by_time(store: Store) -> None:
    for n, path in enumerate(("a.py", "b.py", "a.py")):
        store.append([an_arrival("author", id=str(n), path=path, person=f"p{n}", at=f"2026-01-31T12:00:0{n}Z")])
    assert [claim.view.person for claim in find_author_claims(store, RepoPath(b"a.py"))] == ["p0", "p2"]
    assert [claim.view.person for claim in list_author_claims(store, 2)] == ["p1", "p2"]
    assert [claim.view.text.content for claim in find_author_claims(store, RepoPath(b"b.py"))] == ["mine = 1\n"]
