"""The lesson of one execution: which node contains which, which follows which, which needs which.

A lesson is the sum of its observations and does not depend on earlier lessons; the book adds lessons up.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from msgspec import Struct, field

from custody.graph.model import CallSpan, EdgeKey, EdgeType, Node, Status, Witness
from custody.graph.spans import SpanForest

# Which of several siblings came directly before which.
# A call comes before another when it ended before the other started. A call of zero length at the end of one call and
# the start of another comes between them, and two such calls at one time have no order. A call comes *directly* before
# another when no third is between: this is the transitive reduction of an interval order. Calls that overlap are
# parallel: fork and join, not an order.
# Sorted by their ends, the direct predecessors of a call are adjacent, and later calls have later predecessors. So two
# pointers walk along the sorted ends, and pairs are counted by name without being listed: the time is that of sorting,
# plus one step for each reported pair of names.


SiblingTime = tuple[int, int]
"""A time, and what happens then: 0 a call ends, 1 a call of zero length happens, 2 a call starts."""


class Succession(Struct, frozen=True):
    """Calls of one node that came directly after calls of another: how many, and some pairs as evidence."""

    before: str
    after: str
    count: int
    successes: int
    failures: int
    first_ns: int | None
    last_ns: int | None
    pairs: tuple[tuple[CallSpan, CallSpan], ...]


def iterate_call_successions(siblings: Sequence[CallSpan], pairs_max: int) -> Iterator[Succession]:
    """Yield every pair of nodes with direct succession, several times if at several times."""
    for window, group in _group_calls_by_predecessors(siblings):
        yield from window.iterate_successions(group, pairs_max)


def iterate_direct_predecessors(siblings: Sequence[CallSpan], each_max: int) -> Iterator[tuple[CallSpan, CallSpan]]:
    """Yield calls with their direct predecessors, at most ``each_max`` per call, the last to end."""
    for window, group in _group_calls_by_predecessors(siblings):
        latest = window.latest(each_max)
        yield from ((before, after) for after in group for before in latest)


def _group_calls_by_predecessors(siblings: Sequence[CallSpan]) -> Iterator[tuple["_Window", list[CallSpan]]]:
    """Yield calls with the same direct predecessors, and the window at that time."""
    intervals = _list_call_intervals(siblings)
    ended = (interval for interval in intervals if interval.end)
    window = _Window(sorted(ended, key=lambda interval: (interval.end, interval.span.id)))
    group: list[CallSpan] = []
    started = [(interval.begin, interval.span) for interval in intervals if interval.begin is not None]
    for begin, span in sorted(started, key=lambda pair: (pair[0], pair[1].id)):
        if window.moves(begin):
            yield window, group
            group = []
            window.move(begin)
        group.append(span)
    yield window, group


class _CallInterval(Struct, frozen=True):
    """The start and end of a call, as far as known."""

    span: CallSpan
    begin: SiblingTime | None
    end: SiblingTime | None


def _list_call_intervals(siblings: Sequence[CallSpan]) -> list[_CallInterval]:
    """Return intervals by time, or by record positions if one of the calls has no time at all."""
    timed = all(span.start_ns is not None or span.end_ns is not None for span in siblings)
    intervals: list[_CallInterval] = []
    for span in siblings:
        start, end = (span.start_ns, span.end_ns) if timed else (span.began, span.ended)
        if start is not None and end is not None and end < start:
            # Only positions can run backward here: the end was recorded first.
            start, end = end, start
        flat = start == end
        begin = None if start is None else (start, 1 if flat else 2)
        intervals.append(_CallInterval(span, begin, None if end is None else (end, 1 if flat else 0)))
    return intervals


class _Window:
    """The direct predecessors of a call that starts at a given time; times only grow."""

    def __init__(self, by_end: Sequence[_CallInterval]) -> None:
        self._by_end = by_end
        self._ends = [interval.end for interval in by_end if interval.end is not None]
        self._low = self._high = 0
        self._latest: SiblingTime | None = None
        self._names: dict[str, deque[CallSpan]] = {}

    def moves(self, begin: SiblingTime) -> bool:
        """Return whether another call ended before ``begin``."""
        return self._high < len(self._ends) and self._ends[self._high] < begin

    def move(self, begin: SiblingTime) -> None:
        """Add the calls that ended before ``begin``; remove those that ended before one of them started."""
        while self.moves(begin):
            interval = self._by_end[self._high]
            self._names.setdefault(interval.span.node, deque()).append(interval.span)
            self._high += 1
            if interval.begin is not None:
                self._latest = interval.begin if self._latest is None else max(self._latest, interval.begin)
        while self._latest is not None and self._low < self._high and self._ends[self._low] < self._latest:
            node = self._by_end[self._low].span.node
            self._low += 1
            self._names[node].popleft()
            if not self._names[node]:
                del self._names[node]

    def latest(self, most: int) -> list[CallSpan]:
        """Return the last to end of the calls in the window."""
        return [interval.span for interval in self._by_end[max(self._low, self._high - most) : self._high]]

    def iterate_successions(self, group: Sequence[CallSpan], pairs_max: int) -> Iterator[Succession]:
        """Yield the predecessors of the calls of ``group``, which all have this window."""
        after: dict[str, list[CallSpan]] = {}
        for span in group:
            after.setdefault(span.node, []).append(span)
        for name, spans in after.items():
            ok = sum(span.status is Status.OK for span in spans)
            failed = sum(span.status is Status.FAILED for span in spans)
            times = [span.start_ns for span in spans if span.start_ns is not None]
            for before, predecessors in self._names.items():
                yield Succession(
                    before,
                    name,
                    len(predecessors) * len(spans),
                    len(predecessors) * ok,
                    len(predecessors) * failed,
                    min(times, default=None),
                    max(times, default=None),
                    tuple((predecessors[-1], span) for span in islice(reversed(spans), pairs_max)),
                )


EVIDENCE_MAX = 8
"""Pairs of spans stored with an edge, the newest: enough to inspect, and small for a million edges."""


class EdgeCounts(Struct):
    """The counts of an edge in one execution: observations, outcomes, times and evidence."""

    count: int = 0
    successes: int = 0
    failures: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    evidence: tuple[Witness, ...] = ()

    def add(self, other: "EdgeCounts") -> None:
        """Add the counts of ``other``."""
        self.count += other.count
        self.successes += other.successes
        self.failures += other.failures
        self.first_ns = choose_earlier_edge_time(self.first_ns, other.first_ns)
        self.last_ns = choose_later_edge_time(self.last_ns, other.last_ns)
        self.evidence = merge_edge_witnesses(self.evidence, other.evidence)


class Lesson(Struct, frozen=True):
    """What one execution teaches about nodes and edges; no edge goes from a node to itself."""

    execution: str
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[EdgeKey, EdgeCounts] = field(default_factory=dict)


def choose_earlier_edge_time(time_ns: int | None, other_ns: int | None) -> int | None:
    """Return the smaller of two times; None is unknown."""
    return other_ns if time_ns is None else time_ns if other_ns is None else min(time_ns, other_ns)


def choose_later_edge_time(time_ns: int | None, other_ns: int | None) -> int | None:
    """Return the larger of two times; None is unknown."""
    return other_ns if time_ns is None else time_ns if other_ns is None else max(time_ns, other_ns)


def merge_edge_witnesses(witnesses: Sequence[Witness], other: Sequence[Witness]) -> tuple[Witness, ...]:
    """Return the newest of both, newest first; ``witnesses`` is already sorted so."""
    if len(witnesses) >= EVIDENCE_MAX and max(other, default=witnesses[-1]) <= witnesses[-1]:
        return tuple(witnesses)
    return tuple(sorted({*witnesses, *other}, reverse=True)[:EVIDENCE_MAX])


def lessons_from_span_forest(forest: SpanForest) -> list[Lesson]:
    """Return one lesson per execution, in the order of their first records."""
    executions: dict[str, list[CallSpan]] = {}
    for span in forest.spans:
        executions.setdefault(span.execution, []).append(span)
    return [_lesson_from_spans(execution, spans) for execution, spans in executions.items()]


def _lesson_from_spans(execution: str, spans: Sequence[CallSpan]) -> Lesson:
    lesson = Lesson(execution)
    for span in spans:
        node = lesson.nodes.setdefault(span.node, Node(span.node, span.kind))
        node.count += 1
        node.failures += span.status is Status.FAILED
    by_id = {span.id: span for span in spans}
    for key, counts in (
        *_iterate_containment_edges(spans, by_id),
        *_iterate_dependency_edges(spans, by_id),
        *_iterate_sequence_edges(spans),
    ):
        _add_lesson_edge(lesson, key, counts)
    return lesson


def _add_lesson_edge(lesson: Lesson, key: EdgeKey, counts: EdgeCounts) -> None:
    """Add the counts of an edge; an edge from a node to itself only counts in the node."""
    start, end, kind = key
    if start != end:
        lesson.edges.setdefault(key, EdgeCounts()).add(counts)
    elif kind is EdgeType.SEQUENCE:
        lesson.nodes[start].repeats += counts.count
    else:
        lesson.nodes[start].recursions += counts.count


def _iterate_containment_edges(
    spans: Iterable[CallSpan], by_id: dict[str, CallSpan]
) -> Iterator[tuple[EdgeKey, EdgeCounts]]:
    for span in spans:
        if span.parent is not None:
            above = by_id[span.parent]
            yield (above.node, span.node, EdgeType.CONTAINS), _count_call_pair(above, span)


def _iterate_dependency_edges(
    spans: Iterable[CallSpan], by_id: dict[str, CallSpan]
) -> Iterator[tuple[EdgeKey, EdgeCounts]]:
    for span in spans:
        for needed in span.needs:
            if needed in by_id and needed != span.id:
                yield (by_id[needed].node, span.node, EdgeType.DEPENDENCY), _count_call_pair(by_id[needed], span)


def _iterate_sequence_edges(spans: Iterable[CallSpan]) -> Iterator[tuple[EdgeKey, EdgeCounts]]:
    """Yield edges between siblings: spans with the same parent or link, else spans of the same session."""
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
            yield from _iterate_sibling_edges(group)
    for row in alone.values():
        if all(span.start_ns is not None and span.end_ns is not None for span in row):
            yield from _iterate_sibling_edges(row)
        else:
            pairs = ((a, b) for a, b in pairwise(_sort_calls_by_end(row)) if _can_call_follow(a, b))
            yield from (((a.node, b.node, EdgeType.SEQUENCE), _count_call_pair(a, b)) for a, b in pairs)


def _iterate_sibling_edges(siblings: Sequence[CallSpan]) -> Iterator[tuple[EdgeKey, EdgeCounts]]:
    for succession in iterate_call_successions(siblings, EVIDENCE_MAX):
        evidence = tuple(_make_edge_witness(before, after) for before, after in succession.pairs)
        yield (
            (succession.before, succession.after, EdgeType.SEQUENCE),
            EdgeCounts(
                succession.count,
                succession.successes,
                succession.failures,
                succession.first_ns,
                succession.last_ns,
                evidence,
            ),
        )


def _sort_calls_by_end(spans: Iterable[CallSpan]) -> list[CallSpan]:
    """Sort by end if known; a span without an end stays after those recorded before it."""
    latest: int | None = None
    keyed: list[tuple[int | None, int, CallSpan]] = []
    for place, span in enumerate(sorted(spans, key=_find_span_end_position)):
        latest = span.end_ns if span.end_ns is not None else latest
        keyed.append((latest, place, span))
    return [span for _, _, span in sorted(keyed, key=lambda row: (row[0] is not None, row[0] or 0, row[1]))]


def _find_span_end_position(span: CallSpan) -> int:
    """Return the position of its end, as the document orders calls; else of its first record."""
    return span.first if span.ended is None else span.ended


def _can_call_follow(before: CallSpan, after: CallSpan) -> bool:
    """Return whether no known time contradicts the order."""
    left = before.start_ns if before.end_ns is None else before.end_ns
    right = after.end_ns if after.start_ns is None else after.start_ns
    return left is None or right is None or left <= right


def _count_call_pair(before: CallSpan, after: CallSpan) -> EdgeCounts:
    at_ns = after.end_ns if after.start_ns is None else after.start_ns
    ok, failed = after.status is Status.OK, after.status is Status.FAILED
    return EdgeCounts(1, int(ok), int(failed), at_ns, at_ns, (_make_edge_witness(before, after),))


def _make_edge_witness(before: CallSpan, after: CallSpan) -> Witness:
    at_ns = after.end_ns if after.start_ns is None else after.start_ns
    return Witness(at_ns or 0, after.execution, before.id, after.id)
