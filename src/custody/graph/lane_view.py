"""Calls as bars from left to right, with a lane for each that ran in parallel.

Times are drawn in order, not in proportion: a night without calls takes no space. A call that ended before another
started never extends to the right of that call's start.
"""

from collections.abc import Sequence
from heapq import heappop, heappush

from custody.graph.elements import DRAWN_MAX, Element, GraphPicture, make_call_edge_element, make_node_element
from custody.graph.lessons import iterate_direct_predecessors
from custody.graph.model import STRUCTURAL, CallSpan, EdgeType
from custody.graph.spans import SpanForest

TIME_X, LANE_Y = 24, 40
EDGES_EACH_MAX = 8
"""Maximum arrows to a call; a join of more is drawn from the last to end."""


def draw_call_lanes(forest: SpanForest, drawn_max: int = DRAWN_MAX, skip: int = 0) -> GraphPicture:
    """Draw the calls from ``skip`` on, at most ``drawn_max``; sessions and turns are not calls."""
    calls = [span for span in forest.spans if span.kind not in STRUCTURAL]
    timed = all(span.start_ns is not None or span.end_ns is not None for span in calls)
    bars = sorted(
        ((*_find_call_interval(span, timed=timed), span) for span in calls),
        key=lambda bar: (bar[0], bar[1], bar[2].first),
    )
    drawn = bars[skip : skip + drawn_max]
    ranks = {time: rank for rank, time in enumerate(sorted({at for bar in drawn for at in bar[:2]}))}
    lanes = _assign_call_lanes([(ranks[start], ranks[end]) for start, end, _ in drawn])
    boxes = [(span, lane, (ranks[start], ranks[end])) for (start, end, span), lane in zip(drawn, lanes, strict=True)]
    return GraphPicture(
        "lanes",
        tuple(_make_lane_element(*box) for box in boxes),
        tuple(_make_lane_edges([span for _, _, span in drawn])),
        tuple(_make_lane_row(*box) for box in boxes),
        len(bars) - len(drawn),
    )


def _find_call_interval(span: CallSpan, *, timed: bool) -> tuple[int, int]:
    """Return start and end; an unknown one is replaced by the other."""
    interval = (span.start_ns, span.end_ns) if timed else (span.began, span.ended)
    known = [at for at in interval if at is not None] or [span.first]
    return min(known), max(known)


def _assign_call_lanes(bars: Sequence[tuple[int, int]]) -> list[int]:
    """Return the topmost free lane for each bar; bars are sorted by start."""
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


def _make_lane_edges(spans: Sequence[CallSpan]) -> list[Element]:
    siblings: dict[tuple[str, str | None, str | None], list[CallSpan]] = {}
    for span in spans:
        above = span.link if span.parent is None else span.parent
        alone = span.session if above is None else None
        siblings.setdefault((span.execution, above, alone), []).append(span)
    return [
        make_call_edge_element(_make_call_span_key(before), _make_call_span_key(after), EdgeType.SEQUENCE)
        for group in siblings.values()
        for before, after in iterate_direct_predecessors(group, EDGES_EACH_MAX)
    ]


def _make_call_span_key(span: CallSpan) -> str:
    return f"{span.execution}:{span.id}"


def _make_lane_element(span: CallSpan, lane: int, interval: tuple[int, int]) -> Element:
    start, end = interval
    middle = (start + end) / 2 * TIME_X
    width = max(end - start, 0.5) * TIME_X
    return make_node_element(
        _make_call_span_key(span),
        span.kind,
        (middle, lane * LANE_Y),
        span.name,
        length=width,
        **_make_lane_data(span, lane),
    )


def _make_lane_row(span: CallSpan, lane: int, _: tuple[int, int]) -> Element:
    return {"id": _make_call_span_key(span), "label": span.name, **_make_lane_data(span, lane)}


def _make_lane_data(span: CallSpan, lane: int) -> Element:
    return {
        "node": span.node,
        "lane": lane + 1,
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
        "status": span.status.value,
        "abandoned": span.abandoned,
    }
