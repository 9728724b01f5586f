"""Which facts of a file a change touches: hunks against declarations, imports, tests, headings."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Protocol, TypeVar

from custody.core.paths import Lines
from custody.dupes.facts.model import Declaration, Facts


@dataclass(frozen=True, slots=True)
class TouchedFacts:
    """What the changed lines of one side belong to. Tuples are sorted and name nothing twice."""

    symbols: frozenset[str] = frozenset()
    """The innermost declaration around each changed line, and the one that holds it."""
    exports: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    suites: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    matchers: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    """The headings of the sections that the lines are in, or the changed ones themselves."""
    blocks: tuple[tuple[str, ...], ...] = ()
    """The tokens of the changed code blocks, each led by its language where one is given."""
    references: tuple[str, ...] = ()


class LineHolder(Protocol):
    """Anything that stands on lines."""

    @property
    def lines(self) -> Lines:
        """Where it stands."""


Holder = TypeVar("Holder", bound=LineHolder)


def find_touched_facts(facts: Facts, lines: Iterable[Lines]) -> TouchedFacts:
    """What the lines ``lines`` of the file with these facts belong to; work grows with facts and lines, sorted once."""
    hunks = _merged(lines)
    if not hunks:
        return TouchedFacts()
    intent, structure = facts.intent, facts.structure
    return TouchedFacts(
        symbols=frozenset(_symbols(facts.declared, hunks)),
        exports=frozenset(export.name for export in _touched(facts.exports, hunks)),
        imports=frozenset(imported.module for imported in _touched(facts.imports, hunks)),
        suites=_sorted(holder.name for holder in _innermost(intent.suites, hunks)),
        tests=_sorted(holder.name for holder in _innermost(intent.tests, hunks)),
        matchers=_sorted(matcher.name for matcher in _touched(intent.matched, hunks)),
        headings=_sorted(holder.text for holder in _last_before(structure.headings, hunks)),
        blocks=tuple(sorted({_tokens(block.language, block.tokens) for block in _touched(structure.blocks, hunks)})),
        references=_sorted(reference.name for reference in _touched(structure.references, hunks)),
    )


def _merged(lines: Iterable[Lines]) -> list[Lines]:
    """The same lines in order, none twice."""
    merged: list[Lines] = []
    for line in sorted(lines):
        if merged and line.first <= merged[-1].last + 1:
            merged[-1] = Lines(merged[-1].first, max(merged[-1].last, line.last))
        else:
            merged.append(line)
    return merged


def _symbols(declared: Sequence[Declaration], hunks: Sequence[Lines]) -> Iterator[str]:
    for declaration, holder in _innermost_held(declared, hunks):
        yield declaration.name
        if holder is not None:
            yield holder.name


def _touched(placed: Sequence[Holder], hunks: Sequence[Lines]) -> Iterator[Holder]:
    """Those that share a line with a hunk."""
    lasts = [hunk.last for hunk in hunks]
    for holder in placed:
        at = bisect_right(lasts, holder.lines.first - 1)
        if at < len(hunks) and hunks[at].first <= holder.lines.last:
            yield holder


def _innermost(placed: Sequence[Holder], hunks: Sequence[Lines]) -> Iterator[Holder]:
    return (holder for holder, _ in _innermost_held(placed, hunks))


def _innermost_held(placed: Sequence[Holder], hunks: Sequence[Lines]) -> Iterator[tuple[Holder, Holder | None]]:
    """Each that is the innermost around some changed line, with the next one around it.

    One sweep over the lines: what has begun and not ended is on a stack, the innermost last. Those on the same lines
    stand together: nobody can tell from lines which of them is meant.
    """
    groups = [[*group] for _, group in groupby(sorted(placed, key=_outer_first), key=_outer_first)]
    around: list[list[Holder]] = []
    begun = 0
    for hunk in hunks:
        line = hunk.first
        while line <= hunk.last:
            while begun < len(groups) and _lines(groups[begun]).first <= line:
                _close(around, _lines(groups[begun]).first)
                around.append(groups[begun])
                begun += 1
            _close(around, line)
            if around:
                holder = around[-2][-1] if len(around) > 1 else None
                yield from ((innermost, holder) for innermost in around[-1])
            edges = [_lines(around[-1]).last + 1] if around else []
            edges += [_lines(groups[begun]).first] if begun < len(groups) else []
            line = min(edges, default=hunk.last + 1)


def _outer_first(holder: LineHolder) -> tuple[int, int]:
    return holder.lines.first, -holder.lines.last


def _lines(group: Sequence[LineHolder]) -> Lines:
    return group[0].lines


def _close(around: list[list[Holder]], line: int) -> None:
    """Forget what ended before ``line``, as far as the innermost and the one around it go."""
    while around and _lines(around[-1]).last < line:
        around.pop()
    while len(around) > 1 and _lines(around[-2]).last < line:
        del around[-2]


def _last_before(placed: Sequence[Holder], hunks: Sequence[Lines]) -> Iterator[Holder]:
    """For each hunk those that begin on it, and the last that begins before it."""
    order = sorted(placed, key=_first)
    firsts = [_first(holder) for holder in order]
    for hunk in hunks:
        start = max(0, bisect_right(firsts, hunk.first) - 1)
        yield from order[start : bisect_right(firsts, hunk.last)]


_first: Callable[[LineHolder], int] = attrgetter("lines.first")


def _tokens(language: str, tokens: tuple[str, ...]) -> tuple[str, ...]:
    return (language, *tokens) if language else tokens


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
