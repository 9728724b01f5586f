"""What a patch changes, in the format of Codex CLI that others use too: its own text, and the changes of its events.

Pure. The text is the one that ``codex-rs/apply-patch/src/parser.rs`` describes (``*** Begin Patch`` to
``*** End Patch``), read as leniently about white space around its marks as Codex does; a text that is no patch gives
nothing. Changes are ``FileChange`` of ``codex-rs/protocol/src/protocol.rs``, tagged inside (``{"type": "add", …}``) as
since autumn 2025 or outside (``{"add": {…}}``) as before.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from msgspec import Struct

from custody.capture.tool_use import FileEffect
from custody.capture.typed_field import Fields, fields, get_string, text
from custody.core.paths import Lines
from custody.core.views import Text
from custody.core.wire.event_views import text_view

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, DELETE, UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
MOVE, FILE_END, ENVIRONMENT = "*** Move to: ", "*** End of File", "*** Environment ID: "
NUMBER_MAX = 2**53

_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d{1,15})(?:,(\d{1,15}))? @@")


class PatchKind(Enum):
    """What happens to a file."""

    ADD = "add"
    DELETE = "delete"
    UPDATE = "update"


class PatchHunk(Struct, frozen=True):
    """A stretch of a file before and after; ``lines`` is where it stands afterwards, if that was told."""

    before: str
    after: str
    lines: Lines | None = None


class PatchedFile(Struct, frozen=True, kw_only=True):
    """What happens to one file: ``before`` and ``after`` are the whole of it, ``pieces`` what an update replaces.

    ``untold``: an update whose text was erased, so that nobody knows any more what it replaced.
    """

    path: str
    kind: PatchKind
    moved: str | None = None
    before: Text | None = None
    after: Text | None = None
    pieces: tuple[PatchHunk, ...] = ()
    untold: Text | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The files that it touches, as written."""
        return (self.path,) if self.moved is None else (self.path, self.moved)


# --- the patch text ---------------------------------------------------------------------------------------------------


def changes_in(patch: str) -> tuple[PatchedFile, ...]:
    r"""The changes that a patch text asks for, in order; none for a text that is no whole patch.

    >>> changes_in("*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch")[0].after.content
    'one\n'
    """
    lines = [line.removesuffix("\r") for line in patch.split("\n")]
    marks = [line.strip() for line in lines]
    if BEGIN not in marks or END not in marks:
        return ()
    first = marks.index(BEGIN) + 1
    try:
        return tuple(_files(lines[first : marks.index(END, first)]))
    except ValueError:
        return ()


@dataclass(slots=True)
class _PatchFile:
    """A file of the patch as far as it was read."""

    kind: PatchKind
    path: str
    moved: str | None = None
    added: list[str] = field(default_factory=list)
    chunks: list[tuple[list[str], list[str]]] = field(default_factory=list)

    def line(self, line: str) -> None:
        """Take up one line; ``ValueError`` for one that cannot stand here."""
        if self.kind is PatchKind.ADD and line.startswith("+"):
            self.added.append(line[1:])
        elif self.kind is not PatchKind.UPDATE:
            raise ValueError(line)
        elif line.startswith(MOVE) and not self.chunks:
            self.moved = line.removeprefix(MOVE).strip()
        elif line.rstrip() == "@@" or line.startswith("@@ "):
            self.chunks.append(([], []))
        elif line.strip() != FILE_END:
            self._changed(line)

    def _changed(self, line: str) -> None:
        sign, rest = (line[0], line[1:]) if line else (" ", "")
        if sign not in " +-":
            raise ValueError(line)
        if not self.chunks:
            self.chunks.append(([], []))
        old, new = self.chunks[-1]
        if sign != "+":
            old.append(rest)
        if sign != "-":
            new.append(rest)

    def change(self) -> PatchedFile:
        """All of it."""
        pieces = (PatchHunk(_joined(old), _joined(new)) for old, new in self.chunks)
        return PatchedFile(
            path=self.path,
            kind=self.kind,
            moved=self.moved,
            after=text_view(_joined(self.added)) if self.kind is PatchKind.ADD else None,
            pieces=tuple(piece for piece in pieces if piece.before != piece.after),
        )


def _files(lines: Sequence[str]) -> Iterator[PatchedFile]:
    file: _PatchFile | None = None
    for line in lines:
        begun = _start_file(line.strip())
        if begun is not None:
            if file is not None:
                yield file.change()
            file = begun
        elif file is not None:
            file.line(line)
        elif line.strip() and not line.startswith(ENVIRONMENT):
            raise ValueError(line)
    if file is not None:
        yield file.change()


def _start_file(line: str) -> _PatchFile | None:
    for mark, kind in ((ADD, PatchKind.ADD), (DELETE, PatchKind.DELETE), (UPDATE, PatchKind.UPDATE)):
        if line.startswith(mark):
            return _PatchFile(kind, line.removeprefix(mark).strip())
    return None


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


# --- changes as events tell them --------------------------------------------------------------------------------------


def read_event_changes(said: object) -> tuple[PatchedFile, ...]:
    """The changes of an event, by path; what has none of the known shapes is left out."""
    found = (_parse_change(path, fields(change)) for path, change in sorted(fields(said).items()))
    return tuple(change for change in found if change is not None)


def _parse_change(path: str, said: Fields) -> PatchedFile | None:
    kind = next((kind for kind in PatchKind if said.get("type") == kind.value or kind.value in said), None)
    if kind is None or not path:
        return None
    inner = said if said.get("type") == kind.value else fields(said[kind.value])
    if kind is PatchKind.ADD:
        return PatchedFile(path=path, kind=kind, after=text(inner.get("content")))
    if kind is PatchKind.DELETE:
        return PatchedFile(path=path, kind=kind, before=text(inner.get("content")))
    diff = inner.get("unified_diff")
    return PatchedFile(
        path=path,
        kind=kind,
        moved=get_string(inner.get("move_path")) or None,
        pieces=tuple(_pieces(diff)) if isinstance(diff, str) else (),
        untold=None if isinstance(diff, str) else text(diff),
    )


def _pieces(diff: str) -> Iterator[PatchHunk]:
    """The hunks of a unified diff."""
    place, old, new = None, list[str](), list[str]()
    for line in [*diff.split("\n"), "@@"]:
        hunk = _HUNK.match(line)
        if hunk is not None or line == "@@":
            if old != new:
                yield PatchHunk(_joined(old), _joined(new), place)
            place, old, new = None if hunk is None else _lines(hunk), [], []
        elif line[:1] == "-" and not (line.startswith("--- ") and place is None and not old):
            old.append(line[1:])
        elif line[:1] == "+" and not (line.startswith("+++ ") and place is None and not new):
            new.append(line[1:])
        elif line[:1] == " ":
            old.append(line[1:])
            new.append(line[1:])


def _lines(hunk: re.Match[str]) -> Lines | None:
    first, count = int(hunk[1]), int(hunk[2] or 1)
    return Lines(first, first + count - 1) if 0 < first < NUMBER_MAX and 0 < count < NUMBER_MAX else None


# --- what becomes of the files ----------------------------------------------------------------------------------------


def effects_of(changes: Iterable[PatchedFile]) -> tuple[FileEffect, ...]:
    """What changes make of each file; a file that is moved is empty at its old place."""
    return tuple(effect for change in changes for effect in _effects(change))


def _effects(change: PatchedFile) -> Iterator[FileEffect]:
    target, gone = change.path if change.moved is None else change.moved, text_view("")
    if change.kind is PatchKind.ADD:
        yield FileEffect(target, None, change.after)
    elif change.kind is PatchKind.DELETE:
        yield FileEffect(target, change.before, gone)
    elif change.untold is not None:
        yield FileEffect(target, None, change.untold)
    for piece in change.pieces:
        lines = () if piece.lines is None else (piece.lines,)
        yield FileEffect(target, text_view(piece.before), text_view(piece.after), part=True, lines=lines)
    if change.moved is not None:
        yield FileEffect(change.path, None, gone)
