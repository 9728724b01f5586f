"""What happened before what: calls as bars from left to right, a lane for each that ran beside others.

Moments are drawn in their order, not in proportion: a night without calls takes no room. A call that ended before
another began never reaches to the right of where that one begins.
"""

from collections.abc import Sequence
from heapq import heappop, heappush

from custody.graph.elements import DRAWN_MAX, Element, GraphPicture, call_element, node_element
from custody.graph.lessons import directly_before
from custody.graph.model import STRUCTURAL, CallSpan, EdgeType
from custody.graph.spans import SpanForest

MOMENT_X, LANE_Y = 24, 40
EDGES_EACH_MAX = 8
"""So many arrows lead to a call; a join of more is drawn by the last of them to end."""


def lanes_view(forest: SpanForest, drawn_max: int = DRAWN_MAX, skip: int = 0) -> GraphPicture:
    """The calls from the ``skip``-th on, at most ``drawn_max``; sessions and turns are not calls."""
    calls = [span for span in forest.spans if span.kind not in STRUCTURAL]
    timed = all(span.start_ns is not None or span.end_ns is not None for span in calls)
    bars = sorted(((*_bar(span, timed=timed), span) for span in calls), key=lambda bar: (bar[0], bar[1], bar[2].first))
    drawn = bars[skip : skip + drawn_max]
    ranks = {moment: rank for rank, moment in enumerate(sorted({at for bar in drawn for at in bar[:2]}))}
    lanes = _lanes([(ranks[start], ranks[end]) for start, end, _ in drawn])
    boxes = [(span, lane, (ranks[start], ranks[end])) for (start, end, span), lane in zip(drawn, lanes, strict=True)]
    return GraphPicture(
        "lanes",
        tuple(_element(*box) for box in boxes),
        tuple(_edges([span for _, _, span in drawn])),
        tuple(_row(*box) for box in boxes),
        len(bars) - len(drawn),
    )


def _bar(span: CallSpan, *, timed: bool) -> tuple[int, int]:
    """From when to when; where one of the two is not known, the other stands for it."""
    known = (span.start_ns, span.end_ns) if timed else (span.began, span.ended)
    told = [at for at in known if at is not None] or [span.first]
    return min(told), max(told)


def _lanes(bars: Sequence[tuple[int, int]]) -> list[int]:
    """The topmost lane that is free for each bar, bars in the order of their beginnings."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    lanes = []
    for start, end in bars:
        while busy and busy[0][0] < start:
            heappush(free, heappop(busy)[1])
        lane = heappop(free) if free else len(busy)
        heappush(busy, (end, lane))
        lanes.append(lane)
    return lanes


def _edges(spans: Sequence[CallSpan]) -> list[Element]:
    siblings: dict[tuple[str, str | None, str | None], list[CallSpan]] = {}
    for span in spans:
        above = span.link if span.parent is None else span.parent
        alone = span.session if above is None else None
        siblings.setdefault((span.execution, above, alone), []).append(span)
    return [
        call_element(_key(before), _key(after), EdgeType.SEQUENCE)
        for group in siblings.values()
        for before, after in directly_before(group, EDGES_EACH_MAX)
    ]


def _key(span: CallSpan) -> str:
    return f"{span.execution}:{span.id}"


def _element(span: CallSpan, lane: int, moments: tuple[int, int]) -> Element:
    start, end = moments
    middle = (start + end) / 2 * MOMENT_X
    wide = max(end - start, 0.5) * MOMENT_X
    return node_element(_key(span), span.kind, (middle, lane * LANE_Y), span.name, length=wide, **_data(span, lane))


def _row(span: CallSpan, lane: int, _: tuple[int, int]) -> Element:
    return {"id": _key(span), "label": span.name, **_data(span, lane)}


def _data(span: CallSpan, lane: int) -> Element:
    return {
        "node": span.node,
        "lane": lane + 1,
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
        "status": span.status.value,
        "abandoned": span.abandoned,
    }
