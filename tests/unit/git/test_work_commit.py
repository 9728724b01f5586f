"""The work tree as a commit: it contains what git would commit."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from custody.core.paths import RepoPath
from custody.git import ChangeKind, Comparison, WorkLimits, discover_repository
from tests.builders.repo import Built
from tests.unit.git.work_trees import FILES, files_of, head_tree, let_settle, put, same, tree_of


def test_a_clean_work_tree_has_the_tree_of_head(work: Built) -> None:
    assert tree_of(work) == (head_tree(work), {})
    let_settle(work)
    assert tree_of(work) == (head_tree(work), {})


def test_edits_of_every_kind(work: Built, tmp_path: Path) -> None:
    put(work, "a", b"changed\n")
    (work.path / "folder" / "b").rename(work.path / "renamed")
    (work.path / "run").chmod(0o644)
    (work.path / "link").unlink()
    (work.path / "link").symlink_to("elsewhere")
    put(work, "new/er/file", b"new\n")
    put(work, "program", b"#!/bin/sh\n", 0o755)
    (work.path / "new-link").symlink_to("/etc/passwd")
    same(work, tmp_path)
    files = files_of(work)
    assert files[b"new-link"] == (0o120000, b"/etc/passwd")
    assert files[b"program"][0] == 0o100755 and files[b"run"][0] == 0o100644
    assert files[b"renamed"] == (0o100644, b"two\n") and b"folder/b" not in files


def test_all_methods_work_with_the_commit(work: Built) -> None:
    put(work, "a", b"one\nmore\n")
    (work.path / "folder" / "b").rename(work.path / "moved")
    head = work.head()
    with discover_repository(work.path).with_work_tree() as made:
        repository, commit = made.repository, made.commit
        assert [one.id for one in repository.log([commit])][:2] == [commit, head]
        assert next(iter(repository.parents([commit]))) == (commit, (head,))
        (changes,) = repository.changes([Comparison(commit)])
        assert {change.kind for change in changes.files} == {ChangeKind.MODIFIED, ChangeKind.RENAMED}
        (diff,) = repository.diffs([Comparison(commit, head)], [RepoPath(b"a")])
        assert diff.files[0].hunks[0].added == (b"more\n",)
        lines = {entry.lines.first: entry.commit for entry in repository.blame(commit, RepoPath(b"a"))}
        assert lines == {1: head, 2: commit}
        with repository.with_work_tree() as again:
            assert again.commit == commit, "the same files give the same commit"


def test_the_commit_is_as_old_as_head(work: Built) -> None:
    with discover_repository(work.path).with_work_tree() as made:
        (commit, head, *_) = made.repository.log([made.commit])
    assert commit.committer.at and head.committer.at
    assert commit.committer.at.seconds == head.committer.at.seconds


def test_staged_and_changed_again(work: Built, tmp_path: Path) -> None:
    put(work, "a", b"staged\n")
    put(work, "staged", b"staged\n")
    work.git("add", "a", "staged")
    put(work, "a", b"after\n")
    (work.path / "staged").unlink()
    work.git("rm", "--cached", "--quiet", "run")
    same(work, tmp_path)
    assert files_of(work)[b"a"][1] == b"after\n"


def test_files_with_intent_to_add(work: Built, tmp_path: Path) -> None:
    for name, content in (("meant", b"text\n"), ("empty", b""), ("gone", b"text\n")):
        put(work, name, content)
        work.git("add", "--intent-to-add", name)
    (work.path / "gone").unlink()
    same(work, tmp_path)
    assert {b"meant", b"empty"} <= set(files_of(work))


def test_an_edit_that_keeps_size_and_time(work: Built, tmp_path: Path) -> None:
    """The index is not newer than the file, so its cached stat proves nothing."""
    path = put(work, "a", b"AAA\n")
    work.git("add", "a")
    before = path.stat()
    path.write_bytes(b"BBB\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    work.git("config", "core.trustctime", "false")
    same(work, tmp_path)
    assert files_of(work)[b"a"][1] == b"BBB\n"


def test_only_files_with_another_stat_are_read(work: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    let_settle(work)
    put(work, "a", b"changed\n")
    opened: list[object] = []
    real = os.open

    def open_and_note(name: str | bytes, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        opened.append(name)
        return real(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", open_and_note)
    tree_of(work)
    assert b"a" in opened and b"run" not in opened and b"c" not in opened


def test_ignored_files_are_not_in_the_commit(work: Built, tmp_path: Path) -> None:
    put(work, ".gitignore", b"*.log\n!kept.log\n")
    put(work, "folder/.gitignore", b"/local\n")
    for name in ("x.log", "kept.log", "folder/local", "local", "mine", "folder/build", "shown"):
        put(work, name, b"x\n")
    (work.path / ".git" / "info" / "exclude").write_text("mine\n!shown\n")
    user = tmp_path / "ignored by me"
    user.write_text("build\nshown\n")
    work.git("config", "core.excludesFile", os.fspath(user))
    same(work, tmp_path)
    names = set(files_of(work))
    assert {b"kept.log", b"local", b"shown"} <= names
    assert not names & {b"x.log", b"folder/local", b"mine", b"folder/build"}


@pytest.mark.parametrize("variable", ["HOME", "XDG_CONFIG_HOME"])
def test_the_users_own_ignored_names(work: Built, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    if variable == "HOME":
        monkeypatch.delenv("XDG_CONFIG_HOME")
    folder = Path(os.environ[variable], *([".config"] if variable == "HOME" else []), "git")
    folder.mkdir(parents=True)
    (folder / "ignore").write_text("mine\n")
    put(work, "mine", b"x")
    assert tree_of(work) == (head_tree(work), {})


def test_an_ignored_tracked_file_is_in_the_commit(work: Built, tmp_path: Path) -> None:
    put(work, ".gitignore", b"a\n")
    put(work, "a", b"changed\n")
    same(work, tmp_path)


def test_files_folders_and_links_replace_each_other(work: Built, tmp_path: Path) -> None:
    (work.path / "a").unlink()
    put(work, "a/inside", b"x\n")
    shutil.rmtree(work.path / "folder")
    (work.path / "folder").symlink_to(tmp_path)
    (tmp_path / "b").write_text("not of this repository\n")
    (work.path / "link").unlink()
    put(work, "link", b"now a file\n")
    same(work, tmp_path)
    assert files_of(work)[b"folder"][0] == 0o120000


def test_a_merge_in_progress(work: Built, tmp_path: Path) -> None:
    base = work.head()
    ours = work.commit({**FILES, b"a": b"ours\n", b"run": b"ours\n"}, base)
    work.commit({**FILES, b"a": b"theirs\n", b"run": b"theirs\n"}, base, ref="refs/heads/theirs")
    work.checkout()
    merge = subprocess.run(("git", "merge", "theirs"), cwd=work.path, capture_output=True, check=False)
    assert merge.returncode == 1 and b"UU a" in work.git("status", "--porcelain")
    (work.path / "run").unlink()
    same(work, tmp_path)
    assert b"<<<<<<<" in files_of(work)[b"a"][1]
    _, out = tree_of(work, WorkLimits(file_bytes_max=1))
    assert b"a" in out
    with discover_repository(work.path).with_work_tree(limits=WorkLimits(file_bytes_max=1)) as made:
        (changes,) = made.repository.changes([Comparison(made.commit, ours)])
        assert [change.path.raw for change in changes.files] == [b"run"], "what cannot be told is as it was for us"


def test_outside_a_sparse_checkout_files_are_as_in_the_index(work: Built) -> None:
    work.git("sparse-checkout", "set", "--no-cone", "/a")
    assert not (work.path / "folder").exists()
    assert tree_of(work) == (head_tree(work), {})
    put(work, "a", b"changed\n")
    put(work, "run", b"there all the same\n")
    assert files_of(work)[b"a"][1] == b"changed\n"
    assert files_of(work)[b"run"] == (0o100755, b"#!/bin/sh\n")


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
def test_files_that_git_does_not_check_are_not_read(work: Built, flag: str) -> None:
    work.git("update-index", flag, "a", "run")
    put(work, "a", b"only mine\n")
    (work.path / "run").unlink()
    assert tree_of(work) == (head_tree(work), {})
