"""The work tree as a commit in every kind of repository, with submodules, and with every form of the index."""

import os
import shutil
from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.git import discover_repository
from tests.builders.repo import SUBMODULE, Built, a_clone, a_history, a_repository, a_worktree
from tests.unit.git.work_trees import FILES, files_of, head_tree, put, same, state_of, tree_by_git, tree_of


def test_nested_repositories_are_reported(work: Built, tmp_path: Path) -> None:
    inner = a_repository(work.path / "inner")
    inner.commit({b"x": b"1\n"})
    inner.checkout()
    a_repository(work.path / "folder" / "unborn")
    (work.path / "a").unlink()
    a_repository(work.path / "a")
    tree, out = tree_of(work)
    assert out == dict.fromkeys((b"inner", b"folder/unborn", b"a"), "is a separate repository")
    for folder in ("inner", "folder/unborn", "a"):
        shutil.rmtree(work.path / folder)
    assert tree == tree_by_git(work, tmp_path / "copy")


@pytest.fixture
def outer(tmp_path: Path) -> Built:
    """Return a repository with the submodules ``sub``, checked out, and ``other``, which is not."""
    inner = a_repository(tmp_path / "inner")
    commits = a_history(inner, {b"x": b"1\n"}, {b"x": b"2\n"})
    outer = a_repository(tmp_path / "outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", os.fspath(inner.path), "sub")
    outer.git("update-index", "--add", "--cacheinfo", f"{SUBMODULE},{commits[0]},other")
    outer.git("commit", "--quiet", "--message=x")
    (outer.path / "other").mkdir()
    return outer


def test_a_submodule_is_its_checked_out_commit(outer: Built, tmp_path: Path) -> None:
    assert tree_of(outer) == (head_tree(outer), {})
    Built(outer.path / "sub").git("checkout", "--quiet", "HEAD~1")
    put(outer, "sub/x", b"not committed in there\n")
    same(outer, tmp_path)
    assert tree_of(outer)[0] != head_tree(outer)
    shutil.rmtree(outer.path / "sub")
    same(outer, tmp_path)


def test_an_unreadable_submodule_is_taken_from_the_index_and_reported(outer: Built) -> None:
    (outer.path / "sub" / ".git").write_text("gitdir: /nowhere\n")
    tree, out = tree_of(outer)
    assert tree == head_tree(outer)
    assert list(out) == [b"sub"] and "unreadable HEAD" in out[b"sub"]


@pytest.mark.parametrize("setting", ["index.version=4", "core.splitIndex=true", "core.untrackedCache=true"])
def test_every_form_of_the_index(work: Built, tmp_path: Path, setting: str) -> None:
    work.git("-c", setting, "update-index", "--force-write-index")
    work.git("config", *setting.split("="))
    put(work, "staged", b"x\n")
    work.git("add", "staged")
    work.git("status")
    put(work, "a", b"changed\n")
    same(work, tmp_path)


def test_a_sparse_index(work: Built) -> None:
    work.git("sparse-checkout", "set", "--cone", "--sparse-index", "nowhere")
    assert b"040000" in work.git("ls-files", "--sparse", "--stage")
    put(work, "a", b"changed\n")
    before = state_of(work.path, times=False)
    files = files_of(work)
    assert files[b"a"][1] == b"changed\n" and files[b"folder/deep/c"][1] == b"three\n"
    assert state_of(work.path, times=False) == before


def test_an_unborn_branch_and_an_empty_repository(tmp_path: Path) -> None:
    work = a_repository(tmp_path / "here")
    assert tree_of(work) == ("4b825dc642cb6eb9a060e54bf8d69288fbee4904", {})
    put(work, "staged", b"x\n")
    work.git("add", "staged")
    put(work, "new", b"y\n")
    same(work, tmp_path)
    with discover_repository(work.path).with_work_tree() as made:
        assert next(iter(made.repository.parents([made.commit]))) == (made.commit, ())


def test_a_bare_repository_is_an_input_error(tmp_path: Path) -> None:
    repository = discover_repository(a_repository(tmp_path / "bare", bare=True).path)
    with pytest.raises(InputError, match="no work tree") as caught, repository.with_work_tree():
        pass
    assert caught.value.hint


def test_a_linked_work_tree_has_its_own_files(work: Built, tmp_path: Path) -> None:
    other = a_worktree(work, tmp_path / "other", "main~1")
    put(other, "a", b"there\n")
    put(work, "a", b"here\n")
    other.git("add", "a")
    put(other, "new", b"there\n")
    assert files_of(other) == {b"a": (0o100644, b"there\n"), b"new": (0o100644, b"there\n")}
    assert files_of(work)[b"a"][1] == b"here\n"


def test_shallow_and_partial_clones(work: Built, tmp_path: Path) -> None:
    if work.format == "sha256":
        return
    work.git("config", "uploadpack.allowFilter", "true")
    for place, option in enumerate(("--depth=1", "--filter=blob:none")):
        clone = a_clone(work, tmp_path / str(place), option)
        put(clone, "a", b"changed\n")
        same(clone, tmp_path)


def test_a_path_with_special_characters_of_git(tmp_path: Path) -> None:
    work = a_repository(tmp_path / 'a:b"c\n\udcff')
    a_history(work, FILES)
    work.checkout()
    put(work, "back\\slash", b"x\n")
    put(work, "git~1", b"x\n")
    files = files_of(work)
    assert files[b"a"][1] == b"one\n" and b"back\\slash" in files and b"git~1" in files


def test_a_file_in_place_of_a_skipped_one_is_left_out(work: Built) -> None:
    work.git("update-index", "--skip-worktree", "a", "folder/b", "folder/deep/c")
    (work.path / "a").unlink()
    shutil.rmtree(work.path / "folder")
    put(work, "a/inside", b"x\n")
    put(work, "folder", b"x\n")
    tree, out = tree_of(work)
    assert tree == head_tree(work) and set(out) == {b"a/inside", b"folder"}
