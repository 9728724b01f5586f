"""Pictures: colours, lines, places and tables; nothing is left out, and nothing needs a browser's layout."""

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.graph.elements import (
    ARROWS,
    COLOURS,
    DRAWN_MAX,
    LINES,
    OPACITY,
    GraphPicture,
    legend_of,
    place_nodes,
    style_of,
    width_of,
)
from custody.graph.engine import GraphEngine
from custody.graph.graph_view import difference_view, graph_view
from custody.graph.lane_view import MOMENT_X, lanes_view
from custody.graph.model import CallSpan, EdgeSource, EdgeType, Kind, Status
from custody.graph.spans import forest_of
from custody.graph.tree_view import MORE, tree_view
from tests.unit.graph.builders import CONTAINS, SEQUENCE, a_graph, a_span, graphs

FEW = 10


def labels(view: GraphPicture) -> list[Any]:
    return [row["label"] for row in view.table]


def raw(elements: Iterable[Any]) -> list[Any]:
    """The same, for tests that know what is in them."""
    return [*elements]


def data(view: GraphPicture) -> list[Any]:
    return [node["data"] for node in view.nodes]


class TestLooks:
    """AC9: colour is the type, the line is the source."""

    # Conformance: 004-063, 004-064, 004-065, 004-066, 004-067, 004-068, 004-087
    def test_colours_lines_and_opacity_are_the_documents_and_the_pages(self) -> None:
        colours = COLOURS["document", "dark"].edges
        assert {kind.value: colour for kind, colour in colours.items()} == {
            "contains": "#22c55e",
            "sequence": "#FFB86F",
            "dependency": "#f5f0ea",
        }
        assert [COLOURS["cvd", "dark"].edges[kind] for kind in (EdgeType.CONTAINS, EdgeType.SEQUENCE)] == [
            "#56B4E9",
            "#E69F00",
        ]
        assert {source.value: line for source, line in LINES.items()} == {
            "observed": "solid",
            "inferred": "dashed",
            "template": "dotted",
        }
        assert [OPACITY[source] for source in EdgeSource] == [0.9, 0.6, 0.4]

    def test_types_differ_without_colour(self) -> None:
        assert len(set(ARROWS.values())) == len(EdgeType)

    @pytest.mark.parametrize("palette", ["document", "cvd"])
    @pytest.mark.parametrize("theme", ["dark", "light"])
    def test_an_edge_can_be_read_off_the_ground(self, palette: Any, theme: Any) -> None:
        colours = COLOURS[palette, theme]
        for colour in (*colours.edges.values(), colours.text):
            one, other = sorted((lightness(colour), lightness(colours.ground)))
            assert (other + 0.05) / (one + 0.05) >= 3

    # Conformance: 004-012, 004-069
    def test_style_and_legend_say_the_same_and_leave_out_nothing(self) -> None:
        rules: dict[str, Any] = {rule["selector"]: rule["style"] for rule in raw(style_of())}
        entries: list[Any] = legend_of()
        assert {entry["label"] for entry in entries} == {
            *(kind.value for kind in EdgeType),
            *(source.value for source in EdgeSource),
            *(kind.value for kind in Kind),
        }
        for entry in entries:
            style = rules[entry["selector"]]
            told = {"colour": "line-color", "arrow": "target-arrow-shape", "line": "line-style", "shape": "shape"}
            for word, name in told.items():
                assert word not in entry or style[name] == entry[word]

    def test_width_grows_with_the_logarithm_and_ends(self) -> None:
        widths = [width_of(10**power) for power in range(9)]
        assert widths == sorted(widths) and widths[-1] == 8
        assert widths[2] - widths[1] == pytest.approx(widths[1] - widths[0], abs=0.6)


def lightness(colour: str) -> float:
    """The relative luminance of WCAG."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@given(st.lists(st.integers(0, 30), max_size=30))
def test_in_a_placed_forest_nobody_stands_on_another(ups: list[int]) -> None:
    children: dict[str, list[str]] = {}
    for number, up in enumerate(ups, start=1):
        children.setdefault(str(up % number), []).append(str(number))
    places = place_nodes(["0"], children)
    assert len(places) == len(ups) + 1 == len(set(places.values()))
    for above, below in children.items():
        rows = [places[child][1] for child in below]
        assert rows == sorted(rows) and rows[0] <= places[above][1] <= rows[-1]
        assert all(places[child][0] > places[above][0] for child in below)


class TestTree:
    """The call tree of one session."""

    def test_like_calls_in_a_row_are_one_box(self) -> None:
        reads = [a_span(str(n), n, n, name="Read", parent="t") for n in range(1, 38)]
        forest = forest_of([a_span("t", 0, 99, kind=Kind.TURN), *reads, a_span("e", 50, 51, name="Edit", parent="t")])
        view = tree_view(forest)
        assert labels(view) == ["turn", "Read ×37", "Edit"]
        assert data(view)[1]["count"] == 37

    def test_a_box_of_like_calls_opens_into_these_calls(self) -> None:
        reads = [a_span(str(n), n, n, name="Read", parent="t") for n in range(1, 38)]
        edits = [a_span(f"e{n}", n, n, name="Edit", parent="t") for n in range(40, 44)]
        forest = forest_of([a_span("t", 0, 99, kind=Kind.TURN), *reads, *edits])
        assert labels(tree_view(forest, root=":1×37")) == ["Read"] * 37
        assert labels(tree_view(forest, FEW, root=":1×37"))[-1] == "… 28 more"
        for nothing in (":1×", ":1×x", ":1×²", ":nobody×3", "×"):
            assert labels(tree_view(forest, root=nothing)) == []

    def test_two_are_not_enough_and_failures_are_counted(self) -> None:
        calls = [a_span(str(n), n, n, name="Read", status=Status.FAILED) for n in range(2)]
        assert labels(tree_view(forest_of(calls))) == ["Read", "Read"]
        more = [*calls, a_span("3", 3, 3, name="Read")]
        (box,) = data(tree_view(forest_of(more)))
        assert (box["count"], box["failures"]) == (3, 2)

    def test_rows_read_as_a_tree(self) -> None:
        inside = {"a": None, "b": "a", "c": "b", "d": "a", "e": None, "f": "e"}
        spans = [a_span(name, n, 99, parent=above) for n, (name, above) in enumerate(inside.items())]
        rows = raw(tree_view(forest_of(spans)).table)
        assert [(row["label"], row["level"]) for row in rows] == [
            *(("s:a", 1), ("s:b", 2), ("s:c", 3), ("s:d", 2), ("s:e", 1), ("s:f", 2))
        ]

    def test_too_deep_is_closed_and_can_be_opened(self) -> None:
        chain = [a_span(str(n), n, 99 - n, parent=str(n - 1) if n else None) for n in range(30)]
        forest = forest_of(chain)
        view = tree_view(forest, FEW)
        assert (len(view.nodes), view.hidden) == (10, 20)
        assert labels(tree_view(forest, FEW, root=":9"))[0] == "s:9"

    def test_too_wide_is_cut_and_the_rest_can_be_opened(self) -> None:
        forest = forest_of([a_span("p", 0, 99), *(a_span(str(n), n, n, parent="p") for n in range(25))])
        seen: list[str] = []
        root: str | None = None
        while True:
            view = tree_view(forest, FEW, root=root)
            seen += [label for label in labels(view) if not label.startswith("…") and label != "s:p"]
            last: Any = view.table[-1]
            if not last["id"].endswith(MORE):
                break
            root = last["id"]
        assert seen == [f"s:{n}" for n in range(25)]

    @given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=40))
    def test_nothing_is_left_out(self, drawn: list[tuple[int, int]]) -> None:
        spans = [
            a_span(str(n), n, 99, name=f"s:{name}", parent=str(up % n) if n and up % (n + 1) else None)
            for n, (up, name) in enumerate(drawn)
        ]
        forest = forest_of(spans)
        view = tree_view(forest, FEW)
        assert len(view.nodes) <= 10
        assert sum(box["count"] for box in data(view)) + view.hidden == len(spans)
        ids = {box["id"] for box in data(view)}
        assert len(ids) == len(view.nodes)
        assert all(edge["data"]["source"] in ids and edge["data"]["target"] in ids for edge in raw(view.edges))

    def test_ten_thousand_spans_are_few_boxes(self) -> None:
        spans = [a_span(str(n), n, n + 1, name=f"s:{n % 7}", parent=str(n // 10) if n else None) for n in range(10_000)]
        view = tree_view(forest_of(spans))
        assert len(view.nodes) <= DRAWN_MAX
        assert sum(box["count"] for box in data(view)) + view.hidden == 10_000


class TestGraph:
    """The learnt graph, and the difference between two."""

    # Conformance: 004-062
    @given(graphs())
    def test_every_edge_has_type_and_source_and_every_node_a_place(self, engine: GraphEngine) -> None:
        snapshot = engine.get_graph_snapshot()
        view = graph_view(snapshot)
        assert len(view.nodes) == len(snapshot.nodes) and len(view.edges) == len(snapshot.edges) == len(view.table)
        for edge, drawn in zip(snapshot.edges, view.edges, strict=True):
            told: Any = drawn["data"]
            assert (told["edge_type"], told["edge_source"]) == (edge.type.value, edge.source.value)
            assert drawn["classes"] == f"{edge.type.value} {edge.source.value}"
            assert len(told["evidence"]) == len(edge.evidence)
        places = {(node["position"]["x"], node["position"]["y"]) for node in raw(view.nodes)}
        assert len(places) == len(view.nodes)
        assert len({edge["data"]["id"] for edge in raw(view.edges)}) == len(view.edges)
        json.dumps(view.as_json(), allow_nan=False)

    @given(graphs(), graphs())
    def test_a_difference_has_all_edges_of_both(self, one: GraphEngine, other: GraphEngine) -> None:
        before, after = one.get_graph_snapshot(), other.get_graph_snapshot()
        old, new = ({edge.key for edge in graph.edges} for graph in (before, after))
        view = difference_view(before, after)
        changes: list[Any] = [edge["data"] for edge in view.edges]
        assert len(changes) == len(old | new)
        assert sum(one["change"] == "new" for one in changes) == len(new - old)
        assert sum(one["change"] == "gone" for one in changes) == len(old - new)

    def test_shares_are_compared_and_not_counts(self) -> None:
        before = a_graph(("s:a", "s:b", SEQUENCE, 1), ("s:a", "s:c", SEQUENCE, 1)).get_graph_snapshot()
        after = a_graph(("s:a", "s:b", SEQUENCE, 6), ("s:a", "s:c", SEQUENCE, 2)).get_graph_snapshot()
        changes: list[Any] = [row["change"] for row in difference_view(before, after).table]
        assert changes == ["more", "less"]
        assert {row["change"] for row in difference_view(after, after).table} == {"same"}

    def test_of_some_edges_the_shares_are_those_of_all(self) -> None:
        before = a_graph(("s:a", "s:b", SEQUENCE, 1), ("s:a", "s:c", SEQUENCE, 3)).get_graph_snapshot()
        view = difference_view(before, before, {("s:a", "s:b", SEQUENCE)})
        (row,) = raw(view.table)
        assert (row["to"], row["share_before"]) == ("s:b", 0.25)
        assert [node["id"] for node in data(view)] == ["s:a", "s:b"]

    def test_what_contains_it_most_often_is_what_it_stands_under(self) -> None:
        engine = a_graph(("s:a", "s:z", CONTAINS, 1), ("s:b", "s:z", CONTAINS, 2))
        places: dict[Any, Any] = {
            node["data"]["id"]: node["position"] for node in raw(graph_view(engine.get_graph_snapshot()).nodes)
        }
        assert places["s:z"]["y"] == places["s:b"]["y"] != places["s:a"]["y"]


class TestLanes:
    """What happened before what."""

    @given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), min_size=1, max_size=25))
    def test_bars_of_one_lane_do_not_overlap_and_order_is_from_left_to_right(
        self, drawn: list[tuple[int, int]]
    ) -> None:
        spans = [a_span(str(n), start, start + length) for n, (start, length) in enumerate(drawn)]
        view = lanes_view(forest_of(spans))
        by_lane: dict[int, list[CallSpan]] = {}
        x: dict[str, float] = {}
        for row, node in zip(data(view), raw(view.nodes), strict=True):
            span = spans[int(row["id"][1:])]
            by_lane.setdefault(row["lane"], []).append(span)
            x[span.id] = node["position"]["x"]
        for lane in by_lane.values():
            for one, other in pairwise(sorted(lane, key=lambda span: (span.start_ns, span.end_ns))):
                assert one.end_ns is not None and other.start_ns is not None and one.end_ns < other.start_ns
        for one in spans:
            for other in spans:
                if one.end_ns is not None and other.start_ns is not None and one.end_ns < other.start_ns:
                    assert x[one.id] + MOMENT_X <= x[other.id]

    def test_fork_and_join_are_drawn(self) -> None:
        spans = [a_span("a", 0, 1), a_span("b", 2, 5), a_span("c", 3, 6), a_span("d", 7, 8)]
        view = lanes_view(forest_of(spans))
        drawn: list[Any] = [edge["data"] for edge in view.edges]
        assert {(one["source"], one["target"]) for one in drawn} == {
            (":a", ":b"),
            (":a", ":c"),
            (":b", ":d"),
            (":c", ":d"),
        }
        assert [row["lane"] for row in view.table] == [1, 1, 2, 1]

    def test_what_does_not_fit_is_counted_and_can_be_asked_for(self) -> None:
        forest = forest_of([a_span(str(n), n, n) for n in range(25)])
        first, last = lanes_view(forest, FEW), lanes_view(forest, FEW, skip=20)
        assert (len(first.nodes), first.hidden, labels(last)) == (10, 15, [f"s:{n}" for n in range(20, 25)])

    def test_without_times_places_stand_for_them(self) -> None:
        view = lanes_view(forest_of([a_span("a"), a_span("b", kind=Kind.TURN), a_span("c")]))
        assert labels(view) == ["s:a", "s:c"]
