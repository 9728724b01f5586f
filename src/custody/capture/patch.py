"""Changes of a patch, in Codex CLI's format, which other agents use too: the patch text, and changes in events.

Pure. ``codex-rs/apply-patch/src/parser.rs`` describes the text (``*** Begin Patch`` to ``*** End Patch``); white space
around its marks is ignored as in Codex, and any other text gives no changes. Changes are ``FileChange`` of
``codex-rs/protocol/src/protocol.rs``, tagged inside (``{"type": "add", …}``) since autumn 2025, outside (``{"add":
{…}}``) before.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from msgspec import Struct, field

from custody.capture.tool_use import FileEffect
from custody.capture.typed_field import Fields, get_captured_text, get_fields, get_string
from custody.core.paths import Lines
from custody.core.patterns import lazy_pattern
from custody.core.views import Text
from custody.core.wire.event_views import text_view_from_field

BEGIN, END = "*** Begin Patch", "*** End Patch"
ADD, DELETE, UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
MOVE, FILE_END, ENVIRONMENT = "*** Move to: ", "*** End of File", "*** Environment ID: "
NUMBER_MAX = 2**53

SEARCH_LINE = lazy_pattern(r"(?:<{5,9}|-{5,9}) SEARCH>?\s*")
DIVIDER_LINE = lazy_pattern(r"={5,9}\s*")
REPLACE_LINE = lazy_pattern(r"(?:>{5,9}|\+{5,9}) REPLACE>?\s*")
"""The marks of a SEARCH/REPLACE block, as Cline, Roo Code and Aider write them."""

_HUNK = lazy_pattern(r"@@ -\d+(?:,\d+)? \+(\d{1,15})(?:,(\d{1,15}))? @@")


class PatchKind(Enum):
    """The kind of change to a file."""

    ADD = "add"
    DELETE = "delete"
    UPDATE = "update"


class PatchHunk(Struct, frozen=True):
    """A block of a file before and after; ``lines`` are its lines afterwards, if reported."""

    before: str
    after: str
    lines: Lines | None = None


class PatchedFile(Struct, frozen=True, kw_only=True):
    """A change to one file: ``before`` and ``after`` are whole texts, ``pieces`` the blocks that an update replaces.

    ``erased``: the text of an update that was erased, so the replaced text is unknown.
    """

    path: str
    kind: PatchKind
    moved: str | None = None
    before: Text | None = None
    after: Text | None = None
    pieces: tuple[PatchHunk, ...] = ()
    erased: Text | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The files that the change touches, as written."""
        return (self.path,) if self.moved is None else (self.path, self.moved)


# --- the patch text ---------------------------------------------------------------------------------------------------


def parse_patch_text(patch: str) -> tuple[PatchedFile, ...]:
    r"""Return the changes of a patch text, in order; none for an incomplete patch.

    >>> parse_patch_text("*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch")[0].after.content
    'one\n'
    """
    lines = [line.removesuffix("\r") for line in patch.split("\n")]
    marks = [line.strip() for line in lines]
    if BEGIN not in marks or END not in marks:
        return ()
    first = marks.index(BEGIN) + 1
    try:
        return tuple(_parse_patch_files(lines[first : marks.index(END, first)]))
    except ValueError:
        return ()


class _PatchFile(Struct):
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
            self._add_changed_line(line)

    def _add_changed_line(self, line: str) -> None:
        mark, rest = (line[0], line[1:]) if line else (" ", "")
        if mark not in " +-":
            raise ValueError(line)
        if not self.chunks:
            self.chunks.append(([], []))
        old, new = self.chunks[-1]
        if mark != "+":
            old.append(rest)
        if mark != "-":
            new.append(rest)

    def change(self) -> PatchedFile:
        """Return all of it."""
        pieces = (PatchHunk(_join_patch_lines(old), _join_patch_lines(new)) for old, new in self.chunks)
        return PatchedFile(
            path=self.path,
            kind=self.kind,
            moved=self.moved,
            after=text_view_from_field(_join_patch_lines(self.added)) if self.kind is PatchKind.ADD else None,
            pieces=tuple(piece for piece in pieces if piece.before != piece.after),
        )


def _parse_patch_files(lines: Sequence[str]) -> Iterator[PatchedFile]:
    file: _PatchFile | None = None
    for line in lines:
        begun = _parse_patch_file_header(line.strip())
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


def _parse_patch_file_header(line: str) -> _PatchFile | None:
    for mark, kind in ((ADD, PatchKind.ADD), (DELETE, PatchKind.DELETE), (UPDATE, PatchKind.UPDATE)):
        if line.startswith(mark):
            return _PatchFile(kind, line.removeprefix(mark).strip())
    return None


def _join_patch_lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


# --- changes as events tell them --------------------------------------------------------------------------------------


def parse_event_changes(value: object) -> tuple[PatchedFile, ...]:
    """Return the changes of an event, by path; what has none of the known shapes is left out."""
    patched = (_parse_event_change(path, get_fields(change)) for path, change in sorted(get_fields(value).items()))
    return tuple(change for change in patched if change is not None)


def _parse_event_change(path: str, fields: Fields) -> PatchedFile | None:
    kind = next((kind for kind in PatchKind if fields.get("type") == kind.value or kind.value in fields), None)
    if kind is None or not path:
        return None
    inner = fields if fields.get("type") == kind.value else get_fields(fields[kind.value])
    if kind is PatchKind.ADD:
        return PatchedFile(path=path, kind=kind, after=get_captured_text(inner.get("content")))
    if kind is PatchKind.DELETE:
        return PatchedFile(path=path, kind=kind, before=get_captured_text(inner.get("content")))
    diff = inner.get("unified_diff")
    return PatchedFile(
        path=path,
        kind=kind,
        moved=get_string(inner.get("move_path")) or None,
        pieces=tuple(_parse_diff_hunks(diff)) if isinstance(diff, str) else (),
        erased=None if isinstance(diff, str) else get_captured_text(diff),
    )


def _parse_diff_hunks(diff: str) -> Iterator[PatchHunk]:
    """Yield the hunks of a unified diff."""
    place, old, new = None, list[str](), list[str]()
    for line in [*diff.split("\n"), "@@"]:
        hunk = _HUNK.match(line)
        if hunk is not None or line == "@@":
            if old != new:
                yield PatchHunk(_join_patch_lines(old), _join_patch_lines(new), place)
            place, old, new = None if hunk is None else _parse_hunk_lines(hunk), [], []
        elif line[:1] == "-" and not (line.startswith("--- ") and place is None and not old):
            old.append(line[1:])
        elif line[:1] == "+" and not (line.startswith("+++ ") and place is None and not new):
            new.append(line[1:])
        elif line[:1] == " ":
            old.append(line[1:])
            new.append(line[1:])


def _parse_hunk_lines(hunk: re.Match[str]) -> Lines | None:
    first, count = int(hunk[1]), int(hunk[2] or 1)
    return Lines(first, first + count - 1) if 0 < first < NUMBER_MAX and 0 < count < NUMBER_MAX else None


# --- blocks that replace text -----------------------------------------------------------------------------------------


def parse_replace_blocks(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    r"""Yield the text before and after of each complete SEARCH/REPLACE block.

    >>> list(parse_replace_blocks("<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE".split("\n")))
    [('a', 'b')]
    """
    parts: list[list[str]] = []
    for line in lines:
        if SEARCH_LINE.fullmatch(line):
            parts = [[]]
        elif len(parts) == 1 and DIVIDER_LINE.fullmatch(line):
            parts.append([])
        elif len(parts) == 2 and REPLACE_LINE.fullmatch(line):
            yield "\n".join(parts[0]), "\n".join(parts[1])
            parts = []
        elif parts:
            parts[-1].append(line)


# --- what becomes of the files ----------------------------------------------------------------------------------------


def file_effects_from_patch(changes: Iterable[PatchedFile]) -> tuple[FileEffect, ...]:
    """Return each file after the changes; a moved file is empty at its old path."""
    return tuple(effect for change in changes for effect in _effects_from_patched_file(change))


def _effects_from_patched_file(change: PatchedFile) -> Iterator[FileEffect]:
    target, gone = change.path if change.moved is None else change.moved, text_view_from_field("")
    if change.kind is PatchKind.ADD:
        yield FileEffect(target, None, change.after)
    elif change.kind is PatchKind.DELETE:
        yield FileEffect(target, change.before, gone)
    elif change.erased is not None:
        yield FileEffect(target, None, change.erased)
    for piece in change.pieces:
        lines = () if piece.lines is None else (piece.lines,)
        yield FileEffect(
            target, text_view_from_field(piece.before), text_view_from_field(piece.after), part=True, lines=lines
        )
    if change.moved is not None:
        yield FileEffect(change.path, None, gone)
