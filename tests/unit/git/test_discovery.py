"""Discovery of every kind of repository, and rejection of those that point elsewhere."""

import os
import subprocess
from pathlib import Path

import pytest

from custody.core.errors import GitError, InputError
from custody.git import discover_repository
from custody.git.discovery import parse_repository_place
from tests.builders.repo import Built, a_clone, a_history, a_repository, a_worktree


@pytest.fixture
def built(tmp_path: Path) -> Built:
    repository = a_repository(tmp_path / "here")
    a_history(repository, {b"folder/file": b"one\n"}, {b"folder/file": b"two\n"})
    repository.checkout()
    return repository


def test_a_work_tree_is_found_from_a_folder_inside_it(built: Built) -> None:
    repository = discover_repository(built.path / "folder")
    assert repository.work_tree == built.path
    assert repository.git_dir == repository.common_dir == built.path / ".git"
    assert repository.object_format == "sha1"


def test_one_git_process_is_enough(built: Built, started: list[subprocess.Popen[bytes]]) -> None:
    discover_repository(built.path)
    assert len(started) == 1


def test_a_bare_repository_has_no_work_tree(built: Built, tmp_path: Path) -> None:
    bare = a_clone(built, tmp_path / "bare.git", "--bare")
    repository = discover_repository(bare.path)
    assert repository.work_tree is None
    assert repository.git_dir == bare.path


def test_the_git_folder_has_no_work_tree(built: Built) -> None:
    repository = discover_repository(built.path / ".git" / "refs")
    assert repository.git_dir == built.path / ".git"
    assert repository.work_tree is None


def test_worktrees_share_the_common_folder(built: Built, tmp_path: Path) -> None:
    other = a_worktree(built, tmp_path / "other")
    repository = discover_repository(other.path / "folder")
    assert repository.work_tree == other.path
    assert repository.common_dir == built.path / ".git"
    assert repository.git_dir == built.path / ".git" / "worktrees" / "other"


def test_a_worktree_of_a_bare_repository(built: Built, tmp_path: Path) -> None:
    bare = a_clone(built, tmp_path / "bare.git", "--bare")
    other = a_worktree(bare, tmp_path / "other")
    repository = discover_repository(other.path)
    assert repository.work_tree == other.path
    assert repository.common_dir == bare.path


def test_a_submodule_is_a_separate_repository(built: Built, tmp_path: Path) -> None:
    outer = a_repository(tmp_path / "outer")
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", os.fspath(built.path), "inner")
    repository = discover_repository(outer.path / "inner" / "folder")
    assert repository.work_tree == outer.path / "inner"
    assert repository.git_dir == outer.path / ".git" / "modules" / "inner"


def test_a_separate_git_folder(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    Built(tmp_path).git("init", "--quiet", "--separate-git-dir", os.fspath(tmp_path / "kept.git"), "tree")
    repository = discover_repository(tmp_path / "tree")
    assert repository.work_tree == tmp_path / "tree"
    assert repository.git_dir == tmp_path / "kept.git"


def test_a_shallow_clone_has_boundary_commits(built: Built, tmp_path: Path) -> None:
    clone = a_clone(built, tmp_path / "shallow", "--depth=1")
    repository = discover_repository(clone.path)
    assert repository.list_shallow_commits() == {clone.head()}
    assert discover_repository(built.path).list_shallow_commits() == frozenset()


def test_a_sha256_repository(tmp_path: Path) -> None:
    assert discover_repository(a_repository(tmp_path, object_format="sha256").path).object_format == "sha256"


def test_a_shallow_file_that_is_a_pipe_is_an_error(built: Built) -> None:
    repository = discover_repository(built.path)
    os.mkfifo(built.path / ".git" / "shallow")
    with pytest.raises(GitError, match="not a regular file"):
        repository.list_shallow_commits()


@pytest.mark.parametrize("name", [b"a\nb", b"\xff\xfe", b"-x", b"a b", b"false\n--"])
def test_any_folder_name_works(tmp_path: Path, name: bytes) -> None:
    folder = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))
    a_repository(folder)
    (folder / "in\nside").mkdir()
    repository = discover_repository(folder / "in\nside")
    assert repository.work_tree == folder
    assert repository.common_dir == folder / ".git"


def test_links_on_the_way_are_followed(built: Built, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(built.path / "folder")
    assert discover_repository(tmp_path / "link").work_tree == built.path


@pytest.mark.parametrize("folder", ["missing", "file", "loop"])
def test_a_missing_folder_is_an_input_error(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError) as caught:
        discover_repository(tmp_path / folder)
    assert caught.value.hint


def test_outside_a_repository_is_an_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", os.fspath(tmp_path))
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="not a git repository") as caught:
        discover_repository(tmp_path / "folder")
    assert caught.value.hint == "run inside a git repository, or name one with -C"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_repository_of_another_user_is_rejected_with_a_hint(built: Built) -> None:
    os.chown(built.path, 12345, 12345)
    os.chown(built.path / ".git", 12345, 12345)
    with pytest.raises(GitError, match="dubious ownership") as caught:
        discover_repository(built.path)
    assert "safe.directory" in (caught.value.hint or "")


def test_a_repository_of_a_newer_git_is_rejected(built: Built) -> None:
    built.git("config", "core.repositoryformatversion", "99")
    with pytest.raises(GitError) as caught:
        discover_repository(built.path)
    assert "newer git" in (caught.value.hint or "")


def test_a_work_tree_named_by_configuration_only_is_rejected(built: Built, tmp_path: Path) -> None:
    for elsewhere in (tmp_path, tmp_path / "elsewhere", Path("/")):
        elsewhere.mkdir(exist_ok=True)
        built.git("config", "core.worktree", os.fspath(elsewhere))
        with pytest.raises(InputError, match="does not belong to it|another folder"):
            discover_repository(built.path)


def test_a_git_file_that_is_a_pipe_is_rejected(built: Built, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    os.mkfifo(tmp_path / "elsewhere" / ".git")
    built.git("config", "core.worktree", os.fspath(tmp_path / "elsewhere"))
    with pytest.raises(InputError):
        discover_repository(built.path)


def test_the_repository_of_another_folder_is_rejected(built: Built, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / ".git").write_text(f"gitdir: {built.path / '.git'}\n")
    with pytest.raises(InputError, match="another folder"):
        discover_repository(trap)
    (trap / ".git").unlink()
    (trap / ".git").symlink_to(built.path / ".git")
    with pytest.raises(InputError, match="another folder"):
        discover_repository(trap)


def test_a_common_folder_elsewhere_is_rejected(built: Built, tmp_path: Path) -> None:
    trap = a_repository(tmp_path / "trap")
    (trap.path / ".git" / "commondir").write_text(f"{built.path / '.git'}\n")
    with pytest.raises(InputError, match="does not contain it"):
        discover_repository(trap.path)


def test_an_old_git_that_echoes_the_options_is_detected(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="too old"):
        parse_repository_place(b"--path-format=absolute\n.git\n--//\n.git\n--//\n\n--//\nsha1\nfalse\n", tmp_path)


@pytest.mark.parametrize("answer", [b"", b"x\n--//\ny\n--//\n\n--//\n", b"x\n--//\ny\n--//\n\n--//\nmd5\nfalse\n"])
def test_invalid_output_is_a_git_error(tmp_path: Path, answer: bytes) -> None:
    with pytest.raises(GitError):
        parse_repository_place(answer, tmp_path)
