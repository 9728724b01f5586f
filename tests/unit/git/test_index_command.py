"""Which files git tracks, and where it looks for hooks, read without running anything."""

from pathlib import Path

import pytest

from custody.core.errors import GitError
from custody.core.paths import RepoPath
from custody.git import discover
from custody.git.work_tree_settings import parse_setting, parse_tracked
from tests.builders.repo import a_repository, a_worktree


def of(*paths: str) -> frozenset[RepoPath]:
    return frozenset(RepoPath.of(path) for path in paths)


def test_what_is_in_the_index_is_tracked_committed_or_not(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "r")
    built.commit({b".cursor/hooks.json": b"{}", b"a b/\xff": b"x", b"*": b"star"})
    built.checkout()
    for name in ("staged", "untracked"):
        (built.path / name).write_text("x")
    built.git("add", "staged")
    repository = discover(built.path)
    assert repository.tracked(of(".cursor", "staged", "untracked", "nowhere")) == of(".cursor/hooks.json", "staged")
    assert repository.tracked([RepoPath(b"a b")]) == {RepoPath(b"a b/\xff")}
    assert repository.tracked(of("*")) == of("*"), "a path is a name, not a pattern"
    assert repository.tracked([]) == frozenset()


def test_each_work_tree_has_its_own_index(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "r")
    built.commit({b"x": b"1"})
    built.checkout()
    other = a_worktree(built, tmp_path / "other")
    (other.path / "only-there").write_text("x")
    other.git("add", "only-there")
    assert discover(other.path).tracked(of("x", "only-there")) == of("x", "only-there")
    assert discover(built.path).tracked(of("x", "only-there")) == of("x")


def test_a_submodule_is_asked_in_its_own_index(tmp_path: Path) -> None:
    inner = a_repository(tmp_path / "inner")
    inner.commit({b"x": b"1"})
    outer = a_repository(tmp_path / "outer")
    outer.commit({b"y": b"1"})
    outer.checkout()
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub")
    assert discover(outer.path / "sub").tracked(of("x", "y")) == of("x")


@pytest.mark.parametrize("value", [".husky/_", "/somewhere/else", "~/hooks"])
def test_the_hooks_path_is_the_users_not_ours(tmp_path: Path, value: str) -> None:
    built = a_repository(tmp_path / "r")
    assert discover(built.path).hooks_path() is None
    built.git("config", "core.hooksPath", value)
    assert discover(built.path).hooks_path() == Path(value).expanduser()


def test_the_work_trees_own_setting_wins(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "r")
    built.commit({b"x": b"1"})
    built.git("config", "extensions.worktreeConfig", "true")
    built.git("config", "core.hooksPath", "shared")
    other = a_worktree(built, tmp_path / "other")
    other.git("config", "--worktree", "core.hooksPath", "own")
    assert discover(other.path).hooks_path() == Path("own")
    assert discover(built.path).hooks_path() == Path("shared")


def test_answers_by_hand() -> None:
    assert parse_tracked(b"") == frozenset()
    assert parse_tracked(b"a\0b\nc\0") == of("a", "b\nc")
    assert parse_setting(b"") is None
    assert parse_setting(b"command\0/dev/null\0") is None
    assert parse_setting(b"global\0one\0local\0two\nlines\0command\0/dev/null\0") == Path("two\nlines")
    for rubbish in (b"local", b"local\0", b"local\0x\0more"):
        with pytest.raises(GitError):
            parse_setting(rubbish)
