"""Pictures: colors, lines, places and tables; nothing is left out, and no browser layout is needed."""

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.graph.elements import (
    ARROWS,
    COLORS,
    DRAWN_MAX,
    LINES,
    OPACITY,
    GraphPicture,
    edge_width_from_count,
    make_graph_legend,
    make_graph_stylesheet,
    place_graph_nodes,
)
from custody.graph.engine import GraphEngine
from custody.graph.graph_view import draw_graph_snapshot, draw_snapshot_difference
from custody.graph.lane_view import TIME_X, draw_call_lanes
from custody.graph.model import CallSpan, EdgeSource, EdgeType, Kind, Status
from custody.graph.spans import build_span_forest
from custody.graph.tree_view import MORE, draw_call_tree
from tests.unit.graph.builders import CONTAINS, SEQUENCE, a_graph, a_span, graphs

FEW = 10


def labels(view: GraphPicture) -> list[Any]:
    return [row["label"] for row in view.table]


def raw(elements: Iterable[Any]) -> list[Any]:
    """Return the same, for tests that know the content."""
    return [*elements]


def data(view: GraphPicture) -> list[Any]:
    return [node["data"] for node in view.nodes]


class TestLooks:
    """AC9: the color is the type, the line is the source."""

    # Conformance: 004-063, 004-064, 004-065, 004-066, 004-067, 004-068, 004-087
    def test_colors_lines_and_opacity_are_those_of_document_and_page(self) -> None:
        colors = COLORS["document", "dark"].edges
        assert {kind.value: color for kind, color in colors.items()} == {
            "contains": "#22c55e",
            "sequence": "#FFB86F",
            "dependency": "#f5f0ea",
        }
        assert [COLORS["cvd", "dark"].edges[kind] for kind in (EdgeType.CONTAINS, EdgeType.SEQUENCE)] == [
            "#56B4E9",
            "#E69F00",
        ]
        assert {source.value: line for source, line in LINES.items()} == {
            "observed": "solid",
            "inferred": "dashed",
            "template": "dotted",
        }
        assert [OPACITY[source] for source in EdgeSource] == [0.9, 0.6, 0.4]

    def test_types_differ_without_color(self) -> None:
        assert len(set(ARROWS.values())) == len(EdgeType)

    @pytest.mark.parametrize("palette", ["document", "cvd"])
    @pytest.mark.parametrize("theme", ["dark", "light"])
    def test_an_edge_has_enough_contrast(self, palette: Any, theme: Any) -> None:
        colors = COLORS[palette, theme]
        for color in (*colors.edges.values(), colors.text):
            darker, lighter = sorted((lightness(color), lightness(colors.ground)))
            assert (lighter + 0.05) / (darker + 0.05) >= 3

    # Conformance: 004-012, 004-069
    def test_style_and_legend_agree_and_are_complete(self) -> None:
        rules: dict[str, Any] = {rule["selector"]: rule["style"] for rule in raw(make_graph_stylesheet())}
        entries: list[Any] = make_graph_legend()
        assert {entry["label"] for entry in entries} == {
            *(kind.value for kind in EdgeType),
            *(source.value for source in EdgeSource),
            *(kind.value for kind in Kind),
        }
        for entry in entries:
            style = rules[entry["selector"]]
            properties = {"colour": "line-color", "arrow": "target-arrow-shape", "line": "line-style", "shape": "shape"}
            for word, name in properties.items():
                assert word not in entry or style[name] == entry[word]

    def test_width_grows_with_the_logarithm_up_to_a_limit(self) -> None:
        widths = [edge_width_from_count(10**power) for power in range(9)]
        assert widths == sorted(widths) and widths[-1] == 8
        assert widths[2] - widths[1] == pytest.approx(widths[1] - widths[0], abs=0.6)


def lightness(color: str) -> float:
    """Return the relative luminance of WCAG."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@given(st.lists(st.integers(0, 30), max_size=30))
def test_no_two_nodes_of_a_forest_share_a_place(ups: list[int]) -> None:
    children: dict[str, list[str]] = {}
    for number, up in enumerate(ups, start=1):
        children.setdefault(str(up % number), []).append(str(number))
    places = place_graph_nodes(["0"], children)
    assert len(places) == len(ups) + 1 == len(set(places.values()))
    for above, below in children.items():
        rows = [places[child][1] for child in below]
        assert rows == sorted(rows) and rows[0] <= places[above][1] <= rows[-1]
        assert all(places[child][0] > places[above][0] for child in below)


class TestTree:
    """The call tree of one session."""

    def test_repeated_calls_are_one_box(self) -> None:
        reads = [a_span(str(n), n, n, name="Read", parent="t") for n in range(1, 38)]
        forest = build_span_forest(
            [a_span("t", 0, 99, kind=Kind.TURN), *reads, a_span("e", 50, 51, name="Edit", parent="t")]
        )
        view = draw_call_tree(forest)
        assert labels(view) == ["turn", "Read ×37", "Edit"]
        assert data(view)[1]["count"] == 37

    def test_a_box_of_repeated_calls_opens_into_these_calls(self) -> None:
        reads = [a_span(str(n), n, n, name="Read", parent="t") for n in range(1, 38)]
        edits = [a_span(f"e{n}", n, n, name="Edit", parent="t") for n in range(40, 44)]
        forest = build_span_forest([a_span("t", 0, 99, kind=Kind.TURN), *reads, *edits])
        assert labels(draw_call_tree(forest, root=":1×37")) == ["Read"] * 37
        assert labels(draw_call_tree(forest, FEW, root=":1×37"))[-1] == "… 28 more"
        for nothing in (":1×", ":1×x", ":1×²", ":unknown×3", "×"):
            assert labels(draw_call_tree(forest, root=nothing)) == []

    def test_two_are_not_enough_and_failures_are_counted(self) -> None:
        calls = [a_span(str(n), n, n, name="Read", status=Status.FAILED) for n in range(2)]
        assert labels(draw_call_tree(build_span_forest(calls))) == ["Read", "Read"]
        more = [*calls, a_span("3", 3, 3, name="Read")]
        (box,) = data(draw_call_tree(build_span_forest(more)))
        assert (box["count"], box["failures"]) == (3, 2)

    def test_rows_read_as_a_tree(self) -> None:
        inside = {"a": None, "b": "a", "c": "b", "d": "a", "e": None, "f": "e"}
        spans = [a_span(name, n, 99, parent=above) for n, (name, above) in enumerate(inside.items())]
        rows = raw(draw_call_tree(build_span_forest(spans)).table)
        assert [(row["label"], row["level"]) for row in rows] == [
            *(("s:a", 1), ("s:b", 2), ("s:c", 3), ("s:d", 2), ("s:e", 1), ("s:f", 2))
        ]

    def test_deep_subtrees_are_closed_and_can_be_opened(self) -> None:
        chain = [a_span(str(n), n, 99 - n, parent=str(n - 1) if n else None) for n in range(30)]
        forest = build_span_forest(chain)
        view = draw_call_tree(forest, FEW)
        assert (len(view.nodes), view.hidden) == (10, 20)
        assert labels(draw_call_tree(forest, FEW, root=":9"))[0] == "s:9"

    def test_long_rows_are_cut_and_the_rest_can_be_opened(self) -> None:
        forest = build_span_forest([a_span("p", 0, 99), *(a_span(str(n), n, n, parent="p") for n in range(25))])
        shown: list[str] = []
        root: str | None = None
        while True:
            view = draw_call_tree(forest, FEW, root=root)
            shown += [label for label in labels(view) if not label.startswith("…") and label != "s:p"]
            last: Any = view.table[-1]
            if not last["id"].endswith(MORE):
                break
            root = last["id"]
        assert shown == [f"s:{n}" for n in range(25)]

    @given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=40))
    def test_nothing_is_left_out(self, drawn: list[tuple[int, int]]) -> None:
        spans = [
            a_span(str(n), n, 99, name=f"s:{name}", parent=str(up % n) if n and up % (n + 1) else None)
            for n, (up, name) in enumerate(drawn)
        ]
        forest = build_span_forest(spans)
        view = draw_call_tree(forest, FEW)
        assert len(view.nodes) <= 10
        assert sum(box["count"] for box in data(view)) + view.hidden == len(spans)
        ids = {box["id"] for box in data(view)}
        assert len(ids) == len(view.nodes)
        assert all(edge["data"]["source"] in ids and edge["data"]["target"] in ids for edge in raw(view.edges))

    def test_ten_thousand_spans_become_few_boxes(self) -> None:
        spans = [a_span(str(n), n, n + 1, name=f"s:{n % 7}", parent=str(n // 10) if n else None) for n in range(10_000)]
        view = draw_call_tree(build_span_forest(spans))
        assert len(view.nodes) <= DRAWN_MAX
        assert sum(box["count"] for box in data(view)) + view.hidden == 10_000


class TestGraph:
    """The learned graph, and the difference between two."""

    # Conformance: 004-062
    @given(graphs())
    def test_every_edge_has_type_and_source_and_every_node_a_place(self, engine: GraphEngine) -> None:
        snapshot = engine.get_graph_snapshot()
        view = draw_graph_snapshot(snapshot)
        assert len(view.nodes) == len(snapshot.nodes) and len(view.edges) == len(snapshot.edges) == len(view.table)
        for edge, drawn in zip(snapshot.edges, view.edges, strict=True):
            fields: Any = drawn["data"]
            assert (fields["edge_type"], fields["edge_source"]) == (edge.type.value, edge.source.value)
            assert drawn["classes"] == f"{edge.type.value} {edge.source.value}"
            assert len(fields["evidence"]) == len(edge.evidence)
        places = {(node["position"]["x"], node["position"]["y"]) for node in raw(view.nodes)}
        assert len(places) == len(view.nodes)
        assert len({edge["data"]["id"] for edge in raw(view.edges)}) == len(view.edges)
        json.dumps(view.as_json(), allow_nan=False)

    @given(graphs(), graphs())
    def test_a_difference_has_all_edges_of_both(self, first: GraphEngine, other: GraphEngine) -> None:
        before, after = first.get_graph_snapshot(), other.get_graph_snapshot()
        old, new = ({edge.key for edge in graph.edges} for graph in (before, after))
        view = draw_snapshot_difference(before, after)
        changes: list[Any] = [edge["data"] for edge in view.edges]
        assert len(changes) == len(old | new)
        assert sum(row["change"] == "new" for row in changes) == len(new - old)
        assert sum(row["change"] == "gone" for row in changes) == len(old - new)

    def test_shares_are_compared_instead_of_counts(self) -> None:
        before = a_graph(("s:a", "s:b", SEQUENCE, 1), ("s:a", "s:c", SEQUENCE, 1)).get_graph_snapshot()
        after = a_graph(("s:a", "s:b", SEQUENCE, 6), ("s:a", "s:c", SEQUENCE, 2)).get_graph_snapshot()
        changes: list[Any] = [row["change"] for row in draw_snapshot_difference(before, after).table]
        assert changes == ["more", "less"]
        assert {row["change"] for row in draw_snapshot_difference(after, after).table} == {"same"}

    def test_shares_of_selected_edges_refer_to_all_edges(self) -> None:
        before = a_graph(("s:a", "s:b", SEQUENCE, 1), ("s:a", "s:c", SEQUENCE, 3)).get_graph_snapshot()
        view = draw_snapshot_difference(before, before, {("s:a", "s:b", SEQUENCE)})
        (row,) = raw(view.table)
        assert (row["to"], row["share_before"]) == ("s:b", 0.25)
        assert [node["id"] for node in data(view)] == ["s:a", "s:b"]

    def test_a_node_is_under_the_one_that_contains_it_most_often(self) -> None:
        engine = a_graph(("s:a", "s:z", CONTAINS, 1), ("s:b", "s:z", CONTAINS, 2))
        places: dict[Any, Any] = {
            node["data"]["id"]: node["position"] for node in raw(draw_graph_snapshot(engine.get_graph_snapshot()).nodes)
        }
        assert places["s:z"]["y"] == places["s:b"]["y"] != places["s:a"]["y"]


class TestLanes:
    """The order of calls in time."""

    @given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), min_size=1, max_size=25))
    def test_bars_of_one_lane_do_not_overlap_and_order_is_from_left_to_right(
        self, drawn: list[tuple[int, int]]
    ) -> None:
        spans = [a_span(str(n), start, start + length) for n, (start, length) in enumerate(drawn)]
        view = draw_call_lanes(build_span_forest(spans))
        by_lane: dict[int, list[CallSpan]] = {}
        x: dict[str, float] = {}
        for row, node in zip(data(view), raw(view.nodes), strict=True):
            span = spans[int(row["id"][1:])]
            by_lane.setdefault(row["lane"], []).append(span)
            x[span.id] = node["position"]["x"]
        for lane in by_lane.values():
            for first, other in pairwise(sorted(lane, key=lambda span: (span.start_ns, span.end_ns))):
                assert first.end_ns is not None and other.start_ns is not None and first.end_ns < other.start_ns
        for span in spans:
            for other in spans:
                if span.end_ns is not None and other.start_ns is not None and span.end_ns < other.start_ns:
                    assert x[span.id] + TIME_X <= x[other.id]

    def test_fork_and_join_are_drawn(self) -> None:
        spans = [a_span("a", 0, 1), a_span("b", 2, 5), a_span("c", 3, 6), a_span("d", 7, 8)]
        view = draw_call_lanes(build_span_forest(spans))
        drawn: list[Any] = [edge["data"] for edge in view.edges]
        assert {(edge["source"], edge["target"]) for edge in drawn} == {
            (":a", ":b"),
            (":a", ":c"),
            (":b", ":d"),
            (":c", ":d"),
        }
        assert [row["lane"] for row in view.table] == [1, 1, 2, 1]

    def test_calls_beyond_the_limit_are_counted_and_can_be_requested(self) -> None:
        forest = build_span_forest([a_span(str(n), n, n) for n in range(25)])
        first, last = draw_call_lanes(forest, FEW), draw_call_lanes(forest, FEW, skip=20)
        assert (len(first.nodes), first.hidden, labels(last)) == (10, 15, [f"s:{n}" for n in range(20, 25)])

    def test_without_times_record_positions_are_used(self) -> None:
        view = draw_call_lanes(build_span_forest([a_span("a"), a_span("b", kind=Kind.TURN), a_span("c")]))
        assert labels(view) == ["s:a", "s:c"]
