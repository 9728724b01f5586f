"""Commits with their parents only."""

from pathlib import Path

import pytest

from custody.core.errors import GitError, InputError
from custody.core.ids import CommitSha
from custody.git import discover_repository
from tests.builders.repo import NOON, a_clone, a_repository


def test_children_come_before_parents_with_any_clock(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "here")
    root = built.commit({b"x": b"0\n"}, at=NOON + 500)
    left = built.commit({b"x": b"1\n"}, root, at=NOON)
    right = built.commit({b"x": b"2\n"}, root, at=NOON + 900)
    merge = built.commit({b"x": b"3\n"}, left, right, at=NOON + 100)
    parents = discover_repository(built.path).parents
    whole = dict(parents([merge]))
    assert whole == {merge: (left, right), left: (root,), right: (root,), root: ()}
    assert next(iter(whole)) == merge and list(whole)[-1] == root
    assert list(parents([])) == []
    clone = a_clone(built, tmp_path / "clone", "--depth=1")
    assert list(discover_repository(clone.path).parents([merge])) == [(merge, ())]


def test_an_unknown_commit_is_an_error(tmp_path: Path) -> None:
    repository = discover_repository(a_repository(tmp_path).path)
    with pytest.raises(GitError):
        list(repository.parents([CommitSha("1" * 40)]))
    with pytest.raises(InputError):
        list(repository.parents([CommitSha("--all")]))
