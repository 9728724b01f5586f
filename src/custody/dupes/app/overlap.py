"""Two changes side by side: their evidence, and the lines that both share."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.core.paths import Hunk
from custody.dupes.app.indexed_changes import (
    ChangedFileRow,
    load_dedupe_rules,
    make_changed_file_row,
    preview_change_duplicates,
    read_indexed_changes,
)
from custody.dupes.app.report import escape_change_name, report_indexed_change, report_overlap
from custody.dupes.app.select import UnknownChange, find_change_by_name
from custody.dupes.evidence import Overlap, SharedLines, compute_change_overlap
from custody.dupes.model import ChangeDescription, ChangedPiece, ChangeRow
from custody.dupes.wire import ChangeRefReport, DupesEvidence, DupesShowReport, OverlapReport
from custody.workspace.workspace import Workspace

LINES_MAX = 500
"""Lines shown of both changes together."""
HUNK_LINES_MAX = 120
"""Lines shown per hunk."""
FILES_MAX = 40
"""File pairs shown."""
LINE_CHARS_MAX = 240
"""Characters shown per line."""
PLACES_MAX = 2_000
"""Shared line ranges whose lines are marked."""


class SideLine(Struct, frozen=True):
    """A removed (-) or added (+) line; ``both`` marks a line that the other change has, too."""

    number: int
    sign: str
    text: str
    both: bool


class SideHunk(Struct, frozen=True):
    """Adjacent lines; ``left_out`` counts those beyond the limit."""

    lines: tuple[SideLine, ...]
    left_out: int = 0


class PairSide(Struct, frozen=True):
    """A file of one change."""

    file: ChangedFileRow
    hunks: tuple[SideHunk, ...]
    left_out: int = 0


class FilePair(Struct, frozen=True):
    """A file of this change and its counterpart in the other; None without a counterpart."""

    this: PairSide | None
    other: PairSide | None
    shared: int


class PairPage(Struct, frozen=True, kw_only=True):
    """Two changes and what they share.

    ``evidence`` is None if the search does not match them; ``unread`` says why their files are missing.
    """

    this: ChangeRefReport
    other: ChangeRefReport
    evidence: DupesEvidence | None = None
    kept: str | None = None
    """The id of the stored evidence, if that is shown."""
    replayed: str | None = None
    replay_why: str | None = None
    overlap: OverlapReport | None = None
    files: tuple[FilePair, ...] = ()
    files_left_out: int = 0
    unread: str | None = None


def compare_indexed_changes(workspace: Workspace, name: str, other: str) -> PairPage:
    """Compare two indexed changes; raises ``UnknownChange`` if one is not indexed."""
    row, other_row = find_change_by_name(workspace, name), find_change_by_name(workspace, other)
    if row.id == other_row.id:
        raise InputError("cannot compare a change with itself", hint="name two changes")
    every = _list_match_evidence(workspace, row)
    evidence = next((evidence for evidence in every if evidence.other.head == other_row.head), None)
    page = PairPage(this=report_indexed_change(row), other=report_indexed_change(other_row), evidence=evidence)
    return _add_file_pairs(workspace, page, row, other_row)


def _list_match_evidence(workspace: Workspace, row: ChangeRow) -> list[DupesEvidence]:
    try:
        report = preview_change_duplicates(workspace, row)
    except InputError:
        return []  # the page says in place of the files why the change cannot be read
    return [suggestion.evidence for suggestion in (*report.suggestions, *([report.nearest] if report.nearest else []))]


def compare_stored_evidence(workspace: Workspace, report: DupesShowReport) -> PairPage:
    """Compare the two changes of stored evidence, with the result of its replay."""
    evidence = report.evidence
    page = PairPage(
        this=evidence.this,
        other=evidence.other,
        evidence=evidence,
        kept=report.id,
        replayed=report.replayed,
        replay_why=report.replay_why,
    )
    try:
        row, other_row = (
            find_change_by_name(workspace, evidence.this.head),
            find_change_by_name(workspace, evidence.other.head),
        )
    except UnknownChange as error:
        return replace(page, overlap=evidence.overlap, unread=error.message)
    return _add_file_pairs(workspace, page, row, other_row)


def _add_file_pairs(workspace: Workspace, page: PairPage, row: ChangeRow, other_row: ChangeRow) -> PairPage:
    this, other = read_indexed_changes(workspace, [row, other_row])
    if isinstance(this, str) or isinstance(other, str):
        why = this if isinstance(this, str) else str(other)
        return replace(page, unread=f"cannot read one of the changes: {why}")
    overlap = compute_change_overlap(this, other, load_dedupe_rules(workspace), places_max=PLACES_MAX)
    pairs = _pair_changed_files(this, other, overlap)
    files = tuple(_make_file_pairs(pairs[:FILES_MAX], overlap))
    return replace(page, overlap=report_overlap(overlap), files=files, files_left_out=max(0, len(pairs) - FILES_MAX))


_Pair = tuple[ChangedPiece | None, ChangedPiece | None, int]


def _pair_changed_files(this: ChangeDescription, other: ChangeDescription, overlap: Overlap) -> list[_Pair]:
    """Pair each file with the one that shares most lines, else with its namesake; most shared lines first."""
    shared: Counter[tuple[str, str]] = Counter()
    for place in overlap.places:
        shared[place.path, place.other_path] += place.lines
    ours = {piece.path: piece for piece in this.pieces}
    theirs = {piece.path: piece for piece in other.pieces}
    pairs: list[_Pair] = []
    by_name = [(path, path) for path in ours if path in theirs]
    for path, other_path in (*sorted(shared, key=lambda pair: (-shared[pair], pair)), *by_name):
        if path in ours and other_path in theirs:
            pairs.append((ours.pop(path), theirs.pop(other_path), shared[path, other_path]))
    pairs += [(piece, None, 0) for piece in ours.values()]
    pairs += [(None, piece, 0) for piece in theirs.values()]
    return pairs


def _make_file_pairs(pairs: Sequence[_Pair], overlap: Overlap) -> Iterator[FilePair]:
    ours = _index_shared_lines((place.sign, place.path, place.line, place) for place in overlap.places)
    theirs = _index_shared_lines((place.sign, place.other_path, place.other_line, place) for place in overlap.places)
    left = LINES_MAX
    for this, other, shared in pairs:
        our_side = None if this is None else _make_pair_side(this, ours, left)
        left -= _count_side_lines(our_side)
        their_side = None if other is None else _make_pair_side(other, theirs, left)
        left -= _count_side_lines(their_side)
        yield FilePair(our_side, their_side, shared)


def _index_shared_lines(
    places: Iterator[tuple[str, str, int, SharedLines]],
) -> Mapping[str, frozenset[tuple[str, int]]]:
    """Return the shared lines of each file, by side (- or +) and number."""
    shared: dict[str, set[tuple[str, int]]] = {}
    for side, path, first, place in places:
        shared.setdefault(path, set()).update((side, first + n) for n in range(place.lines))
    return {path: frozenset(lines) for path, lines in shared.items()}


def _make_pair_side(piece: ChangedPiece, marks: Mapping[str, frozenset[tuple[str, int]]], left: int) -> PairSide:
    both = marks.get(piece.path, frozenset())
    hunks: list[SideHunk] = []
    for run in piece.runs:
        if left <= 0:
            break
        hunks.append(_make_side_hunk(run, both, min(left, HUNK_LINES_MAX)))
        left -= len(hunks[-1].lines)
    counted = sum(len(hunk.lines) + hunk.left_out for hunk in hunks)
    return PairSide(make_changed_file_row(piece), tuple(hunks), piece.added + piece.removed - counted)


def _make_side_hunk(run: Hunk[str], both: frozenset[tuple[str, int]], limit: int) -> SideHunk:
    lines = [("-", run.old_first + n, text) for n, text in enumerate(run.removed)]
    lines += [("+", run.new_first + n, text) for n, text in enumerate(run.added)]
    shown = (
        SideLine(number, side, _clip_hunk_line(text), (side, number) in both) for side, number, text in lines[:limit]
    )
    return SideHunk(tuple(shown), max(0, len(lines) - limit))


def _clip_hunk_line(line: str) -> str:
    return escape_change_name(line[:LINE_CHARS_MAX]) + ("…" if len(line) > LINE_CHARS_MAX else "")


def _count_side_lines(side: PairSide | None) -> int:
    return 0 if side is None else sum(len(hunk.lines) for hunk in side.hunks)
