"""The patch identity: the same diff has the same one wherever it is committed, and any other line changes it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.ids import BlobSha, CommitSha
from custody.core.paths import Hunk, RepoPath
from custody.dupes.app.patch_identity import compute_patch_identity, list_identified_hunks
from custody.git import ChangeKind, Comparison, DiffSide, FileChange, FileDiff, discover_repository
from tests.builders.repo import Built, a_repository

OLD = b"one = first(1)\ntwo = second(2)\n"
NEW = OLD + b"three = third(3)\n"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return a_repository(tmp_path / "repository")


def identity(built: Built, commit: CommitSha) -> str | None:
    with discover_repository(built.path).diffs([Comparison(commit)], renames=True) as diffs:
        return compute_patch_identity(file for diff in diffs for file in diff.files)


def test_message_author_time_and_base_leave_it_the_same(built: Built) -> None:
    first = built.commit({b"a.py": OLD})
    change = built.commit({b"a.py": NEW}, first)
    amended = built.commit({b"a.py": NEW}, first, message=b"v2", author=b"Else <else@example.invalid>")
    moved = built.commit({b"a.py": b"zero = nil(0)\n\n\n" + OLD, b"b.py": b"new\n"}, first)
    rebased = built.commit({b"a.py": b"zero = nil(0)\n\n\n" + NEW, b"b.py": b"new\n"}, moved)
    assert len({change, amended, rebased}) == 3
    assert identity(built, change) == identity(built, amended) == identity(built, rebased) is not None


def test_paths_modes_comments_and_spaces_are_part_of_it(built: Built) -> None:
    first = built.commit({b"a.py": OLD})
    others = (
        built.commit({b"a.py": OLD, b"b.py": OLD}, first),
        built.commit({b"b.py": OLD}, first),
        built.commit({b"a.py": OLD + b"# three = third(3)\n"}, first),
        built.commit({b"a.py": OLD + b"three = third(3) \n"}, first),
        built.commit({b"a.py": OLD + b"three = third(4)\n"}, first),
        built.commit({b"a.py": NEW}, first),
    )
    assert len({identity(built, commit) for commit in others}) == len(others)


def test_a_commit_without_changes_has_none(built: Built) -> None:
    first = built.commit({b"a.py": OLD})
    assert identity(built, built.commit({b"a.py": OLD}, first)) is None


lines = st.lists(st.sampled_from((b"x\n", b"y\n", b"\xff\n")), max_size=3).map(tuple)
hunks = st.builds(Hunk, st.integers(0, 9), st.integers(0, 9), lines, lines)


def a_file(name: str, *hunks: Hunk[bytes]) -> FileDiff:
    side = DiffSide(RepoPath.of(name), 0o100644, BlobSha("1" * 40))
    return FileDiff(FileChange(ChangeKind.MODIFIED, side, side), hunks)


@given(st.dictionaries(st.sampled_from("abc"), hunks, min_size=1))
def test_neither_positions_nor_the_order_of_files_matter(changed: dict[str, Hunk[bytes]]) -> None:
    files = [a_file(name, hunk) for name, hunk in changed.items()]
    moved = [a_file(name, Hunk(0, 0, hunk.removed, hunk.added)) for name, hunk in changed.items()]
    assert compute_patch_identity(files) == compute_patch_identity(moved[::-1])


def an_added_line(first: int, text: bytes) -> Hunk[bytes]:
    return Hunk(first - 1, first, (), (text,))


def test_changes_with_touching_context_are_one_hunk() -> None:
    near, far = (a_file("app.py", an_added_line(10, b"a\n"), an_added_line(at, b"b\n")) for at in (17, 18))
    assert [len(hunk.runs) for hunk in list_identified_hunks(near)] == [2]
    assert [len(hunk.runs) for hunk in list_identified_hunks(far)] == [1, 1]


def test_a_hunk_keeps_its_identity_when_it_moves_and_loses_it_when_its_text_changes() -> None:
    here, moved, other = (
        list_identified_hunks(a_file("app.py", an_added_line(at, text)))[0].id
        for at, text in ((10, b"a\n"), (90, b"a\n"), (10, b"b\n"))
    )
    assert here == moved != other


@given(st.lists(st.tuples(st.integers(1, 12), st.sampled_from([b"a\n", b"b\n"])), max_size=8))
def test_hunks_of_a_file_have_different_identities_and_all_its_runs(gaps: list[tuple[int, bytes]]) -> None:
    first, runs = 0, list[Hunk[bytes]]()
    for gap, text in gaps:
        first += gap
        runs.append(an_added_line(first, text))
    hunks = list_identified_hunks(a_file("app.py", *runs))
    assert len({hunk.id for hunk in hunks}) == len(hunks)
    assert [run for hunk in hunks for run in hunk.runs] == runs
