"""Changes of files: decided first, then each file written whole or not at all, and all files or none."""

import difflib
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from custody.core.errors import CustodyError, WorldError
from custody.intake.settings.files import (
    SettingsFile,
    delete,
    delete_if_empty,
    make_folder,
    put_aside,
    put_back,
    read_optional_file,
    write_atomically,
)
from custody.intake.settings.manifest import ManifestEntry

EditState = Literal["created", "changed", "unchanged", "deleted", "restored", "by hand"]

ASIDE = ".custody-chained"
"""What is put behind the name of a hook that was there before, when it can only be run from beside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What becomes of one file; None stands for a file that is not there.

    ``path`` is how people know the file, ``target`` where its bytes are (links followed). ``aside`` keeps the file as
    it was under another name, ``back`` is the name from which such a one returns. ``note`` is what the manifest shall
    remember (None: nothing any more). ``by_hand`` is what the user is asked to add, because we may not.
    """

    path: Path
    target: Path
    before: bytes | None
    after: bytes | None
    whose: str
    what: str
    note: ManifestEntry | None = None
    program: bool = False
    aside: Path | None = None
    back: Path | None = None
    by_hand: str | None = None
    folders: tuple[Path, ...] = field(default=())

    @property
    def changes(self) -> bool:
        """Whether anything is to be written at all."""
        return self.before != self.after or self.aside is not None or self.back is not None

    @property
    def done(self) -> EditState:
        """What this does to the file, in a word."""
        if self.by_hand is not None:
            return "by hand"
        if not self.changes:
            return "unchanged"
        if self.back is not None:
            return "restored"
        if self.before is None:
            return "created"
        return "deleted" if self.after is None else "changed"


def edit_of(
    seen: SettingsFile,
    whose: str,
    after: bytes | None,
    what: str,
    note: ManifestEntry | None = None,
    folders: tuple[Path, ...] = (),
) -> Edit:
    """What becomes of a file that was found; ``folders`` are those that come or go with it."""
    return Edit(
        path=seen.path,
        target=seen.target,
        before=seen.data,
        after=after,
        whose=whose,
        what=what,
        note=note,
        folders=folders,
    )


def diff(edit: Edit) -> str:
    """The change as a unified diff, for people: bytes that are no text are escaped."""
    old, new = (
        [] if data is None else data.decode("utf-8", "backslashreplace").splitlines(keepends=True)
        for data in (edit.before, edit.after)
    )
    names = (
        "/dev/null" if edit.before is None else f"{edit.path}",
        "/dev/null" if edit.after is None else f"{edit.path}",
    )
    lines = difflib.unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


# Doing what was decided: every file whole or not at all, and all files or none.


_FILE, _PROGRAM = 0o666, 0o777


def apply(edits: Sequence[Edit]) -> None:
    """Make every change; when one fails, those before it are undone and the error says so."""
    wanted = [edit for edit in edits if edit.changes]
    for edit in wanted:
        _check_still(edit)
    done = list[_PreviousFile]()
    try:
        for edit in wanted:
            done += [_was(path) for path in _touched(edit)]
            _change(edit)
    except BaseException:
        for was in reversed(done):
            _restore(was)
        for edit in wanted:
            if edit.before is None:
                _remove_folders(edit)
        raise
    for edit in wanted:
        if edit.after is None:
            _remove_folders(edit)


def _change(edit: Edit) -> None:
    if edit.back is not None:
        put_back(edit.back, edit.target)
        return
    if edit.after is None:
        delete(edit.target)
        return
    make_folder(edit.target.parent)
    if edit.aside is not None:
        put_aside(edit.target, edit.aside)
    mode = _PROGRAM if edit.program else _FILE
    write_atomically(edit.target, edit.after, mode=mode, keep=edit.aside is None)


def _check_still(edit: Edit) -> None:
    if read_optional_file(edit.target) != edit.before:
        raise WorldError(f"'{edit.path}' was changed by somebody else just now", hint="try again; nothing was changed")


def _remove_folders(edit: Edit) -> None:
    for folder in reversed(edit.folders):
        delete_if_empty(folder)


# Undoing. Whatever fails here must not hide why we undo.


@dataclass(frozen=True, slots=True)
class _PreviousFile:
    """What had a name before we touched it: nothing, a link, or a file."""

    path: Path
    link: str | None = None
    data: bytes | None = None
    mode: int = 0


def _touched(edit: Edit) -> list[Path]:
    return [path for path in (edit.target, edit.aside, edit.back) if path is not None]


def _was(path: Path) -> _PreviousFile:
    if path.is_symlink():
        return _PreviousFile(path, link=os.readlink(path))
    data = read_optional_file(path)
    return _PreviousFile(path, data=data, mode=0 if data is None else stat.S_IMODE(os.stat(path).st_mode))


def _restore(was: _PreviousFile) -> None:
    with suppress(OSError, CustodyError):
        if was == _was(was.path):
            return
        if was.link is not None or was.data is None:
            with suppress(FileNotFoundError):
                os.unlink(was.path)
        if was.link is not None:
            os.symlink(was.link, was.path)
        elif was.data is not None:
            write_atomically(was.path, was.data, mode=was.mode)
            os.chmod(was.path, was.mode)
