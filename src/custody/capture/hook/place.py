"""Where an event happened: the work tree, its repository and its HEAD, read without starting git.

A hook runs at every step of an agent, so another process would be noticed. Unknown facts are left out.
"""

from __future__ import annotations

import os

HEAD_BYTES_MAX = 1024
PATH_MAX = 4096
SETTINGS_BYTES_MAX = 16 * 1024 * 1024
PACKED_BYTES_MAX = 64 * 1024 * 1024


def find_owned_work_tree(folder: str) -> tuple[str, str] | None:
    """Return the work tree around ``folder`` and its git folder, or None; only this user's repositories count."""
    if len(folder) > PATH_MAX:
        return None
    try:
        folder = os.path.realpath(folder)
    except (OSError, ValueError):
        return None  # not a folder
    while True:
        entry = os.path.join(folder, ".git")
        git_dir = _resolve_owned_git_dir(entry)
        if git_dir is not None:
            return folder, git_dir
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def find_hook_work_tree(common_dir: str, folders: list[str]) -> tuple[str, str] | None:
    """Return the first of these folders' work trees in the repository at ``common_dir``, else its own."""
    for folder in [*folders, os.path.dirname(common_dir)]:
        place = find_owned_work_tree(folder)
        if place is not None and find_common_git_dir(place[1]) == os.path.realpath(common_dir):
            return place
    return None


def find_common_git_dir(git_dir: str) -> str:
    """Return the folder that all work trees of the repository share."""
    shared = _read_git_text(os.path.join(git_dir, "commondir"))
    return os.path.realpath(os.path.join(git_dir, shared)) if shared else git_dir


def read_head_without_git(git_dir: str) -> str | None:
    """Return the commit at HEAD; None on an unborn branch, or with an unknown storage of references."""
    name = _read_git_text(os.path.join(git_dir, "HEAD"))
    for _ in range(5):  # a reference may name another; git stops at five too
        if not name.startswith("ref: "):
            break
        name = _resolve_ref_without_git(git_dir, name[5:].strip())
    return name if len(name) in (40, 64) and set(name) <= set("0123456789abcdef") else None


def _resolve_ref_without_git(git_dir: str, ref: str) -> str:
    if ref.startswith("/") or ".." in ref.split("/"):
        return ""
    for folder in (git_dir, find_common_git_dir(git_dir)):
        loose = _read_git_text(os.path.join(folder, ref))
        if loose:
            return loose
    packed = _read_bounded_file(os.path.join(find_common_git_dir(git_dir), "packed-refs"), PACKED_BYTES_MAX)
    ending = b" " + os.fsencode(ref)
    for line in packed.split(b"\n"):
        if line.endswith(ending) and not line.startswith(b"#"):
            return line[: -len(ending)].decode("ascii", "replace")
    return ""


def is_text_in_file(path: str, text: bytes) -> bool:
    """Return whether the file at ``path`` can be read and contains this text."""
    return text in _read_bounded_file(path, SETTINGS_BYTES_MAX)


def _resolve_owned_git_dir(entry: str) -> str | None:
    try:
        status = os.stat(entry)
    except (OSError, ValueError):
        return None  # not here: look further up
    if status.st_uid not in (os.geteuid(), 0):
        return None  # another user's repository: do not write into it
    if os.path.isdir(entry):
        return os.path.realpath(entry)
    name = _read_git_text(entry)
    if not name.startswith("gitdir: "):
        return None
    return os.path.realpath(os.path.join(os.path.dirname(entry), name[8:].replace("\0", "")))


def _read_git_text(path: str) -> str:
    return _read_bounded_file(path, HEAD_BYTES_MAX).decode("utf-8", "surrogateescape").strip()


def _read_bounded_file(path: str, limit: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""  # absent or not readable
    with os.fdopen(handle, "rb") as file:
        try:
            return file.read(limit) or b""
        except OSError:
            return b""  # a folder, or a device that does not answer
