"""Where an event happened: the work tree, its repository and what HEAD was, read without starting git.

A hook runs at every step of an agent; a process more would be felt. What cannot be told is left out, never guessed.
"""

from __future__ import annotations

import os

HEAD_BYTES_MAX = 1024
PATH_MAX = 4096
SETTINGS_BYTES_MAX = 16 * 1024 * 1024
PACKED_BYTES_MAX = 64 * 1024 * 1024


def work_tree_of(folder: str) -> tuple[str, str] | None:
    """The work tree around ``folder`` and its git folder, or None; only what belongs to this user counts."""
    if len(folder) > PATH_MAX:
        return None
    try:
        folder = os.path.realpath(folder)
    except (OSError, ValueError):
        return None  # no folder at all
    while True:
        entry = os.path.join(folder, ".git")
        git_dir = _git_dir(entry)
        if git_dir is not None:
            return folder, git_dir
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def place_in(common_dir: str, folders: list[str]) -> tuple[str, str] | None:
    """The first of these folders' work trees that belongs to the repository at ``common_dir``, else its own."""
    for folder in [*folders, os.path.dirname(common_dir)]:
        found = work_tree_of(folder)
        if found is not None and common_dir_of(found[1]) == os.path.realpath(common_dir):
            return found
    return None


def common_dir_of(git_dir: str) -> str:
    """The folder that all work trees of the repository share."""
    shared = _text(os.path.join(git_dir, "commondir"))
    return os.path.realpath(os.path.join(git_dir, shared)) if shared else git_dir


def head_of(git_dir: str) -> str | None:
    """The commit that HEAD names; None on an unborn branch, or where references are kept in a way of their own."""
    name = _text(os.path.join(git_dir, "HEAD"))
    for _ in range(5):  # a reference may name another; git stops at five too
        if not name.startswith("ref: "):
            break
        name = _reference(git_dir, name[5:].strip())
    return name if len(name) in (40, 64) and set(name) <= set("0123456789abcdef") else None


def _reference(git_dir: str, ref: str) -> str:
    if ref.startswith("/") or ".." in ref.split("/"):
        return ""
    for folder in (git_dir, common_dir_of(git_dir)):
        loose = _text(os.path.join(folder, ref))
        if loose:
            return loose
    packed = _read(os.path.join(common_dir_of(git_dir), "packed-refs"), PACKED_BYTES_MAX)
    ending = b" " + os.fsencode(ref)
    for line in packed.split(b"\n"):
        if line.endswith(ending) and not line.startswith(b"#"):
            return line[: -len(ending)].decode("ascii", "replace")
    return ""


def holds(path: str, words: bytes) -> bool:
    """Whether the file at ``path`` can be read and has these words in it."""
    return words in _read(path, SETTINGS_BYTES_MAX)


def _git_dir(entry: str) -> str | None:
    try:
        found = os.stat(entry)
    except (OSError, ValueError):
        return None  # not here: look further up
    if found.st_uid not in (os.geteuid(), 0):
        return None  # somebody else's repository around ours is not ours to write into
    if os.path.isdir(entry):
        return os.path.realpath(entry)
    named = _text(entry)
    if not named.startswith("gitdir: "):
        return None
    return os.path.realpath(os.path.join(os.path.dirname(entry), named[8:].replace("\0", "")))


def _text(path: str) -> str:
    return _read(path, HEAD_BYTES_MAX).decode("utf-8", "surrogateescape").strip()


def _read(path: str, limit: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""  # absent or not readable: then it cannot be told
    with os.fdopen(handle, "rb") as file:
        try:
            return file.read(limit) or b""
        except OSError:
            return b""  # a folder, or a device that does not answer
