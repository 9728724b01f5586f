"""The facts of a file that a change touches: hunks intersected with declarations, imports, tests, headings."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Protocol, TypeVar

from msgspec import Struct

from custody.core.paths import Lines
from custody.dupes.facts.model import Declaration, Facts


class TouchedFacts(Struct, frozen=True):
    """The facts that the changed lines of one side belong to. Tuples are sorted and unique."""

    symbols: frozenset[str] = frozenset()
    """The innermost declaration around each changed line, and the next outer one."""
    exports: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    suites: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    matchers: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    """The changed headings, and those of the changed sections."""
    blocks: tuple[tuple[str, ...], ...] = ()
    """The tokens of the changed code blocks, each after its language, if any."""
    references: tuple[str, ...] = ()


class LineHolder(Protocol):
    """A fact with lines."""

    @property
    def lines(self) -> Lines:
        """Its lines."""


Holder = TypeVar("Holder", bound=LineHolder)


def find_touched_facts(facts: Facts, lines: Iterable[Lines]) -> TouchedFacts:
    """Return the facts that ``lines`` of a file belong to; sorts facts and lines once."""
    hunks = _merge_hunk_lines(lines)
    if not hunks:
        return TouchedFacts()
    intent, structure = facts.intent, facts.structure
    return TouchedFacts(
        symbols=frozenset(_find_touched_symbols(facts.declared, hunks)),
        exports=frozenset(export.name for export in _find_touched_holders(facts.exports, hunks)),
        imports=frozenset(imported.module for imported in _find_touched_holders(facts.imports, hunks)),
        suites=_sort_unique_names(holder.name for holder in _find_innermost_holders(intent.suites, hunks)),
        tests=_sort_unique_names(holder.name for holder in _find_innermost_holders(intent.tests, hunks)),
        matchers=_sort_unique_names(matcher.name for matcher in _find_touched_holders(intent.matched, hunks)),
        headings=_sort_unique_names(holder.text for holder in _find_preceding_holders(structure.headings, hunks)),
        blocks=tuple(
            sorted(
                {
                    _prepend_block_language(block.language, block.tokens)
                    for block in _find_touched_holders(structure.blocks, hunks)
                }
            )
        ),
        references=_sort_unique_names(
            reference.name for reference in _find_touched_holders(structure.references, hunks)
        ),
    )


def _merge_hunk_lines(lines: Iterable[Lines]) -> list[Lines]:
    """Return the same lines sorted and merged."""
    merged: list[Lines] = []
    for line in sorted(lines):
        if merged and line.first <= merged[-1].last + 1:
            merged[-1] = Lines(merged[-1].first, max(merged[-1].last, line.last))
        else:
            merged.append(line)
    return merged


def _find_touched_symbols(declared: Sequence[Declaration], hunks: Sequence[Lines]) -> Iterator[str]:
    for declaration, holder in _sweep_innermost_holders(declared, hunks):
        yield declaration.name
        if holder is not None:
            yield holder.name


def _find_touched_holders(facts: Sequence[Holder], hunks: Sequence[Lines]) -> Iterator[Holder]:
    """Yield the facts that share a line with a hunk."""
    lasts = [hunk.last for hunk in hunks]
    for holder in facts:
        at = bisect_right(lasts, holder.lines.first - 1)
        if at < len(hunks) and hunks[at].first <= holder.lines.last:
            yield holder


def _find_innermost_holders(facts: Sequence[Holder], hunks: Sequence[Lines]) -> Iterator[Holder]:
    return (holder for holder, _ in _sweep_innermost_holders(facts, hunks))


def _sweep_innermost_holders(facts: Sequence[Holder], hunks: Sequence[Lines]) -> Iterator[tuple[Holder, Holder | None]]:
    """Yield each fact that is the innermost around a changed line, with the next outer fact.

    One sweep over the lines, with a stack of open facts, the innermost last. Facts on the same lines are one group,
    since lines cannot tell them apart.
    """
    groups = [[*group] for _, group in groupby(sorted(facts, key=_to_nesting_key), key=_to_nesting_key)]
    stack: list[list[Holder]] = []
    started = 0
    for hunk in hunks:
        line = hunk.first
        while line <= hunk.last:
            while started < len(groups) and _get_group_lines(groups[started]).first <= line:
                _drop_ended_holders(stack, _get_group_lines(groups[started]).first)
                stack.append(groups[started])
                started += 1
            _drop_ended_holders(stack, line)
            if stack:
                holder = stack[-2][-1] if len(stack) > 1 else None
                yield from ((innermost, holder) for innermost in stack[-1])
            edges = [_get_group_lines(stack[-1]).last + 1] if stack else []
            edges += [_get_group_lines(groups[started]).first] if started < len(groups) else []
            line = min(edges, default=hunk.last + 1)


def _to_nesting_key(holder: LineHolder) -> tuple[int, int]:
    return holder.lines.first, -holder.lines.last


def _get_group_lines(group: Sequence[LineHolder]) -> Lines:
    return group[0].lines


def _drop_ended_holders(stack: list[list[Holder]], line: int) -> None:
    """Drop facts that ended before ``line`` from the top two of the stack."""
    while stack and _get_group_lines(stack[-1]).last < line:
        stack.pop()
    while len(stack) > 1 and _get_group_lines(stack[-2]).last < line:
        del stack[-2]


def _find_preceding_holders(facts: Sequence[Holder], hunks: Sequence[Lines]) -> Iterator[Holder]:
    """Yield for each hunk the facts that start in it, and the last one that starts before it."""
    order = sorted(facts, key=_first)
    firsts = [_first(holder) for holder in order]
    for hunk in hunks:
        start = max(0, bisect_right(firsts, hunk.first) - 1)
        yield from order[start : bisect_right(firsts, hunk.last)]


_first: Callable[[LineHolder], int] = attrgetter("lines.first")


def _prepend_block_language(language: str, tokens: tuple[str, ...]) -> tuple[str, ...]:
    return (language, *tokens) if language else tokens


def _sort_unique_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
