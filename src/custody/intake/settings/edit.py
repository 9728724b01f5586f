"""One file that is to be changed, decided before anything is written. Pure."""

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from custody.intake.settings.files import SettingsFile
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
