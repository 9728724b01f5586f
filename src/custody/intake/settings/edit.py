"""Changes of files: decided first, then each file written whole or not at all, and all files or none."""

import difflib
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from custody.core.errors import CustodyError, WorldError
from custody.intake.settings.files import (
    SettingsFile,
    delete_empty_settings_folder,
    delete_settings_file,
    link_settings_aside,
    make_settings_folder,
    read_optional_settings,
    restore_settings_aside,
    write_settings_atomically,
)
from custody.intake.settings.manifest import ManifestEntry

EditState = Literal["created", "changed", "unchanged", "deleted", "restored", "by hand"]

ASIDE = ".custody-chained"
"""The suffix of an existing hook that is saved next to ours and run by it."""


class Edit(Struct, frozen=True, kw_only=True):
    """The change of one file; None stands for a file that does not exist.

    ``path`` is how people know the file, ``target`` where its bytes are (links followed). ``aside`` saves the old file
    under another name, ``back`` is the name of a saved file to restore. ``note`` is the new entry of the manifest
    (None: remove it). ``by_hand`` is what the user has to add, because we may not.
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
        """Return whether this edit writes anything."""
        return self.before != self.after or self.aside is not None or self.back is not None

    @property
    def done(self) -> EditState:
        """Return the kind of this edit, in one word."""
        if self.by_hand is not None:
            return "by hand"
        if not self.changes:
            return "unchanged"
        if self.back is not None:
            return "restored"
        if self.before is None:
            return "created"
        return "deleted" if self.after is None else "changed"


def make_settings_file_edit(
    file: SettingsFile,
    whose: str,
    after: bytes | None,
    what: str,
    note: ManifestEntry | None = None,
    folders: tuple[Path, ...] = (),
) -> Edit:
    """Return the edit of a file; ``folders`` are created or removed with it."""
    return Edit(
        path=file.path,
        target=file.target,
        before=file.data,
        after=after,
        whose=whose,
        what=what,
        note=note,
        folders=folders,
    )


def render_edit_diff(edit: Edit) -> str:
    """Return the change as a unified diff, with binary bytes escaped."""
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


_FILE, _PROGRAM = 0o666, 0o777


def apply_settings_edits(edits: Sequence[Edit]) -> None:
    """Apply every edit; if one fails, undo those before it."""
    changes = [edit for edit in edits if edit.changes]
    for edit in changes:
        _check_settings_unchanged(edit)
    done = list[_PreviousFile]()
    try:
        for edit in changes:
            done += [_snapshot_settings_file(path) for path in _list_edit_paths(edit)]
            _apply_settings_edit(edit)
    except BaseException:
        for was in reversed(done):
            _restore_settings_file(was)
        for edit in changes:
            if edit.before is None:
                _remove_edit_folders(edit)
        raise
    for edit in changes:
        if edit.after is None:
            _remove_edit_folders(edit)


def _apply_settings_edit(edit: Edit) -> None:
    if edit.back is not None:
        restore_settings_aside(edit.back, edit.target)
        return
    if edit.after is None:
        delete_settings_file(edit.target)
        return
    make_settings_folder(edit.target.parent)
    if edit.aside is not None:
        link_settings_aside(edit.target, edit.aside)
    mode = _PROGRAM if edit.program else _FILE
    write_settings_atomically(edit.target, edit.after, mode=mode, keep=edit.aside is None)


def _check_settings_unchanged(edit: Edit) -> None:
    if read_optional_settings(edit.target) != edit.before:
        raise WorldError(f"'{edit.path}' was changed by another program", hint="try again; nothing was changed")


def _remove_edit_folders(edit: Edit) -> None:
    for folder in reversed(edit.folders):
        delete_empty_settings_folder(folder)


# A failure to undo must not hide the first error.


class _PreviousFile(Struct, frozen=True):
    """The state of a path before an edit: nothing, a link, or a file."""

    path: Path
    link: str | None = None
    data: bytes | None = None
    mode: int = 0


def _list_edit_paths(edit: Edit) -> list[Path]:
    return [path for path in (edit.target, edit.aside, edit.back) if path is not None]


def _snapshot_settings_file(path: Path) -> _PreviousFile:
    if path.is_symlink():
        return _PreviousFile(path, link=os.readlink(path))
    data = read_optional_settings(path)
    return _PreviousFile(path, data=data, mode=0 if data is None else stat.S_IMODE(os.stat(path).st_mode))


def _restore_settings_file(was: _PreviousFile) -> None:
    with suppress(OSError, CustodyError):
        if was == _snapshot_settings_file(was.path):
            return
        if was.link is not None or was.data is None:
            with suppress(FileNotFoundError):
                os.unlink(was.path)
        if was.link is not None:
            os.symlink(was.link, was.path)
        elif was.data is not None:
            write_settings_atomically(was.path, was.data, mode=was.mode)
            os.chmod(was.path, was.mode)
