"""The change behind a review page: its range, its hunks, and their lines with context."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import BlobSha
from custody.core.paths import Hunk
from custody.dupes import ChangeRow
from custody.dupes.app.indexed_changes import format_change_range
from custody.dupes.app.patch_identity import CONTEXT_LINES, IdentifiedHunk, list_identified_hunks
from custody.dupes.app.report import escape_change_name
from custody.dupes.app.select import UnknownChange, find_change_by_name
from custody.git import ChangeKind, Commit, FileDiff, HunkDetail, NoObject
from custody.server.app.questions import map_errors_to_404, require_project_repository
from custody.terminal.syntax import CHARACTERS_MAX, CodeLine, color_code_lines
from custody.workspace.change import NOT_SHOWN, ChangeRange, resolve_change_range
from custody.workspace.workspace import Workspace

BLOB_BYTES_MAX = 2 * 1024 * 1024
"""A larger file is shown without context."""
LINES_SHOWN_MAX = 400
"""Maximum lines of one hunk on a page."""


class DiffLine(Struct, frozen=True):
    """A line of a diff: ``+``, ``-`` or a space, its number before and after, and its colored text."""

    sign: str
    old: int | None
    new: int | None
    code: CodeLine

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(part.text for part in self.code)


class DiffHunk(Struct, frozen=True, kw_only=True):
    """A hunk by its patch identity, in the file that it belongs to."""

    id: str
    path: str
    file: FileDiff
    hunk: IdentifiedHunk

    @property
    def added(self) -> int:
        """The number of added lines."""
        return sum(len(run.added) for run in self.hunk.runs)

    @property
    def removed(self) -> int:
        """The number of removed lines."""
        return sum(len(run.removed) for run in self.hunk.runs)

    @property
    def note(self) -> str | None:
        """Why there is nothing to show; None if there is."""
        if self.file.shown is not HunkDetail.WHOLE:
            return NOT_SHOWN[self.file.shown]
        if self.hunk.runs:
            return None
        return "was renamed without changes" if self.file.change.kind is ChangeKind.RENAMED else "has no changed lines"

    @property
    def is_new_file(self) -> bool:
        """Whether the change adds the file."""
        return self.file.change.old is None

    @property
    def is_deleted_file(self) -> bool:
        """Whether the change deletes the file."""
        return self.file.change.new is None


class ChangeDiff(Struct, frozen=True, kw_only=True):
    """A change with its hunks in the order of its files."""

    name: str
    title: str
    range: ChangeRange
    row: ChangeRow | None
    hunks: Mapping[str, DiffHunk]

    @property
    def added(self) -> int:
        """The number of added lines."""
        return sum(hunk.added for hunk in self.hunks.values())

    @property
    def removed(self) -> int:
        """The number of removed lines."""
        return sum(hunk.removed for hunk in self.hunks.values())


def read_change_diff(workspace: Workspace, name: str) -> ChangeDiff:
    """Return a change by its ref, pull request number, head or range, with its hunks."""
    here = require_project_repository(workspace)
    row, text = _resolve_change_name(here, name)
    change = resolve_change_range(here.repository, text)
    hunks: dict[str, DiffHunk] = {}
    for file in change.files:
        path = file.change.path.display
        for hunk in list_identified_hunks(file):
            hunks[hunk.id] = DiffHunk(id=hunk.id, path=path, file=file, hunk=hunk)
    title = (row.title if row is not None else "") or _read_last_subject(change.commits) or change.head[:12]
    return ChangeDiff(name=name, title=escape_change_name(title), range=change, row=row, hunks=hunks)


def _resolve_change_name(workspace: Workspace, name: str) -> tuple[ChangeRow | None, str]:
    """Return the indexed change, if any, and the range of its commits."""
    if ".." in name:
        return None, name
    try:
        row = find_change_by_name(workspace, name)
    except UnknownChange:
        with map_errors_to_404(InputError):
            commit = workspace.repository.resolve(name)
        return None, f"{commit}~1..{commit}"
    return row, format_change_range(workspace, row)


def _read_last_subject(commits: Sequence[Commit]) -> str:
    return commits[0].subject.decode("utf-8", "replace") if commits else ""


class DiffReader:
    """Reads the lines of hunks with up to three unchanged lines around them; each file is read and colored once."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._texts: dict[BlobSha, list[str]] = {}
        self._colored: dict[BlobSha, Sequence[CodeLine] | None] = {}

    def read_lines(self, hunk: DiffHunk) -> list[DiffLine]:
        """Return the lines of a hunk, up to ``LINES_SHOWN_MAX``."""
        runs = hunk.hunk.runs
        if not runs:
            return []
        texts = self._read_texts(hunk.file)
        first = max(0, runs[0].new_index - CONTEXT_LINES) if texts else runs[0].new_index
        last = min(len(texts), runs[-1].new_index + len(runs[-1].added) + CONTEXT_LINES)
        old_path = hunk.path if hunk.file.change.old is None else hunk.file.change.old.path.display
        removed = color_code_lines(old_path, [_decode(line) for run in runs for line in run.removed])
        new = self._color_region(hunk, texts, first, last) if texts else _color_added(hunk, runs)
        return list(islice(_merge_lines(runs, removed, new, first, max(last, first)), LINES_SHOWN_MAX))

    def _read_texts(self, file: FileDiff) -> list[str]:
        """Return the lines of the file after the change; none if it was deleted, is gone or too large."""
        side = file.change.new
        if side is None:
            return []
        if side.blob not in self._texts:
            with self._workspace.repository.objects(BLOB_BYTES_MAX) as objects:
                found = objects.read(side.blob)
            content = b"" if isinstance(found, NoObject) else found.content.removesuffix(b"\n")
            self._texts[side.blob] = [_decode(line) for line in content.split(b"\n")] if content else []
        return self._texts[side.blob]

    def _color_region(self, hunk: DiffHunk, texts: list[str], first: int, last: int) -> Mapping[int, CodeLine]:
        """Return colored lines by their index: those of the whole file, or of a large file those of the hunk."""
        side = hunk.file.change.new
        assert side is not None, "a file with lines exists after the change"
        if side.blob not in self._colored:
            is_small = sum(len(text) + 1 for text in texts) <= CHARACTERS_MAX
            self._colored[side.blob] = color_code_lines(hunk.path, texts) if is_small else None
        whole = self._colored[side.blob]
        lines = color_code_lines(hunk.path, texts[first:last]) if whole is None else whole[first:last]
        return dict(enumerate(lines, first))


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")


def _color_added(hunk: DiffHunk, runs: Sequence[Hunk[bytes]]) -> Mapping[int, CodeLine]:
    lines = color_code_lines(hunk.path, [_decode(line) for run in runs for line in run.added])
    places = [run.new_index + at for run in runs for at in range(len(run.added))]
    return dict(zip(places, lines, strict=True))


def _merge_lines(
    runs: Sequence[Hunk[bytes]], removed: Sequence[CodeLine], new: Mapping[int, CodeLine], first: int, last: int
) -> Iterator[DiffLine]:
    at, old_at, gone = first, runs[0].old_index - (runs[0].new_index - first), 0
    for run in runs:
        for _ in range(run.new_index - at):
            yield DiffLine(" ", old_at + 1, at + 1, new.get(at, ()))
            at, old_at = at + 1, old_at + 1
        for _ in run.removed:
            yield DiffLine("-", old_at + 1, None, removed[gone])
            old_at, gone = old_at + 1, gone + 1
        for _ in run.added:
            yield DiffLine("+", None, at + 1, new.get(at, ()))
            at += 1
    for _ in range(last - at):
        yield DiffLine(" ", old_at + 1, at + 1, new.get(at, ()))
        at, old_at = at + 1, old_at + 1
