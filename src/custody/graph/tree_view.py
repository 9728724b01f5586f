"""The call tree of a session: like calls in a row are one box, and subtrees are closed where there are too many."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from custody.graph.elements import DRAWN_MAX, Element, GraphPicture, call_element, node_element, place_nodes
from custody.graph.model import STRUCTURAL, CallSpan, EdgeType, Status
from custody.graph.spans import SpanForest

MORE = "…"
"""Ends the id of a box that stands for the rest of a row."""
TIMES = "×"
"""Stands in the id of a box before the number of like calls that it stands for."""
ROW_MIN = 2
COLLAPSE_MIN = 3
"""So many like calls in a row, or more, are drawn as one: two are as easily read one by one."""


@dataclass(slots=True)
class _Box:
    """One call, several like ones in a row, or the rest of a long row; ``below`` calls are inside it and not drawn."""

    id: str
    spans: Sequence[CallSpan]
    label: str
    depth: int
    above: str | None
    below: int = 0


def tree_view(forest: SpanForest, drawn_max: int = DRAWN_MAX, root: str | None = None) -> GraphPicture:
    """All calls in at most ``drawn_max`` boxes; with the id of a box as ``root``, what was closed behind that box.

    Where there are more, subtrees are closed, the deepest first, and long rows are cut.
    """
    sizes = _sizes(forest)
    tops, apart = _tops(forest, root)
    # The like calls of an opened box have nothing inside them: no other row is kept apart by this.
    collapse_min = len(tops) + ROW_MIN if apart else COLLAPSE_MIN
    shown = _shown(_boxes(forest, tops, collapse_min), drawn_max)
    opened = {box.above for box in shown}
    for box in shown:
        box.below = 0 if box.id in opened else sum(sizes[_key(span)] for span in box.spans)
    children: dict[str, list[str]] = {}
    for box in shown:
        if box.above is not None:
            children.setdefault(box.above, []).append(box.id)
    places = place_nodes([box.id for box in shown if box.above is None], children)
    return GraphPicture(
        "tree",
        tuple(_element(box, places[box.id]) for box in shown),
        tuple(
            call_element(box.above, box.id, EdgeType.CONTAINS, len(box.spans)) for box in shown if box.above is not None
        ),
        tuple(_row(box) for box in _read_down(shown, children)),
        sum(box.below for box in shown),
    )


def _read_down(shown: Sequence[_Box], children: Mapping[str, Sequence[str]]) -> Iterator[_Box]:
    """Each box before what is inside it, and that before the next one: so rows with their levels read as a tree."""
    by_id = {box.id: box for box in shown}
    waiting = [box.id for box in reversed(shown) if box.above is None]
    while waiting:
        box = by_id[waiting.pop()]
        yield box
        waiting.extend(reversed(children.get(box.id, ())))


def _tops(forest: SpanForest, root: str | None) -> tuple[Sequence[CallSpan], bool]:
    """The calls at the top, and whether they are like ones that are to be seen one by one."""
    roots = list(forest.roots)
    if root is None:
        return roots, False
    known = {_key(span): span for span in forest.spans}
    if root in known:
        return (known[root],), False
    if root.endswith(MORE):
        return _row_from(forest, roots, known.get(root.removesuffix(MORE))), False
    first, _, count = root.rpartition(TIMES)
    row = _row_from(forest, roots, known.get(first))
    return row[: int(count)] if count.isdecimal() and count.isascii() else (), True


def _row_from(forest: SpanForest, roots: Sequence[CallSpan], first: CallSpan | None) -> Sequence[CallSpan]:
    """A call and the siblings that began after it."""
    if first is None:
        return ()
    row = _in_order(roots if first.parent is None else forest.children[first.execution, first.parent])
    return row[row.index(first) :]


def _key(span: CallSpan) -> str:
    return f"{span.execution}:{span.id}"


def _boxes(forest: SpanForest, tops: Iterable[CallSpan], collapse_min: int) -> list[list[_Box]]:
    """Boxes by depth, each depth in the order in which calls began."""
    levels: list[list[_Box]] = []
    level = list(_row_of(forest, tops, None, 0, collapse_min))
    while level:
        levels.append(level)
        level = [
            box
            for above in level
            if len(above.spans) == 1
            for box in _row_of(forest, _inside(forest, above.spans[0]), above.id, len(levels), collapse_min)
        ]
    return levels


def _inside(forest: SpanForest, span: CallSpan) -> Sequence[CallSpan]:
    return forest.children.get((span.execution, span.id), ())


def _in_order(siblings: Iterable[CallSpan]) -> list[CallSpan]:
    return sorted(siblings, key=lambda span: (span.start_ns is None, span.start_ns or 0, span.first))


def _row_of(
    forest: SpanForest, siblings: Iterable[CallSpan], above: str | None, depth: int, collapse_min: int
) -> Iterator[_Box]:
    """Siblings in the order in which they began, like ones without calls of their own taken together."""
    for (node, bare), run in groupby(_in_order(siblings), key=lambda span: (span.node, not _inside(forest, span))):
        spans = list(run)
        if bare and len(spans) >= collapse_min:
            yield _Box(
                f"{_key(spans[0])}{TIMES}{len(spans)}", spans, f"{spans[0].name} {TIMES}{len(spans)}", depth, above
            )
        else:
            for span in spans:
                yield _Box(_key(span), (span,), node if span.kind in STRUCTURAL else span.name, depth, above)


def _sizes(forest: SpanForest) -> dict[str, int]:
    """How many calls are inside each, at any depth: those who have parents are counted before their parents."""
    sizes = dict.fromkeys((_key(span) for span in forest.spans), 0)
    order = list(forest.roots)
    for span in order:
        order.extend(_inside(forest, span))
    for span in reversed(order):
        if span.parent is not None:
            sizes[f"{span.execution}:{span.parent}"] += sizes[_key(span)] + 1
    return sizes


def _shown(levels: Sequence[Sequence[_Box]], boxes_max: int) -> list[_Box]:
    """Whole levels as long as there is room, and of the next one the beginning of each row."""
    shown: list[_Box] = []
    for level in levels:
        left = boxes_max - len(shown)
        if len(level) > left:
            return [*shown, *_cut(level, left)]
        shown.extend(level)
    return shown


def _cut(level: Sequence[_Box], left: int) -> Iterator[_Box]:
    """Rows share what room there is; the rest of each is one box. Where that is too little, all stay closed."""
    rows = [list(row) for _, row in groupby(level, key=lambda box: box.above)]
    room = left // len(rows)
    for row in rows if room >= ROW_MIN else ():
        kept = row if len(row) <= room else row[: room - 1]
        yield from kept
        if rest := row[len(kept) :]:
            spans = [span for box in rest for span in box.spans]
            yield _Box(f"{_key(spans[0])}{MORE}", spans, f"… {len(spans)} more", rest[0].depth, rest[0].above)


def _element(box: _Box, place: tuple[float, float]) -> Element:
    first = box.spans[0]
    data = _data(box)
    return node_element(box.id, first.kind, place, box.label, **data)


def _row(box: _Box) -> Element:
    return {"id": box.id, "label": box.label, "level": box.depth + 1, **_data(box)}


def _data(box: _Box) -> Element:
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
