"""Paths that a patch must not touch, on any file system."""

import os
from pathlib import Path

import pytest

from custody.core.paths import RepoPath
from custody.undo.app.paths import PathGuard, is_git_name


@pytest.fixture
def guard(tmp_path: Path) -> PathGuard:
    (tmp_path / "src/inner/.git").mkdir(parents=True)
    (tmp_path / "src/App.py").write_text("x\n")
    (tmp_path / "src/file").write_text("x\n")
    os.symlink(tmp_path / "src", tmp_path / "link")
    os.symlink("App.py", tmp_path / "src/alias.py")
    return PathGuard(tmp_path)


def test_refused_paths(guard: PathGuard) -> None:
    for path, why in (
        (b".git/config", "belongs to git"),
        (b"src/.Git/x", "belongs to git"),
        (b"src/.g\xe2\x80\x8cit/x", "belongs to git"),
        (b"link/App.py", "is behind a symbolic link"),
        (b"src/alias.py", "is a symbolic link"),
        (b"src/inner/lib.py", "is in a submodule or another repository"),
        (b"src/app.py", "differs only by case from 'src/App.py'"),
        (b"SRC/new.py", "differs only by case from 'src'"),
        (b"src/file/below", "is below the file 'src/file'"),
        (b"src", "is not a regular file"),
        (b"src/App.py", None),
        (b"src/new.py", None),
        (b"new/folder/file", None),
    ):
        assert guard.refuse(RepoPath(path)) == why, path


def test_names_that_some_file_system_takes_for_git() -> None:
    assert all(map(is_git_name, (b".git", b".GIT", b".git ", b".git...", b"GIT~1", b".git:x")))
    assert not any(map(is_git_name, (b".github", b"git", b".gitignore", b"a.git")))
