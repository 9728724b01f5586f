"""Which of several siblings came directly before which.

One comes before another when it ended before the other began; a call of no length that falls on the end of one and the
beginning of another stands between them, and two such calls at one moment have no order. It comes *directly* before
when no third stands between: this is the transitive reduction of an interval order. Calls that overlap are parallel:
fork and join, not an order.

Sorted by their ends, the direct predecessors of a call are neighbours, and later calls have later neighbours. So two
fingers walk along the sorted ends, and pairs are counted by name without being listed: the time is that of sorting,
plus one step for each pair of names that is told.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from custody.graph.model import CallSpan, Status

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
