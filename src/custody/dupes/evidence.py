"""What two changes share, computed from the changes themselves, not from their signatures."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from custody.dupes.facts.model import Channel
from custody.dupes.facts.touched_facts import TouchedFacts
from custody.dupes.model import ChangeDescription, ChangedPiece
from custody.dupes.rules import DedupeRules
from custody.dupes.signature import LINE_CHARS_MIN, SCORED, SHINGLE_TOKENS, list_piece_paths
from custody.sketch.tokens import (
    compute_set_containment,
    compute_set_jaccard,
    mask_literals,
    normalize_line_spacing,
    shingle_tokens,
    tokenize_text,
)

SHOWN_MAX = 20
"""Names of each kind, and line ranges, that are listed; counts include all."""


class SharedLines(Struct, frozen=True):
    """A line range that both changes removed (-) or added (+), with its start in each."""

    sign: str
    path: str
    line: int
    other_path: str
    other_line: int
    lines: int


class SharedNames(Struct, frozen=True):
    """Names that both changes share: ``some`` of them, and their ``count``."""

    some: tuple[str, ...]
    count: int


class Overlap(Struct, frozen=True, kw_only=True):
    """What two changes share.

    ``shingles`` is the exact Jaccard similarity of their production code; ``contained`` is the share of this change
    that is in the other, ``contains`` the reverse; None if there is nothing to compare.
    """

    files: SharedNames
    folders: SharedNames
    symbols: SharedNames
    exports: SharedNames
    tests: SharedNames
    headings: SharedNames
    blocks: SharedNames
    references: SharedNames
    places: tuple[SharedLines, ...]
    lines: int
    shingles: float | None
    contained: float | None
    contains: float | None


def compute_change_overlap(
    this: ChangeDescription, other: ChangeDescription, rules: DedupeRules, *, places_max: int = SHOWN_MAX
) -> Overlap:
    """Compare two changes exactly."""
    ours, theirs = shingle_production_code(this, rules), shingle_production_code(other, rules)
    places, lines = _find_shared_lines(this.select_channels(*SCORED), other.select_channels(*SCORED))
    return Overlap(
        files=_find_shared_names(this, other, lambda change: list_piece_paths(change.pieces)),
        folders=_find_shared_names(
            this, other, lambda change: (path.rpartition("/")[0] or "." for path in list_piece_paths(change.pieces))
        ),
        symbols=_find_shared_names(
            this, other, lambda change: _collect_fact_names(change, lambda facts: facts.symbols)
        ),
        exports=_find_shared_names(
            this, other, lambda change: _collect_fact_names(change, lambda facts: facts.exports)
        ),
        tests=_find_shared_names(
            this, other, lambda change: _collect_fact_names(change, lambda facts: (*facts.suites, *facts.tests))
        ),
        headings=_find_shared_names(
            this, other, lambda change: _collect_fact_names(change, lambda facts: facts.headings)
        ),
        blocks=_find_shared_names(
            this, other, lambda change: _collect_fact_names(change, lambda facts: map(" ".join, facts.blocks))
        ),
        references=_find_shared_names(
            this, other, lambda change: _collect_fact_names(change, lambda facts: facts.references)
        ),
        places=tuple(places[:places_max]),
        lines=lines,
        shingles=compute_set_jaccard(ours, theirs) if ours and theirs else None,
        contained=compute_set_containment(ours, theirs) if theirs else None,
        contains=compute_set_containment(theirs, ours) if ours else None,
    )


def shingle_production_code(change: ChangeDescription, rules: DedupeRules) -> frozenset[str]:
    """Return the shingles of the production code that the signature is made from."""
    shingles: set[str] = set()
    for piece in change.select_channels(Channel.PRODUCTION):
        for run in piece.runs:
            for mark, lines in (("-", run.removed), ("+", run.added)):
                tokens = mask_literals(
                    tokenize_text("\n".join(lines)), numbers=rules.mask_numbers, strings=rules.mask_strings
                )
                shingles.update(mark + shingle for shingle in shingle_tokens(tokens, SHINGLE_TOKENS))
    return frozenset(shingles)


def _find_shared_names(
    this: ChangeDescription, other: ChangeDescription, names: Callable[[ChangeDescription], Iterable[str]]
) -> SharedNames:
    shared = sorted(set(names(this)) & set(names(other)))
    return SharedNames(tuple(shared[:SHOWN_MAX]), len(shared))


def _collect_fact_names(change: ChangeDescription, names: Callable[[TouchedFacts], Iterable[str]]) -> Iterator[str]:
    return (name for piece in change.pieces for facts in (piece.before, piece.after) for name in names(facts))


def _find_shared_lines(these: Sequence[ChangedPiece], others: Sequence[ChangedPiece]) -> tuple[list[SharedLines], int]:
    """Return the line ranges that are literally equal in both, longest first, and the number of equal lines."""
    known: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for mark, path, number, text in _list_changed_lines(others):
        known.setdefault((mark, text), []).append((path, number))
    places: list[SharedLines] = []
    count = 0
    for mark, path, number, text in _list_changed_lines(these):
        if candidates := known.get((mark, text)):
            count += 1
            other_path, other_number = _take_nearest_place(candidates, path)
            _append_shared_line(places, SharedLines(mark, path, number, other_path, other_number, 1))
    places.sort(key=lambda place: (-place.lines, place.path, place.line, place.sign))
    return places, count


def _take_nearest_place(places: list[tuple[str, int]], path: str) -> tuple[str, int]:
    """Return the next unused place, preferably in the same file; the last one may be used repeatedly."""
    index = next((at for at, (other, _) in enumerate(places) if other == path), 0)
    return places.pop(index) if len(places) > 1 else places[index]


def _append_shared_line(places: list[SharedLines], place: SharedLines) -> None:
    """Extend the last line range if the line continues it, else start a new one."""
    if places:
        last = places[-1]
        follows = (
            last.sign == place.sign
            and (last.path, last.line + last.lines) == (place.path, place.line)
            and (last.other_path, last.other_line + last.lines) == (place.other_path, place.other_line)
        )
        if follows:
            places[-1] = SharedLines(last.sign, last.path, last.line, last.other_path, last.other_line, last.lines + 1)
            return
    places.append(place)


def _list_changed_lines(pieces: Iterable[ChangedPiece]) -> Iterator[tuple[str, str, int, str]]:
    for piece in pieces:
        for run in piece.runs:
            for mark, first, lines in (("-", run.old_first, run.removed), ("+", run.new_first, run.added)):
                path = piece.old_path or piece.path if mark == "-" else piece.path
                for number, line in enumerate(lines, first):
                    if len(text := normalize_line_spacing(line)) >= LINE_CHARS_MIN:
                        yield mark, path, number, text
