"""What one execution teaches: which node contains which, which follows which, which needs which.

A lesson is the sum of its observations and does not depend on what was learnt before; the book adds lessons up.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

from custody.graph.model import CallSpan, EdgeKey, EdgeType, Node, Status, Witness
from custody.graph.spans import SpanForest

# Which of several siblings came directly before which.
# One comes before another when it ended before the other began; a call of no length that falls on the end of one and
# the beginning of another stands between them, and two such calls at one moment have no order. It comes *directly*
# before when no third stands between: this is the transitive reduction of an interval order. Calls that overlap are
# parallel: fork and join, not an order.
# Sorted by their ends, the direct predecessors of a call are neighbours, and later calls have later neighbours. So
# two fingers walk along the sorted ends, and pairs are counted by name without being listed: the time is that of
# sorting, plus one step for each pair of names that is told.


SiblingTime = tuple[int, int]
"""A time, and what happens at it: 0 something ends, 1 something without length happens, 2 something begins."""


@dataclass(frozen=True, slots=True)
class Succession:
    """That calls of one node came directly after calls of another, so many times; some pairs that show it."""

    before: str
    after: str
    count: int
    successes: int
    failures: int
    first_ns: int | None
    last_ns: int | None
    pairs: tuple[tuple[CallSpan, CallSpan], ...]


def followed_among(siblings: Sequence[CallSpan], pairs_max: int) -> Iterator[Succession]:
    """Every pair of nodes of which one came directly before the other, several times if at several moments."""
    for window, group in _groups(siblings):
        yield from window.followed_by(group, pairs_max)


def directly_before(siblings: Sequence[CallSpan], each_max: int) -> Iterator[tuple[CallSpan, CallSpan]]:
    """Calls with those that came directly before them, of those at most ``each_max``, the last to end."""
    for window, group in _groups(siblings):
        latest = window.latest(each_max)
        yield from ((before, after) for after in group for before in latest)


def _groups(siblings: Sequence[CallSpan]) -> Iterator[tuple["_Window", list[CallSpan]]]:
    """Calls that have the same calls directly before them, with the window as it stands at that moment."""
    stays = _stays(siblings)
    window = _Window(sorted((stay for stay in stays if stay.end), key=lambda stay: (stay.end, stay.span.id)))
    group: list[CallSpan] = []
    begun = [(stay.begin, stay.span) for stay in stays if stay.begin is not None]
    for begin, span in sorted(begun, key=lambda pair: (pair[0], pair[1].id)):
        if window.moves(begin):
            yield window, group
            group = []
            window.move(begin)
        group.append(span)
    yield window, group


@dataclass(frozen=True, slots=True)
class _CallInterval:
    """From when to when a call ran, as far as that is known."""

    span: CallSpan
    begin: SiblingTime | None
    end: SiblingTime | None


def _stays(siblings: Sequence[CallSpan]) -> list[_CallInterval]:
    """By time, or by the places of the records where one of the calls has no time at all."""
    timed = all(span.start_ns is not None or span.end_ns is not None for span in siblings)
    stays: list[_CallInterval] = []
    for span in siblings:
        start, end = (span.start_ns, span.end_ns) if timed else (span.began, span.ended)
        if start is not None and end is not None and end < start:
            # Only places can run backwards here: the end was heard of first.
            start, end = end, start
        flat = start == end
        begin = None if start is None else (start, 1 if flat else 2)
        stays.append(_CallInterval(span, begin, None if end is None else (end, 1 if flat else 0)))
    return stays


class _Window:
    """The direct predecessors of a call that begins at a moment, for moments that only grow."""

    def __init__(self, by_end: Sequence[_CallInterval]) -> None:
        self._by_end = by_end
        self._ends = [stay.end for stay in by_end if stay.end is not None]
        self._low = self._high = 0
        self._latest: SiblingTime | None = None
        self._names: dict[str, deque[CallSpan]] = {}

    def moves(self, begin: SiblingTime) -> bool:
        """Whether somebody more ended before ``begin``."""
        return self._high < len(self._ends) and self._ends[self._high] < begin

    def move(self, begin: SiblingTime) -> None:
        """In comes who ended before ``begin``; out goes who ended before one of those began."""
        while self.moves(begin):
            stay = self._by_end[self._high]
            self._names.setdefault(stay.span.node, deque()).append(stay.span)
            self._high += 1
            if stay.begin is not None:
                self._latest = stay.begin if self._latest is None else max(self._latest, stay.begin)
        while self._latest is not None and self._low < self._high and self._ends[self._low] < self._latest:
            node = self._by_end[self._low].span.node
            self._low += 1
            self._names[node].popleft()
            if not self._names[node]:
                del self._names[node]

    def latest(self, most: int) -> list[CallSpan]:
        """The last to end of those in the window."""
        return [stay.span for stay in self._by_end[max(self._low, self._high - most) : self._high]]

    def followed_by(self, group: Sequence[CallSpan], pairs_max: int) -> Iterator[Succession]:
        """What the calls of ``group`` followed: the window is the same for all of them."""
        after: dict[str, list[CallSpan]] = {}
        for span in group:
            after.setdefault(span.node, []).append(span)
        for name, spans in after.items():
            good = sum(span.status is Status.OK for span in spans)
            bad = sum(span.status is Status.FAILED for span in spans)
            times = [span.start_ns for span in spans if span.start_ns is not None]
            for before, mine in self._names.items():
                yield Succession(
                    before,
                    name,
                    len(mine) * len(spans),
                    len(mine) * good,
                    len(mine) * bad,
                    min(times, default=None),
                    max(times, default=None),
                    tuple((mine[-1], span) for span in islice(reversed(spans), pairs_max)),
                )


EVIDENCE_MAX = 8
"""Pairs of spans that are stored with an edge, the newest: enough to look at, and small for a million edges."""


@dataclass(slots=True)
class EdgeCounts:
    """How often an edge was seen in one execution, how its calls came out, when, and what shows it."""

    count: int = 0
    successes: int = 0
    failures: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    evidence: tuple[Witness, ...] = ()

    def add(self, other: "EdgeCounts") -> None:
        """Count what ``other`` saw too."""
        self.count += other.count
        self.successes += other.successes
        self.failures += other.failures
        self.first_ns = least(self.first_ns, other.first_ns)
        self.last_ns = most(self.last_ns, other.last_ns)
        self.evidence = newest(self.evidence, other.evidence)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one execution teaches about nodes and edges; no edge leads from a node to itself."""

    execution: str
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[EdgeKey, EdgeCounts] = field(default_factory=dict)


def least(number: int | None, other: int | None) -> int | None:
    """The smaller of two times of which either may be unknown."""
    return other if number is None else number if other is None else min(number, other)


def most(number: int | None, other: int | None) -> int | None:
    """The larger of two times of which either may be unknown."""
    return other if number is None else number if other is None else max(number, other)


def newest(group: Sequence[Witness], other: Sequence[Witness]) -> tuple[Witness, ...]:
    """The newest of both, the newest first, as ``one`` is already; the same whatever comes first."""
    if len(group) >= EVIDENCE_MAX and max(other, default=group[-1]) <= group[-1]:
        return tuple(group)
    return tuple(sorted({*group, *other}, reverse=True)[:EVIDENCE_MAX])


def lessons_of(forest: SpanForest) -> list[Lesson]:
    """One lesson for each execution, in the order in which they were first heard of."""
    executions: dict[str, list[CallSpan]] = {}
    for span in forest.spans:
        executions.setdefault(span.execution, []).append(span)
    return [_lesson(execution, spans) for execution, spans in executions.items()]


def _lesson(execution: str, spans: Sequence[CallSpan]) -> Lesson:
    lesson = Lesson(execution)
    for span in spans:
        called = lesson.nodes.setdefault(span.node, Node(span.node, span.kind))
        called.count += 1
        called.failures += span.status is Status.FAILED
    by_id = {span.id: span for span in spans}
    for key, seen in (*_contained(spans, by_id), *_needed(spans, by_id), *_followed(spans)):
        _put(lesson, key, seen)
    return lesson


def _put(lesson: Lesson, key: EdgeKey, seen: EdgeCounts) -> None:
    """A node that leads to itself is a counter of the node: no edge."""
    start, end, kind = key
    if start != end:
        lesson.edges.setdefault(key, EdgeCounts()).add(seen)
    elif kind is EdgeType.SEQUENCE:
        lesson.nodes[start].repeats += seen.count
    else:
        lesson.nodes[start].recursions += seen.count


def _contained(spans: Iterable[CallSpan], by_id: dict[str, CallSpan]) -> Iterator[tuple[EdgeKey, EdgeCounts]]:
    for span in spans:
        if span.parent is not None:
            above = by_id[span.parent]
            yield (above.node, span.node, EdgeType.CONTAINS), _pair(above, span)


def _needed(spans: Iterable[CallSpan], by_id: dict[str, CallSpan]) -> Iterator[tuple[EdgeKey, EdgeCounts]]:
    for span in spans:
        for needed in span.needs:
            if needed in by_id and needed != span.id:
                yield (by_id[needed].node, span.node, EdgeType.DEPENDENCY), _pair(by_id[needed], span)


def _followed(spans: Iterable[CallSpan]) -> Iterator[tuple[EdgeKey, EdgeCounts]]:
    """Siblings are those with one parent, be it here or only named; whoever has none stands in a row of the session."""
    siblings: dict[str, list[CallSpan]] = {}
    alone: dict[str | None, list[CallSpan]] = {}
    for span in spans:
        above = span.link if span.parent is None else span.parent
        if above is None:
            alone.setdefault(span.session, []).append(span)
        else:
            siblings.setdefault(above, []).append(span)
    for group in siblings.values():
        if len(group) > 1:
            yield from _in_order(group)
    for row in alone.values():
        if all(span.start_ns is not None and span.end_ns is not None for span in row):
            yield from _in_order(row)
        else:
            pairs = ((a, b) for a, b in pairwise(_in_a_row(row)) if _can_follow(a, b))
            yield from (((a.node, b.node, EdgeType.SEQUENCE), _pair(a, b)) for a, b in pairs)


def _in_order(siblings: Sequence[CallSpan]) -> Iterator[tuple[EdgeKey, EdgeCounts]]:
    for found in followed_among(siblings, EVIDENCE_MAX):
        evidence = tuple(_witness(before, after) for before, after in found.pairs)
        yield (
            (found.before, found.after, EdgeType.SEQUENCE),
            EdgeCounts(found.count, found.successes, found.failures, found.first_ns, found.last_ns, evidence),
        )


def _in_a_row(spans: Iterable[CallSpan]) -> list[CallSpan]:
    """By end where it is known; a span without one stays behind those that came in before it."""
    latest: int | None = None
    keyed: list[tuple[int | None, int, CallSpan]] = []
    for place, span in enumerate(sorted(spans, key=_find_end_place)):
        latest = span.end_ns if span.end_ns is not None else latest
        keyed.append((latest, place, span))
    return [span for _, _, span in sorted(keyed, key=lambda row: (row[0] is not None, row[0] or 0, row[1]))]


def _find_end_place(span: CallSpan) -> int:
    """The place of its end, as the document orders calls; else of whatever was heard of it."""
    return span.first if span.ended is None else span.ended


def _can_follow(before: CallSpan, after: CallSpan) -> bool:
    """Whether no time that is known says otherwise."""
    left = before.start_ns if before.end_ns is None else before.end_ns
    right = after.end_ns if after.start_ns is None else after.start_ns
    return left is None or right is None or left <= right


def _pair(before: CallSpan, after: CallSpan) -> EdgeCounts:
    at_ns = after.end_ns if after.start_ns is None else after.start_ns
    good, bad = after.status is Status.OK, after.status is Status.FAILED
    return EdgeCounts(1, int(good), int(bad), at_ns, at_ns, (_witness(before, after),))


def _witness(before: CallSpan, after: CallSpan) -> Witness:
    at_ns = after.end_ns if after.start_ns is None else after.start_ns
    return Witness(at_ns or 0, after.execution, before.id, after.id)
