"""Drawings as values for Cytoscape, and the same data as rows of a table for screen readers."""

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias

from msgspec import Struct

from custody.graph.model import Edge, EdgeSource, EdgeType, Kind, Witness

# The look of edges: color by type, line by source, arrowhead by type, width by count.
# Color is never the only difference: types have their own arrowheads, and sources have their own lines.


StyleValue: TypeAlias = "str | int | float | bool | list[StyleValue] | dict[str, StyleValue] | None"
"""A JSON value."""

Palette = Literal["document", "cvd"]
Theme = Literal["dark", "light"]


class Colors(Struct, frozen=True):
    """The colors of a palette on a background: for each type of edge, for text, and the background itself."""

    edges: Mapping[EdgeType, str]
    text: str
    ground: str


def _make_edge_colors(contains: str, sequence: str, dependency: str, text: str, ground: str) -> Colors:
    kinds = {EdgeType.CONTAINS: contains, EdgeType.SEQUENCE: sequence, EdgeType.DEPENDENCY: dependency}
    return Colors(MappingProxyType(kinds), text, ground)


COLORS: Mapping[tuple[Palette, Theme], Colors] = MappingProxyType(
    {
        ("document", "dark"): _make_edge_colors("#22c55e", "#FFB86F", "#f5f0ea", "#f5f0ea", "#14120f"),
        ("document", "light"): _make_edge_colors("#15803d", "#b45309", "#44403c", "#1c1917", "#ffffff"),
        ("cvd", "dark"): _make_edge_colors("#56B4E9", "#E69F00", "#f5f0ea", "#f5f0ea", "#14120f"),
        ("cvd", "light"): _make_edge_colors("#0072B2", "#9a5b00", "#333333", "#1c1917", "#ffffff"),
    }
)
"""Every palette on every theme; ``document`` on dark has the document's colors, ``cvd`` is for color blindness."""

LINES: Mapping[EdgeSource, str] = MappingProxyType(
    {EdgeSource.OBSERVED: "solid", EdgeSource.INFERRED: "dashed", EdgeSource.TEMPLATE: "dotted"}
)
OPACITY: Mapping[EdgeSource, float] = MappingProxyType(
    {EdgeSource.OBSERVED: 0.9, EdgeSource.INFERRED: 0.6, EdgeSource.TEMPLATE: 0.4}
)
ARROWS: Mapping[EdgeType, str] = MappingProxyType(
    {EdgeType.CONTAINS: "triangle", EdgeType.SEQUENCE: "vee", EdgeType.DEPENDENCY: "diamond"}
)
SHAPES: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.SESSION: "round-rectangle",
        Kind.TURN: "round-rectangle",
        Kind.AGENT: "hexagon",
        Kind.WORKFLOW: "octagon",
        Kind.CAPABILITY: "diamond",
        Kind.TOOL: "ellipse",
        Kind.LLM: "star",
        Kind.RETRIEVAL: "barrel",
    }
)
WIDTH_MIN, WIDTH_MAX = 1.0, 8.0


def edge_width_from_count(count: int) -> float:
    """Return the width of an edge with this count.

    >>> edge_width_from_count(0), edge_width_from_count(1), edge_width_from_count(1023), edge_width_from_count(10**9)
    (1.0, 1.7, 7.9, 8.0)
    """
    return round(min(WIDTH_MIN + math.log1p(count), WIDTH_MAX), 1)


def make_graph_stylesheet(palette: Palette = "document", theme: Theme = "dark") -> list[StyleValue]:
    """Return the stylesheet for Cytoscape: a rule for all nodes, and one per kind of node, type and source of edge."""
    colors = COLORS[palette, theme]
    rules: list[StyleValue] = [
        _make_graph_style_rule("node", label="data(label)", color=colors.text, background_color=colors.text),
        _make_graph_style_rule("edge", curve_style="bezier", width="data(width)"),
    ]
    rules += [_make_graph_style_rule(f"node.{kind.value}", shape=shape) for kind, shape in SHAPES.items()]
    for kind, color in colors.edges.items():
        arrow = ARROWS[kind]
        rules.append(
            _make_graph_style_rule(
                f"edge.{kind.value}", line_color=color, target_arrow_color=color, target_arrow_shape=arrow
            )
        )
    for source, line in LINES.items():
        rules.append(_make_graph_style_rule(f"edge.{source.value}", line_style=line, opacity=OPACITY[source]))
    return rules


def make_graph_legend(palette: Palette = "document", theme: Theme = "dark") -> list[StyleValue]:
    """Return every type, source and kind of node with its look; an entry's ``selector`` is what it toggles."""
    colors = COLORS[palette, theme]
    kinds = [
        _make_graph_legend_entry(
            "type", kind.value, f"edge.{kind.value}", colour=colors.edges[kind], arrow=ARROWS[kind]
        )
        for kind in EdgeType
    ]
    sources = [
        _make_graph_legend_entry(
            "source", source.value, f"edge.{source.value}", line=LINES[source], opacity=OPACITY[source]
        )
        for source in EdgeSource
    ]
    nodes = [
        _make_graph_legend_entry("node", kind.value, f"node.{kind.value}", shape=shape)
        for kind, shape in SHAPES.items()
    ]
    return [*kinds, *sources, *nodes]


def _make_graph_style_rule(selector: str, **style: StyleValue) -> dict[str, StyleValue]:
    return {"selector": selector, "style": {name.replace("_", "-"): value for name, value in style.items()}}


def _make_graph_legend_entry(group: str, label: str, selector: str, **look: StyleValue) -> dict[str, StyleValue]:
    return {"group": group, "label": label, "selector": selector, "shown": True, **look}


Element = dict[str, StyleValue]
DRAWN_MAX = 2000
"""Maximum boxes of a picture: more cannot be distinguished, and take a browser seconds."""


class GraphPicture(Struct, frozen=True):
    """A picture: nodes and edges with their looks, and a table of the same data.

    ``hidden`` is how many calls are inside closed boxes; none is left out.
    """

    name: str
    nodes: tuple[Element, ...]
    edges: tuple[Element, ...]
    table: tuple[Element, ...]
    hidden: int = 0

    def as_json(self, palette: Palette = "document", theme: Theme = "dark") -> Element:
        """Return all of it as one JSON value, with stylesheet and legend."""
        return {
            "view": self.name,
            "elements": {"nodes": [*self.nodes], "edges": [*self.edges]},
            "style": make_graph_stylesheet(palette, theme),
            "legend": make_graph_legend(palette, theme),
            "table": [*self.table],
            "hidden": self.hidden,
        }


def make_node_element(id: str, kind: Kind, place: tuple[float, float], label: str, **data: StyleValue) -> Element:
    """Return a node at a place; its kind is its class."""
    return {
        "data": {"id": id, "label": label, "kind": kind.value, **data},
        "position": {"x": place[0], "y": place[1]},
        "classes": kind.value,
    }


def make_edge_element(edge: Edge, **data: StyleValue) -> Element:
    """Return a learned edge; its type and source are its classes, and its data has its evidence."""
    return _build_edge_element(
        (edge.start, edge.end),
        edge.type,
        edge.source,
        edge.count,
        weight=round(edge.weight, 6),
        executions=edge.executions,
        successes=edge.successes,
        failures=edge.failures,
        first_ns=edge.first_ns,
        last_ns=edge.last_ns,
        evidence=[_make_witness_element(witness) for witness in edge.evidence],
        **data,
    )


def make_call_edge_element(start: str, end: str, kind: EdgeType, count: int = 1) -> Element:
    """Return an edge between two boxes of one session: it was observed, so it is solid."""
    return _build_edge_element((start, end), kind, EdgeSource.OBSERVED, count)


def _build_edge_element(
    ends: tuple[str, str], kind: EdgeType, source: EdgeSource, count: int, **data: StyleValue
) -> Element:
    start, end = ends
    return {
        "data": {
            # The length makes names unique, whatever characters the ends contain.
            "id": f"{len(start)}:{start}>{end}>{kind.value}",
            "source": start,
            "target": end,
            "edge_type": kind.value,
            "edge_source": source.value,
            "count": count,
            "width": edge_width_from_count(count),
            **data,
        },
        "classes": f"{kind.value} {source.value}",
    }


def _make_witness_element(witness: Witness) -> Element:
    return {
        "at_ns": witness.at_ns,
        "execution": witness.execution,
        "before": witness.before,
        "after": witness.after,
    }


# Layout: trees from left to right, in linear time.


STEP_X, STEP_Y = 220, 40
"""Distance of a child from its parent, and of a row from the next, in units of the canvas."""


def place_graph_nodes(roots: Iterable[str], children: Mapping[str, Sequence[str]]) -> dict[str, tuple[float, float]]:
    """Return a place for every node of a forest: each leaf has its own row, and a parent is centered on its children.

    >>> place_graph_nodes(["a"], {"a": ["b", "c"]})
    {'b': (220, 0), 'c': (220, 40), 'a': (0, 20.0)}
    """
    places: dict[str, tuple[float, float]] = {}
    row = 0
    todo = [(root, 0, False) for root in roots][::-1]
    while todo:
        node, depth, children_done = todo.pop()
        below = children.get(node, ())
        if not below:
            places[node] = (depth * STEP_X, row * STEP_Y)
            row += 1
        elif children_done:
            places[node] = (depth * STEP_X, (places[below[0]][1] + places[below[-1]][1]) / 2)
        else:
            todo.append((node, depth, True))
            todo.extend((child, depth + 1, False) for child in reversed(below))
    return places
