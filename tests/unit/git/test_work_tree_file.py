"""The work tree: only regular files, never through a link, never outside, never in ``.git``."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.core.errors import InputError, WorldError
from custody.core.paths import RepoPath
from custody.git import NoWorkFile, Repository, WorkFile, discover_repository
from tests.builders.repo import a_repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Return a work tree with links to a secret file outside."""
    (tmp_path / "secret").write_text("secret")
    tree = a_repository(tmp_path / "tree").path
    (tree / "folder").mkdir()
    (tree / "folder" / "file").write_bytes(b"a\r\nb\0")
    (tree / "to-secret").symlink_to(tmp_path / "secret")
    (tree / "to-outside").symlink_to(tmp_path)
    (tree / "to-folder").symlink_to("folder")
    return discover_repository(tree)


def test_files_are_read_unchanged(repository: Repository) -> None:
    path = RepoPath(b"folder/file")
    assert repository.work_file(path) == WorkFile(path, b"a\r\nb\0")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (b"nowhere", "does not exist"),
        (b"folder/nowhere", "does not exist"),
        (b"folder", "not a regular file"),
        (b"folder/file/x", "link or a file"),
        (b"to-secret", "symbolic link"),
        (b"to-outside/secret", "symbolic link"),
        (b"to-folder/file", "symbolic link"),
        (b".git/config", "belongs to git"),
        (b"folder/.GIT/config", "belongs to git"),
    ],
)
def test_nothing_else_is_read(repository: Repository, path: bytes, reason: str) -> None:
    answer = repository.work_file(RepoPath(path))
    assert isinstance(answer, NoWorkFile) and reason in answer.reason


def test_pipes_sockets_and_devices_do_not_block(repository: Repository) -> None:
    assert repository.work_tree
    os.mkfifo(repository.work_tree / "pipe")
    with socket.socket(socket.AF_UNIX) as door:
        before = Path.cwd()
        os.chdir(repository.work_tree)  # the name of a socket must be short
        door.bind("socket")
        os.chdir(before)
        for name in (b"pipe", b"socket"):
            assert repository.work_file(RepoPath(name)) == NoWorkFile(RepoPath(name), "is not a regular file")


def test_large_files_are_rejected(repository: Repository) -> None:
    path = RepoPath(b"folder/file")
    assert isinstance(repository.work_file(path, bytes_max=5), WorkFile)
    assert isinstance(repository.work_file(path, bytes_max=4), NoWorkFile)
    assert isinstance(repository.work_file(RepoPath(b"x" * 300)), NoWorkFile)


def test_a_failing_disk_is_a_world_error(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("custody.git.work_tree_file.os.read", fail)
    with pytest.raises(WorldError, match="Input/output error"):
        repository.work_file(RepoPath(b"folder/file"))


def test_no_descriptor_is_left_open(repository: Repository) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for path in (b"folder/file", b"nowhere", b"to-outside/secret", b"folder"):
        repository.work_file(RepoPath(path))
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("typed", "folder", "path"),
    [
        ("file", "folder", b"folder/file"),
        ("./file", "folder", b"folder/file"),
        ("../folder//file", "folder", b"folder/file"),
        ("folder/", ".", b"folder"),
        ("gone/../new", ".", b"new"),
        ("to-secret", ".", b"to-secret"),
        ("-x", ".", b"-x"),
        (":(top)x", "folder", b"folder/:(top)x"),
        ("\udcff\n", ".", b"\xff\n"),
        ("../tree/folder/file", ".", b"folder/file"),
        ("../to-tree/folder/file", ".", b"folder/file"),
        ("../to-inside/file", ".", b"folder/file"),
    ],
)
def test_paths_are_relative_to_the_current_folder(repository: Repository, typed: str, folder: str, path: bytes) -> None:
    assert repository.work_tree
    (repository.work_tree.parent / "to-tree").symlink_to(repository.work_tree)
    (repository.work_tree.parent / "to-inside").symlink_to(repository.work_tree / "folder")
    assert repository.path(typed, repository.work_tree / folder) == RepoPath(path)
    absolute = str(repository.work_tree / folder / typed)
    assert repository.path(absolute, Path("/")) == RepoPath(path)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        ".",
        "..",
        "../secret",
        "/etc/passwd",
        "a\0b",
        "to-outside/secret",
        "to-folder/file",
        "to-folder/../x",
        "folder/..",
    ],
)
def test_paths_outside_or_behind_a_link_are_rejected(repository: Repository, typed: str) -> None:
    assert repository.work_tree
    with pytest.raises(InputError) as caught:
        repository.path(typed, repository.work_tree)
    assert caught.value.hint


def test_a_bare_repository_keeps_paths_and_has_no_files(tmp_path: Path) -> None:
    repository = discover_repository(a_repository(tmp_path, bare=True).path)
    assert repository.path("a/b", tmp_path) == RepoPath(b"a/b")
    with pytest.raises(InputError):
        repository.path("../b", tmp_path)
    assert isinstance(repository.work_file(RepoPath(b"config")), NoWorkFile)


@given(
    st.lists(st.sampled_from(("..", ".", "folder", "file", "to-outside", "to-folder", "", "x")), min_size=1, max_size=6)
)
@settings(max_examples=200)
def test_an_accepted_path_is_the_file_that_the_system_would_open(tree: Repository, parts: list[str]) -> None:
    typed = "/".join(parts)
    assert tree.work_tree
    try:
        path = tree.path(typed, tree.work_tree)
    except InputError:
        return
    there = os.path.join(os.fsencode(tree.work_tree), path.raw)
    typed_there = tree.work_tree / typed
    if typed_there.exists() and not typed_there.is_symlink():
        assert os.path.samefile(typed_there, there)
    assert not any(os.path.islink(parent) for parent in Path(os.fsdecode(there)).parents)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    top = tmp_path_factory.mktemp("drawn")
    tree = a_repository(top / "tree").path
    (tree / "folder").mkdir()
    (tree / "folder" / "file").write_text("")
    (tree / "file").write_text("")
    (tree / "to-outside").symlink_to(top)
    (tree / "to-folder").symlink_to("folder")
    return discover_repository(tree)
