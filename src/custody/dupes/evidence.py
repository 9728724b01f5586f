"""What two changes have in common, in names and places: read from both changes themselves, not from their sketches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from custody.dupes.facts.model import Channel
from custody.dupes.facts.touched_facts import TouchedFacts
from custody.dupes.model import ChangeDescription, ChangedPiece
from custody.dupes.rules import DedupeRules
from custody.dupes.signature import LINE_CHARS_MIN, SCORED, SHINGLE_TOKENS, paths_of
from custody.sketch.tokens import containment, jaccard, mask_literals, normalised_line, shingles_of, tokens_of

SHOWN_MAX = 20
"""Of each kind of name and of places, so many are told; the counts are of all."""


@dataclass(frozen=True, slots=True)
class SharedLines:
    """Lines that both changes removed, or both added: where they begin in each, and how many there are."""

    sign: str
    path: str
    line: int
    other_path: str
    other_line: int
    lines: int


@dataclass(frozen=True, slots=True)
class SharedNames:
    """Names that both changes have: some of them, and how many there are."""

    some: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Everything that two changes have in common.

    ``shingles`` is the exact Jaccard similarity of their production code; ``contained`` is how much of this change is
    in the other one, ``contains`` how much of the other one is in it; None where there is nothing to compare.
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


def overlap_of(
    this: ChangeDescription, other: ChangeDescription, rules: DedupeRules, *, places_max: int = SHOWN_MAX
) -> Overlap:
    """Compare two changes as they were read."""
    ours, theirs = production_shingles(this, rules), production_shingles(other, rules)
    places, lines = _places(this.of(*SCORED), other.of(*SCORED))
    return Overlap(
        files=_common(this, other, lambda change: paths_of(change.pieces)),
        folders=_common(
            this, other, lambda change: (path.rpartition("/")[0] or "." for path in paths_of(change.pieces))
        ),
        symbols=_common(this, other, lambda change: _collect_names(change, lambda facts: facts.symbols)),
        exports=_common(this, other, lambda change: _collect_names(change, lambda facts: facts.exports)),
        tests=_common(this, other, lambda change: _collect_names(change, lambda facts: (*facts.suites, *facts.tests))),
        headings=_common(this, other, lambda change: _collect_names(change, lambda facts: facts.headings)),
        blocks=_common(this, other, lambda change: _collect_names(change, lambda facts: map(" ".join, facts.blocks))),
        references=_common(this, other, lambda change: _collect_names(change, lambda facts: facts.references)),
        places=tuple(places[:places_max]),
        lines=lines,
        shingles=jaccard(ours, theirs) if ours and theirs else None,
        contained=containment(ours, theirs) if theirs else None,
        contains=containment(theirs, ours) if ours else None,
    )


def production_shingles(change: ChangeDescription, rules: DedupeRules) -> frozenset[str]:
    """The shingles of a change's production code, as its signature is made from them."""
    found: set[str] = set()
    for piece in change.of(Channel.PRODUCTION):
        for run in piece.runs:
            for sign, side in (("-", run.removed), ("+", run.added)):
                tokens = mask_literals(
                    tokens_of("\n".join(side)), numbers=rules.mask_numbers, strings=rules.mask_strings
                )
                found.update(sign + shingle for shingle in shingles_of(tokens, SHINGLE_TOKENS))
    return frozenset(found)


def _common(
    this: ChangeDescription, other: ChangeDescription, names: Callable[[ChangeDescription], Iterable[str]]
) -> SharedNames:
    shared = sorted(set(names(this)) & set(names(other)))
    return SharedNames(tuple(shared[:SHOWN_MAX]), len(shared))


def _collect_names(change: ChangeDescription, what: Callable[[TouchedFacts], Iterable[str]]) -> Iterator[str]:
    return (name for piece in change.pieces for facts in (piece.before, piece.after) for name in what(facts))


def _places(these: Sequence[ChangedPiece], others: Sequence[ChangedPiece]) -> tuple[list[SharedLines], int]:
    """Lines that stand literally in both, as stretches; a line that the other one has often is matched once."""
    known: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for sign, path, number, text in _lines(others):
        known.setdefault((sign, text), []).append((path, number))
    places: list[SharedLines] = []
    count = 0
    for sign, path, number, text in _lines(these):
        if found := known.get((sign, text)):
            count += 1
            other_path, other_number = _nearest(found, path)
            _add(places, SharedLines(sign, path, number, other_path, other_number, 1))
    places.sort(key=lambda place: (-place.lines, place.path, place.line, place.sign))
    return places, count


def _nearest(found: list[tuple[str, int]], path: str) -> tuple[str, int]:
    """The next unused place, in the same file if there is one."""
    index = next((at for at, (other, _) in enumerate(found) if other == path), 0)
    return found.pop(index) if len(found) > 1 else found[index]


def _add(places: list[SharedLines], place: SharedLines) -> None:
    """Put a line to the stretch that it goes on, if it does."""
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


def _lines(pieces: Iterable[ChangedPiece]) -> Iterator[tuple[str, str, int, str]]:
    for piece in pieces:
        for run in piece.runs:
            for sign, first, side in (("-", run.old_first, run.removed), ("+", run.new_first, run.added)):
                for place, line in enumerate(side):
                    if len(text := normalised_line(line)) >= LINE_CHARS_MIN:
                        yield sign, piece.old_path or piece.path if sign == "-" else piece.path, first + place, text
