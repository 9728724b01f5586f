"""The work tree as a commit, and what git would commit of a copy."""

import hashlib
import os
import shutil
from pathlib import Path

from custody.git import Object, WorkLimits, discover_repository
from tests.builders.repo import LINK, PROGRAM, Built, Files

USUAL = WorkLimits()

FILES: Files = {
    b"a": b"one\n",
    b"folder/b": b"two\n",
    b"folder/deep/c": b"three\n",
    b"run": (PROGRAM, b"#!/bin/sh\n"),
    b"link": (LINK, b"folder/b"),
    b"odd \xff\n": b"odd\n",
}


def tree_of(built: Built, limits: WorkLimits = USUAL) -> tuple[str, dict[bytes, str]]:
    """Return the tree id of the work tree commit, and the files left out with the reasons."""
    before = state_of(built.path)
    with discover_repository(built.path).with_work_tree(limits=limits) as made, made.repository.objects() as objects:
        commit = objects.read(made.commit)
    assert state_of(built.path) == before, "nothing of the repository was touched"
    assert isinstance(commit, Object)
    return commit.content[5:].partition(b"\n")[0].decode(), {one.path.raw: one.reason for one in made.left_out}


def files_of(built: Built) -> dict[bytes, tuple[int, bytes]]:
    """Return modes and contents of the work tree commit by path; of a submodule, its commit."""
    with discover_repository(built.path).with_work_tree() as made, made.repository.objects() as objects:
        found = {}
        for entry in made.repository.tree(made.commit):
            content = objects.read(entry.id) if entry.kind == "blob" else None
            found[entry.path.raw] = (entry.mode, content.content if isinstance(content, Object) else entry.id.encode())
        return found


def tree_by_git(built: Built, scratch: Path) -> str:
    """Return the result of ``git add -A && git write-tree`` in a copy."""
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(built.path, scratch, symlinks=True)
    copy = Built(scratch, built.format)
    copy.git("add", "--all")
    return copy.git("write-tree").decode().strip()


def same(built: Built, scratch: Path) -> None:
    """Assert that custody's tree equals git's, and that nothing was left out."""
    assert tree_of(built) == (tree_by_git(built, scratch / "copy"), {})


def head_tree(built: Built) -> str:
    return built.git("rev-parse", "HEAD^{tree}").decode().strip()


def state_of(folder: Path, *, times: bool = True) -> dict[str, tuple[object, ...]]:
    """Return everything below ``folder``, including git's files: kind, contents and times."""
    seen: dict[str, tuple[object, ...]] = {}
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        link = os.readlink(path) if path.is_symlink() else None
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and link is None else None
        touched = (found.st_mtime_ns, found.st_ctime_ns) if times else ()
        seen[os.fspath(path)] = (found.st_mode, link, content, *touched)
    return seen


def put(built: Built, name: str, content: bytes, mode: int = 0o644) -> Path:
    """Write a file of the work tree like an editor that replaces the old file."""
    path = built.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


def let_settle(built: Built) -> None:
    """Make the index a few seconds newer than the files, so that git trusts its cached stat."""
    index = Path(os.fsdecode(built.git("rev-parse", "--absolute-git-dir").rstrip(b"\n"))) / "index"
    for path in built.path.rglob("*"):
        if ".git" not in path.parts and not path.is_symlink() and path.is_file():
            os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns - 10_000_000_000))
    built.git("update-index", "-q", "--refresh")
    assert index.is_file()
