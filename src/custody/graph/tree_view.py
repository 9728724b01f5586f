"""The call tree of a session: repeated calls become one box, and subtrees are closed if there are too many boxes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from custody.graph.elements import (
    DRAWN_MAX,
    Element,
    GraphPicture,
    make_call_edge_element,
    make_node_element,
    place_graph_nodes,
)
from custody.graph.model import STRUCTURAL, CallSpan, EdgeType, Status
from custody.graph.spans import SpanForest

MORE = "…"
"""Ends the id of a box for the rest of a row."""
TIMES = "×"
"""In the id of a box for repeated calls, before their number."""
ROW_MIN = 2
COLLAPSE_MIN = 3
"""This many repeated calls, or more, are drawn as one box: two are as easily read one by one."""


class _Box(Struct):
    """One call, repeated calls, or the rest of a long row; ``below`` calls are inside it and not drawn."""

    id: str
    spans: Sequence[CallSpan]
    label: str
    depth: int
    above: str | None
    below: int = 0


def draw_call_tree(forest: SpanForest, drawn_max: int = DRAWN_MAX, root: str | None = None) -> GraphPicture:
    """Draw all calls in at most ``drawn_max`` boxes; with the id of a box as ``root``, draw what is inside that box.

    If there are more, subtrees are closed, deepest first, and long rows are cut.
    """
    sizes = _count_descendant_calls(forest)
    tops, apart = _find_top_calls(forest, root)
    # The repeated calls of an opened box have nothing inside them, so this does not affect any other row.
    collapse_min = len(tops) + ROW_MIN if apart else COLLAPSE_MIN
    shown = _select_drawn_boxes(_build_box_levels(forest, tops, collapse_min), drawn_max)
    opened = {box.above for box in shown}
    for box in shown:
        box.below = 0 if box.id in opened else sum(sizes[_make_call_span_key(span)] for span in box.spans)
    children: dict[str, list[str]] = {}
    for box in shown:
        if box.above is not None:
            children.setdefault(box.above, []).append(box.id)
    places = place_graph_nodes([box.id for box in shown if box.above is None], children)
    return GraphPicture(
        "tree",
        tuple(_make_box_element(box, places[box.id]) for box in shown),
        tuple(
            make_call_edge_element(box.above, box.id, EdgeType.CONTAINS, len(box.spans))
            for box in shown
            if box.above is not None
        ),
        tuple(_make_box_row(box) for box in _iterate_tree_boxes(shown, children)),
        sum(box.below for box in shown),
    )


def _iterate_tree_boxes(shown: Sequence[_Box], children: Mapping[str, Sequence[str]]) -> Iterator[_Box]:
    """Yield each box before its children, and those before the next box: rows with their levels read as a tree."""
    by_id = {box.id: box for box in shown}
    waiting = [box.id for box in reversed(shown) if box.above is None]
    while waiting:
        box = by_id[waiting.pop()]
        yield box
        waiting.extend(reversed(children.get(box.id, ())))


def _find_top_calls(forest: SpanForest, root: str | None) -> tuple[Sequence[CallSpan], bool]:
    """Return the calls at the top, and whether they are repeated calls to be drawn one by one."""
    roots = list(forest.roots)
    if root is None:
        return roots, False
    known = {_make_call_span_key(span): span for span in forest.spans}
    if root in known:
        return (known[root],), False
    if root.endswith(MORE):
        return _list_later_siblings(forest, roots, known.get(root.removesuffix(MORE))), False
    first, _, count = root.rpartition(TIMES)
    row = _list_later_siblings(forest, roots, known.get(first))
    return row[: int(count)] if count.isdecimal() and count.isascii() else (), True


def _list_later_siblings(forest: SpanForest, roots: Sequence[CallSpan], first: CallSpan | None) -> Sequence[CallSpan]:
    """Return a call and the siblings that started after it."""
    if first is None:
        return ()
    row = _sort_calls_by_start(roots if first.parent is None else forest.children[first.execution, first.parent])
    return row[row.index(first) :]


def _make_call_span_key(span: CallSpan) -> str:
    return f"{span.execution}:{span.id}"


def _build_box_levels(forest: SpanForest, tops: Iterable[CallSpan], collapse_min: int) -> list[list[_Box]]:
    """Return boxes by depth, each depth in the order of starts."""
    levels: list[list[_Box]] = []
    level = list(_make_sibling_boxes(forest, tops, None, 0, collapse_min))
    while level:
        levels.append(level)
        level = [
            box
            for above in level
            if len(above.spans) == 1
            for box in _make_sibling_boxes(
                forest, _find_child_calls(forest, above.spans[0]), above.id, len(levels), collapse_min
            )
        ]
    return levels


def _find_child_calls(forest: SpanForest, span: CallSpan) -> Sequence[CallSpan]:
    return forest.children.get((span.execution, span.id), ())


def _sort_calls_by_start(siblings: Iterable[CallSpan]) -> list[CallSpan]:
    return sorted(siblings, key=lambda span: (span.start_ns is None, span.start_ns or 0, span.first))


def _make_sibling_boxes(
    forest: SpanForest, siblings: Iterable[CallSpan], above: str | None, depth: int, collapse_min: int
) -> Iterator[_Box]:
    """Yield siblings in the order of starts; repeated calls without children are merged."""
    for (node, bare), run in groupby(
        _sort_calls_by_start(siblings), key=lambda span: (span.node, not _find_child_calls(forest, span))
    ):
        spans = list(run)
        if bare and len(spans) >= collapse_min:
            yield _Box(
                f"{_make_call_span_key(spans[0])}{TIMES}{len(spans)}",
                spans,
                f"{spans[0].name} {TIMES}{len(spans)}",
                depth,
                above,
            )
        else:
            for span in spans:
                yield _Box(
                    _make_call_span_key(span), (span,), node if span.kind in STRUCTURAL else span.name, depth, above
                )


def _count_descendant_calls(forest: SpanForest) -> dict[str, int]:
    """Return the number of calls inside each call, at any depth; children are counted before their parents."""
    sizes = dict.fromkeys((_make_call_span_key(span) for span in forest.spans), 0)
    order = list(forest.roots)
    for span in order:
        order.extend(_find_child_calls(forest, span))
    for span in reversed(order):
        if span.parent is not None:
            sizes[f"{span.execution}:{span.parent}"] += sizes[_make_call_span_key(span)] + 1
    return sizes


def _select_drawn_boxes(levels: Sequence[Sequence[_Box]], boxes_max: int) -> list[_Box]:
    """Return whole levels while there is room, and the start of each row of the next level."""
    shown: list[_Box] = []
    for level in levels:
        left = boxes_max - len(shown)
        if len(level) > left:
            return [*shown, *_cut_tree_level(level, left)]
        shown.extend(level)
    return shown


def _cut_tree_level(level: Sequence[_Box], left: int) -> Iterator[_Box]:
    """Yield the start of each row and a box for its rest, sharing the room equally; nothing if it is too small."""
    rows = [list(row) for _, row in groupby(level, key=lambda box: box.above)]
    room = left // len(rows)
    for row in rows if room >= ROW_MIN else ():
        shown = row if len(row) <= room else row[: room - 1]
        yield from shown
        if rest := row[len(shown) :]:
            spans = [span for box in rest for span in box.spans]
            yield _Box(
                f"{_make_call_span_key(spans[0])}{MORE}", spans, f"… {len(spans)} more", rest[0].depth, rest[0].above
            )


def _make_box_element(box: _Box, place: tuple[float, float]) -> Element:
    first = box.spans[0]
    data = _make_box_data(box)
    return make_node_element(box.id, first.kind, place, box.label, **data)


def _make_box_row(box: _Box) -> Element:
    return {"id": box.id, "label": box.label, "level": box.depth + 1, **_make_box_data(box)}


def _make_box_data(box: _Box) -> Element:
    starts = [span.start_ns for span in box.spans if span.start_ns is not None]
    ends = [span.end_ns for span in box.spans if span.end_ns is not None]
    return {
        "node": box.spans[0].node,
        "count": len(box.spans),
        "failures": sum(span.status is Status.FAILED for span in box.spans),
        "abandoned": sum(span.abandoned for span in box.spans),
        "hidden": box.below,
        "start_ns": min(starts, default=None),
        "end_ns": max(ends, default=None),
    }
