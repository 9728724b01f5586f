"""The work tree as a commit: left out files are reported, nothing is written, no temporary files stay."""

import os
import tempfile
from pathlib import Path

import pytest

from custody.core.errors import GitError, WorldError
from custody.git import ProcessLimits, WorkLimits, discover_repository
from custody.git.private_repository import PREFIX
from custody.git.work_tree_file import read_regular_file
from tests.builders.repo import Built
from tests.unit.git.work_trees import head_tree, let_settle, put, state_of, tree_of


def test_files_over_the_limits_are_reported(work: Built) -> None:
    let_settle(work)
    put(work, "a", b"12345\n")
    for name in ("u1", "u2", "u3"):
        put(work, name, b"1\n")
    put(work, "u0", b"123456\n")
    tree, out = tree_of(work, WorkLimits(file_bytes_max=5))
    assert set(out) == {b"a", b"u0"} and "larger than 5 bytes" in out[b"a"]
    assert tree != head_tree(work)
    _, out = tree_of(work, WorkLimits(untracked_files_max=2))
    assert list(out) == [b"u2"] and "limit of 2 untracked" in out[b"u2"]


def test_all_files_together_have_a_limit(work: Built) -> None:
    let_settle(work)
    for name in ("u1", "u2", "u3"):
        put(work, name, b"1234\n")
    _, out = tree_of(work, WorkLimits(all_bytes_max=10))
    assert out == {b"u3": "exceeds the limit of 10 bytes for all files"}


def test_pipes_are_left_out(work: Built) -> None:
    (work.path / "a").unlink()
    os.mkfifo(work.path / "a")
    os.mkfifo(work.path / "untracked")
    assert tree_of(work) == (head_tree(work), {b"a": "is not a regular file"})


def test_an_unreadable_file_is_left_out(work: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    put(work, "a", b"secret\n")

    def refuse(descriptor: int, bytes_max: int) -> bytes | str:
        if os.path.samestat(os.fstat(descriptor), (work.path / "a").stat()):
            raise PermissionError(13, "Permission denied")
        return read_regular_file(descriptor, bytes_max)

    monkeypatch.setattr("custody.git.work_tree_file.read_regular_file", refuse)
    _, out = tree_of(work)
    assert out[b"a"] == "cannot be read: permission denied"


def test_nothing_is_written_and_nothing_stays(work: Built, temporary: Path) -> None:
    put(work, "a", b"changed\n")
    put(work, "new", b"new\n")
    before = state_of(work.path)
    with discover_repository(work.path).with_work_tree() as work_commit:
        objects = work_commit.repository.place.more_objects
        assert objects and objects.parent.name.startswith(PREFIX)
        assert objects.parent.stat().st_mode & 0o777 == 0o700
    assert not list(temporary.iterdir())
    assert state_of(work.path) == before


def test_the_temporary_folder_is_deleted_after_an_error(
    work: Built, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        with discover_repository(work.path).with_work_tree() as work_commit:
            assert list(work_commit.repository.tree(work_commit.commit))
            assert list(temporary.iterdir())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not list(temporary.iterdir())
    monkeypatch.setattr("custody.git.work_commit.encode_work_commit", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError), discover_repository(work.path).with_work_tree():
        pass
    assert not list(temporary.iterdir())


def test_temporary_files_never_go_into_the_repository(work: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    for inside in (work.path / "folder", work.path / ".git", work.path):
        monkeypatch.setattr(tempfile, "tempdir", os.fspath(inside))
        with (
            pytest.raises(WorldError, match="the temporary folder is inside") as caught,
            discover_repository(work.path).with_work_tree(),
        ):
            pass
        assert "TMPDIR" in (caught.value.hint or "")


def test_a_full_disk_is_a_world_error(work: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(WorldError, match="No space left"), discover_repository(work.path).with_work_tree():
        pass


def test_a_damaged_index_is_an_error(work: Built) -> None:
    (work.path / ".git" / "index").write_bytes(b"rubbish")
    with pytest.raises(GitError), discover_repository(work.path).with_work_tree():
        pass
    (work.path / ".git" / "index").unlink()
    os.mkfifo(work.path / ".git" / "index")
    with pytest.raises(GitError, match="not a regular file"), discover_repository(work.path).with_work_tree():
        pass


def test_a_missing_head_is_an_error(work: Built) -> None:
    (work.path / ".git" / "refs" / "heads" / "main").write_text(("1" * len(work.head())) + "\n")
    with pytest.raises(GitError, match="missing"), discover_repository(work.path).with_work_tree():
        pass


def test_patterns_in_a_pipe_time_out(work: Built) -> None:
    os.mkfifo(work.path / ".gitignore")
    limits = ProcessLimits(wait_seconds_max=0.5)
    with pytest.raises(GitError, match="took longer"), discover_repository(work.path, limits).with_work_tree():
        pass
