"""Two changes beside each other: what was found when they were compared, and the lines that both have."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from custody.core.errors import InputError
from custody.dupes.app.indexed_changes import (
    ChangedFileRow,
    change_like,
    changes_read,
    dedupe_rules,
    file_touched,
)
from custody.dupes.app.report import escape_name, report_indexed_change, report_overlap
from custody.dupes.app.select import UnknownChange, find_change
from custody.dupes.evidence import Overlap, SharedLines, overlap_of
from custody.dupes.model import ChangeDescription, ChangedPiece, ChangeRow, LineRun
from custody.dupes.wire import ChangeRefReport, DupesEvidence, DupesShowReport, OverlapReport
from custody.workspace.workspace import Workspace

LINES_MAX = 500
"""Lines of both changes together that are shown."""
HUNK_LINES_MAX = 120
"""Lines of one stretch that are shown."""
FILES_MAX = 40
"""Files, those that both have counted once, that are shown."""
SIGNS_MAX = 240
"""Of one line."""
PLACES_MAX = 2_000
"""Stretches of lines that both have, of which each line is marked."""


@dataclass(frozen=True, slots=True)
class SideLine:
    """A line that a change removed (-) or added (+); ``both`` marks one that the other change has too."""

    number: int
    sign: str
    text: str
    both: bool


@dataclass(frozen=True, slots=True)
class SideHunk:
    """Lines that stand together; of a long stretch the first ones, and how many are left out."""

    lines: tuple[SideLine, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class PairSide:
    """A file of one change."""

    file: ChangedFileRow
    hunks: tuple[SideHunk, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class FilePair:
    """A file of this change beside the one of the other that it goes with; None where it goes with none."""

    this: PairSide | None
    other: PairSide | None
    shared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPage:
    """Two changes and what they have in common.

    ``evidence`` is None where the search did not bring them together; ``unread`` says why their files are not here.
    """

    this: ChangeRefReport
    other: ChangeRefReport
    evidence: DupesEvidence | None = None
    kept: str | None = None
    """The id of stored evidence, where that is what is shown."""
    replayed: str | None = None
    replay_why: str | None = None
    overlap: OverlapReport | None = None
    files: tuple[FilePair, ...] = ()
    files_left_out: int = 0
    unread: str | None = None


def compare_changes(workspace: Workspace, name: str, other: str) -> PairPage:
    """Two indexed changes beside each other; ``UnknownChange`` where one of them is not indexed."""
    row, beside = find_change(workspace, name), find_change(workspace, other)
    if row.id == beside.id:
        raise InputError("a change is like itself in everything", hint="name two changes")
    evidence = next(
        (
            dupes_evidence
            for dupes_evidence in _find_evidence(workspace, row)
            if dupes_evidence.other.head == beside.head
        ),
        None,
    )
    seen = PairPage(this=report_indexed_change(row), other=report_indexed_change(beside), evidence=evidence)
    return _with_files(workspace, seen, row, beside)


def _find_evidence(workspace: Workspace, row: ChangeRow) -> list[DupesEvidence]:
    try:
        found = change_like(workspace, row)
    except InputError:
        return []  # a change that cannot be read: that is said where its files would stand
    return [suggestion.evidence for suggestion in (*found.suggestions, *([found.nearest] if found.nearest else []))]


def compare_stored(workspace: Workspace, report: DupesShowReport) -> PairPage:
    """The two changes of stored evidence, with what the index says of it now."""
    evidence = report.evidence
    seen = PairPage(
        this=evidence.this,
        other=evidence.other,
        evidence=evidence,
        kept=report.id,
        replayed=report.replayed,
        replay_why=report.replay_why,
    )
    try:
        row, beside = find_change(workspace, evidence.this.head), find_change(workspace, evidence.other.head)
    except UnknownChange as error:
        return replace(seen, overlap=evidence.overlap, unread=error.message)
    return _with_files(workspace, seen, row, beside)


def _with_files(workspace: Workspace, seen: PairPage, row: ChangeRow, beside: ChangeRow) -> PairPage:
    this, other = changes_read(workspace, [row, beside])
    if isinstance(this, str) or isinstance(other, str):
        why = this if isinstance(this, str) else str(other)
        return replace(seen, unread=f"one of them cannot be read: {why}")
    overlap = overlap_of(this, other, dedupe_rules(workspace), places_max=PLACES_MAX)
    pairs = _paired(this, other, overlap)
    files = tuple(_besides(pairs[:FILES_MAX], overlap))
    return replace(seen, overlap=report_overlap(overlap), files=files, files_left_out=max(0, len(pairs) - FILES_MAX))


_Pair = tuple[ChangedPiece | None, ChangedPiece | None, int]


def _paired(this: ChangeDescription, other: ChangeDescription, overlap: Overlap) -> list[_Pair]:
    """Each file with the one that shares the most lines with it, else the one of its name; what shares comes first."""
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


def _besides(pairs: Sequence[_Pair], overlap: Overlap) -> Iterator[FilePair]:
    ours = _marks((place.sign, place.path, place.line, place) for place in overlap.places)
    theirs = _marks((place.sign, place.other_path, place.other_line, place) for place in overlap.places)
    left = LINES_MAX
    for this, other, shared in pairs:
        our_side = None if this is None else _side(this, ours, left)
        left -= _shown(our_side)
        their_side = None if other is None else _side(other, theirs, left)
        left -= _shown(their_side)
        yield FilePair(our_side, their_side, shared)


def _marks(places: Iterator[tuple[str, str, int, SharedLines]]) -> Mapping[str, frozenset[tuple[str, int]]]:
    """The lines of each file that both changes have, by sign and number."""
    found: dict[str, set[tuple[str, int]]] = {}
    for sign, path, first, place in places:
        found.setdefault(path, set()).update((sign, first + n) for n in range(place.lines))
    return {path: frozenset(lines) for path, lines in found.items()}


def _side(piece: ChangedPiece, marks: Mapping[str, frozenset[tuple[str, int]]], left: int) -> PairSide:
    both = marks.get(piece.path, frozenset())
    hunks: list[SideHunk] = []
    for run in piece.runs:
        if left <= 0:
            break
        hunks.append(_hunk(run, both, min(left, HUNK_LINES_MAX)))
        left -= len(hunks[-1].lines)
    told = sum(len(hunk.lines) + hunk.left_out for hunk in hunks)
    return PairSide(file_touched(piece), tuple(hunks), piece.added + piece.removed - told)


def _hunk(run: LineRun, both: frozenset[tuple[str, int]], most: int) -> SideHunk:
    lines = [("-", run.old_first + n, text) for n, text in enumerate(run.removed)]
    lines += [("+", run.new_first + n, text) for n, text in enumerate(run.added)]
    made = (SideLine(number, sign, _text(text), (sign, number) in both) for sign, number, text in lines[:most])
    return SideHunk(tuple(made), max(0, len(lines) - most))


def _text(line: str) -> str:
    return escape_name(line[:SIGNS_MAX]) + ("…" if len(line) > SIGNS_MAX else "")


def _shown(side: PairSide | None) -> int:
    return 0 if side is None else sum(len(hunk.lines) for hunk in side.hunks)
