"""Tracked files and the hooks path, read without running anything."""

from pathlib import Path

import pytest

from custody.core.errors import GitError
from custody.core.paths import RepoPath
from custody.git import discover_repository
from custody.git.work_tree_settings import parse_path_setting, parse_tracked_paths
from tests.builders.repo import a_repository, a_worktree


def of(*paths: str) -> frozenset[RepoPath]:
    return frozenset(RepoPath.of(path) for path in paths)


def test_files_in_the_index_are_tracked(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "r")
    built.commit({b".cursor/hooks.json": b"{}", b"a b/\xff": b"x", b"*": b"star"})
    built.checkout()
    for name in ("staged", "untracked"):
        (built.path / name).write_text("x")
    built.git("add", "staged")
    repository = discover_repository(built.path)
    assert repository.list_tracked_files(of(".cursor", "staged", "untracked", "nowhere")) == of(
        ".cursor/hooks.json", "staged"
    )
    assert repository.list_tracked_files([RepoPath(b"a b")]) == {RepoPath(b"a b/\xff")}
    assert repository.list_tracked_files(of("*")) == of("*"), "a path is a name, not a pattern"
    assert repository.list_tracked_files([]) == frozenset()


def test_each_work_tree_has_its_own_index(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "r")
    built.commit({b"x": b"1"})
    built.checkout()
    other = a_worktree(built, tmp_path / "other")
    (other.path / "only-there").write_text("x")
    other.git("add", "only-there")
    assert discover_repository(other.path).list_tracked_files(of("x", "only-there")) == of("x", "only-there")
    assert discover_repository(built.path).list_tracked_files(of("x", "only-there")) == of("x")


def test_a_submodule_has_its_own_index(tmp_path: Path) -> None:
    inner = a_repository(tmp_path / "inner")
    inner.commit({b"x": b"1"})
    outer = a_repository(tmp_path / "outer")
    outer.commit({b"y": b"1"})
    outer.checkout()
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub")
    assert discover_repository(outer.path / "sub").list_tracked_files(of("x", "y")) == of("x")


@pytest.mark.parametrize("value", [".husky/_", "/somewhere/else", "~/hooks"])
def test_the_hooks_path_is_the_users_not_ours(tmp_path: Path, value: str) -> None:
    built = a_repository(tmp_path / "r")
    assert discover_repository(built.path).hooks_path() is None
    built.git("config", "core.hooksPath", value)
    assert discover_repository(built.path).hooks_path() == Path(value).expanduser()


def test_the_work_trees_own_setting_wins(tmp_path: Path) -> None:
    built = a_repository(tmp_path / "r")
    built.commit({b"x": b"1"})
    built.git("config", "extensions.worktreeConfig", "true")
    built.git("config", "core.hooksPath", "shared")
    other = a_worktree(built, tmp_path / "other")
    other.git("config", "--worktree", "core.hooksPath", "own")
    assert discover_repository(other.path).hooks_path() == Path("own")
    assert discover_repository(built.path).hooks_path() == Path("shared")


def test_hand_written_answers() -> None:
    assert parse_tracked_paths(b"") == frozenset()
    assert parse_tracked_paths(b"a\0b\nc\0") == of("a", "b\nc")
    assert parse_path_setting(b"") is None
    assert parse_path_setting(b"command\0/dev/null\0") is None
    assert parse_path_setting(b"global\0one\0local\0two\nlines\0command\0/dev/null\0") == Path("two\nlines")
    for rubbish in (b"local", b"local\0", b"local\0x\0more"):
        with pytest.raises(GitError):
            parse_path_setting(rubbish)
