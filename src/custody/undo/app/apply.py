"""Change the work tree by a plan: all files or none, also if the process is killed half-way.

Before the first file changes, the former and the new contents and a journal are on disk. Whoever finds the journal can
restore the former contents (``abort_undo``).
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from custody.core.errors import InputError, WorldError
from custody.core.paths import RepoPath
from custody.core.platform import CLOEXEC, DIRECTORY, NOFOLLOW
from custody.git import Repository
from custody.undo.app.plan import UndoPlan
from custody.undo.patch import FilePatch

FOLDER = "custody-undo"
JOURNAL = "journal.json"
TEMPORARY_SUFFIX = b".custody-undo"
INTERRUPTED = "an earlier 'custody undo --apply' was interrupted"
ABORT_HINT = "'custody undo --abort' restores the files as they were before it"

_OPEN_FOLDER = os.O_RDONLY | DIRECTORY | NOFOLLOW | CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | CLOEXEC


class _Entry(Struct, frozen=True):
    """One path that changes: digests of its contents, None where it does not exist; ``n`` names the saved contents."""

    path: str
    n: int
    old: str | None
    new: str | None
    mode: int


class _Journal(Struct, frozen=True):
    entries: list[_Entry]


class AbortedUndo(Struct, frozen=True):
    """The files that were restored, and those that somebody changed meanwhile."""

    restored: tuple[RepoPath, ...]
    changed: tuple[RepoPath, ...]
    folder: Path


def check_no_interruption(repository: Repository) -> None:
    """Raise ``InputError`` if an earlier change of the work tree was interrupted."""
    if (repository.git_dir / FOLDER / JOURNAL).exists():
        raise InputError(INTERRUPTED, hint=ABORT_HINT)


def check_can_apply(plan: UndoPlan, repository: Repository) -> None:
    """Raise ``InputError`` unless git has everything that the plan changes: nothing can be lost then."""
    if not plan.is_clean:
        raise InputError(
            "the work tree has uncommitted changes", hint="commit or stash them, or pipe the patch into 'git apply'"
        )
    olds = {side.path for outcome in plan.outcomes if (side := outcome.patch.old) is not None}
    untracked = sorted(olds - repository.list_tracked_files(olds)) if olds else []
    if untracked:
        raise InputError(
            f"'{untracked[0].display}' is not tracked by git",
            hint="commit it first, or pipe the patch into 'git apply'",
        )


def apply_undo(plan: UndoPlan, repository: Repository) -> None:
    """Change the work tree; nothing is staged or committed."""
    check_can_apply(plan, repository)
    changes = [change for outcome in plan.outcomes for change in _list_changes(outcome.patch)]
    if not changes:
        return
    folder = repository.git_dir / FOLDER
    try:
        entries = _prepare(folder, changes)
    except OSError as error:
        raise WorldError(
            f"cannot write to '{folder}': {error.strerror}", hint="free space, or make it writable; nothing was changed"
        ) from error
    done: list[_Entry] = []
    try:
        for entry, (path, old, new, mode) in zip(entries, changes, strict=True):
            if _read(plan.root, path) != old:
                raise InputError(
                    f"'{path.display}' changed meanwhile", hint="nothing was changed; run the command again"
                )
            done.append(entry)
            _write(plan.root, path, new, mode)
    except BaseException as error:
        _restore(plan.root, folder, done)
        _discard(folder)
        if isinstance(error, OSError):
            raise WorldError(f"cannot change the work tree: {error.strerror}", hint="nothing was changed") from error
        raise
    _discard(folder)


def abort_undo(repository: Repository) -> AbortedUndo:
    """Restore the work tree as it was before an interrupted change; files changed since then stay as they are."""
    folder = repository.git_dir / FOLDER
    root = repository.work_tree
    try:
        journal = msgspec.json.decode((folder / JOURNAL).read_bytes(), type=_Journal)
    except FileNotFoundError as error:
        raise InputError("no 'custody undo --apply' was interrupted", hint="run 'custody undo NAME' to undo") from error
    except msgspec.DecodeError as error:
        raise WorldError(f"'{folder / JOURNAL}' is damaged", hint="'git status' shows what changed") from error
    assert root is not None, "a journal is only written for a work tree"
    restored, changed = _restore(root, folder, journal.entries)
    if not changed:
        _discard(folder)
    else:
        # What is there now is newer: the former contents stay beside the journal's new name.
        (folder / JOURNAL).rename(folder / f"{JOURNAL}.aborted")
    return AbortedUndo(tuple(restored), tuple(changed), folder)


PathChange = tuple[RepoPath, bytes | None, bytes | None, int]
"""A path, its contents before and after, and its mode."""


def _list_changes(patch: FilePatch) -> list[PathChange]:
    """Return the changes of paths that a patch makes; a rename is two."""
    old, new = patch.old, patch.new
    if old is not None and new is not None and old.path != new.path:
        return [(new.path, None, new.content, new.mode), (old.path, old.content, None, old.mode)]
    side = new or old
    assert side is not None, "a patch has at least one side"
    return [(side.path, None if old is None else old.content, None if new is None else new.content, side.mode)]


def _prepare(folder: Path, changes: Sequence[PathChange]) -> list[_Entry]:
    """Write all contents and the journal, so that they are on disk before any file changes."""
    for leftover in sorted(folder.glob("*")) if folder.is_dir() else ():
        leftover.unlink()  # of a run that was killed before it changed anything, or of one that was aborted
    folder.mkdir(exist_ok=True)
    entries = []
    for n, (path, old, new, mode) in enumerate(changes):
        if old is not None:
            _save(folder / f"{n}.old", old)
        entries.append(_Entry(str(path).encode("utf-8", "surrogateescape").hex(), n, _digest(old), _digest(new), mode))
    _save(folder / f"{JOURNAL}.new", msgspec.json.encode(_Journal(entries)))
    (folder / f"{JOURNAL}.new").rename(folder / JOURNAL)
    _sync_folder(folder)
    return entries


def _save(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | CLOEXEC, 0o600)
    try:
        _write_all(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _restore(root: Path, folder: Path, entries: Sequence[_Entry]) -> tuple[list[RepoPath], list[RepoPath]]:
    """Restore the former contents where the new ones are; return the restored paths and those with other contents."""
    restored, changed = [], []
    for entry in reversed(entries):
        path = RepoPath(bytes.fromhex(entry.path))
        _drop_temporary(root, path)
        now = _digest(_read(root, path))
        if now == entry.old:
            continue
        if now != entry.new:
            changed.append(path)
            continue
        former = None if entry.old is None else (folder / f"{entry.n}.old").read_bytes()
        _write(root, path, former, entry.mode)
        restored.append(path)
    return restored, changed


def _discard(folder: Path) -> None:
    """Remove the journal, and then the contents beside it."""
    with suppress(FileNotFoundError):
        (folder / JOURNAL).unlink()
    _sync_folder(folder)
    for left in sorted(folder.glob("*")):
        left.unlink()
    folder.rmdir()


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def _read(root: Path, path: RepoPath) -> bytes | None:
    """Return the contents of a regular file; None if nothing is there. Links are not followed."""
    with ExitStack() as opened:
        try:
            folder = _open_parents(opened, root, path)
            descriptor = os.open(path.name, os.O_RDONLY | NOFOLLOW | CLOEXEC, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            return None
        with os.fdopen(descriptor, "rb") as file:
            return file.read()


def _write(root: Path, path: RepoPath, content: bytes | None, mode: int) -> None:
    """Replace a file at once, create it with its folders, or delete it with the folders that are then empty."""
    with ExitStack() as opened:
        folder = _open_parents(opened, root, path, is_made=content is not None)
        if content is None:
            os.unlink(path.name, dir_fd=folder)
            os.fsync(folder)
        else:
            temporary = path.name + TEMPORARY_SUFFIX
            bits = _read_permissions(path.name, folder) or (0o777 if mode & 0o100 else 0o666) & ~_read_umask()
            descriptor = os.open(temporary, _NEW_FILE, 0o600, dir_fd=folder)
            try:
                _write_all(descriptor, content)
                os.fchmod(descriptor, bits)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
    if content is None:
        _remove_empty_parents(root, path)


def _drop_temporary(root: Path, path: RepoPath) -> None:
    with ExitStack() as opened, suppress(FileNotFoundError, NotADirectoryError):
        folder = _open_parents(opened, root, path)
        os.unlink(path.name + TEMPORARY_SUFFIX, dir_fd=folder)


def _open_parents(opened: ExitStack, root: Path, path: RepoPath, *, is_made: bool = False) -> int:
    """Return the descriptor of a file's folder, opened from the root on without following a link."""
    folder = os.open(root, _OPEN_FOLDER)
    opened.callback(os.close, folder)
    for part in path.raw.split(b"/")[:-1]:
        if is_made:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=folder)
        folder = os.open(part, _OPEN_FOLDER, dir_fd=folder)
        opened.callback(os.close, folder)
    return folder


def _remove_empty_parents(root: Path, path: RepoPath) -> None:
    parts = path.raw.split(b"/")[:-1]
    with suppress(OSError):  # not empty
        while parts:
            os.rmdir(os.fsencode(root) + b"/" + b"/".join(parts))
            parts.pop()


def _read_permissions(name: bytes, folder: int) -> int | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode & 0o777
    except FileNotFoundError:
        return None


def _read_umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | DIRECTORY | CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


ShowPatch = Callable[[bytes], None]
"""Shows a patch before it is applied."""
