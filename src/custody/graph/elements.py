"""What is drawn, as values for Cytoscape, and the same as rows of a table for who does not see it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from custody.graph.model import Edge, EdgeSource, EdgeType, Kind, Witness

# How edges look: colour by type, line by source, arrowhead by type, width by how often. Everything a legend needs.
# Colour is never the only difference: types have arrowheads of their own, and sources have lines of their own.


StyleValue: TypeAlias = "str | int | float | bool | list[StyleValue] | dict[str, StyleValue] | None"
"""A JSON value."""

Palette = Literal["document", "cvd"]
Theme = Literal["dark", "light"]


@dataclass(frozen=True, slots=True)
class Colours:
    """Colours of a palette on a background: of each type of edge, of text, and of the background itself."""

    edges: Mapping[EdgeType, str]
    text: str
    ground: str


def _colours(contains: str, sequence: str, dependency: str, text: str, ground: str) -> Colours:
    kinds = {EdgeType.CONTAINS: contains, EdgeType.SEQUENCE: sequence, EdgeType.DEPENDENCY: dependency}
    return Colours(MappingProxyType(kinds), text, ground)


COLOURS: Mapping[tuple[Palette, Theme], Colours] = MappingProxyType(
    {
        ("document", "dark"): _colours("#22c55e", "#FFB86F", "#f5f0ea", "#f5f0ea", "#14120f"),
        ("document", "light"): _colours("#15803d", "#b45309", "#44403c", "#1c1917", "#ffffff"),
        ("cvd", "dark"): _colours("#56B4E9", "#E69F00", "#f5f0ea", "#f5f0ea", "#14120f"),
        ("cvd", "light"): _colours("#0072B2", "#9a5b00", "#333333", "#1c1917", "#ffffff"),
    }
)
"""Every palette on every theme; ``document`` on dark has the document's colours, ``cvd`` is for the colour-blind."""

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


def width_of(count: int) -> float:
    """How wide an edge is that was seen so often.

    >>> width_of(0), width_of(1), width_of(1023), width_of(10**9)
    (1.0, 1.7, 7.9, 8.0)
    """
    return round(min(WIDTH_MIN + math.log1p(count), WIDTH_MAX), 1)


def style_of(palette: Palette = "document", theme: Theme = "dark") -> list[StyleValue]:
    """The stylesheet for Cytoscape: one rule for all nodes, one for each kind of node, type and source of edge."""
    colours = COLOURS[palette, theme]
    rules: list[StyleValue] = [
        _rule("node", label="data(label)", color=colours.text, background_color=colours.text),
        _rule("edge", curve_style="bezier", width="data(width)"),
    ]
    rules += [_rule(f"node.{kind.value}", shape=shape) for kind, shape in SHAPES.items()]
    for kind, colour in colours.edges.items():
        arrow = ARROWS[kind]
        rules.append(
            _rule(f"edge.{kind.value}", line_color=colour, target_arrow_color=colour, target_arrow_shape=arrow)
        )
    for source, line in LINES.items():
        rules.append(_rule(f"edge.{source.value}", line_style=line, opacity=OPACITY[source]))
    return rules


def legend_of(palette: Palette = "document", theme: Theme = "dark") -> list[StyleValue]:
    """Every type, source and kind of node with how it looks; an entry's ``selector`` is what it switches on and off."""
    colours = COLOURS[palette, theme]
    kinds = [
        _entry("type", kind.value, f"edge.{kind.value}", colour=colours.edges[kind], arrow=ARROWS[kind])
        for kind in EdgeType
    ]
    sources = [
        _entry("source", source.value, f"edge.{source.value}", line=LINES[source], opacity=OPACITY[source])
        for source in EdgeSource
    ]
    nodes = [_entry("node", kind.value, f"node.{kind.value}", shape=shape) for kind, shape in SHAPES.items()]
    return [*kinds, *sources, *nodes]


def _rule(selector: str, **style: StyleValue) -> dict[str, StyleValue]:
    return {"selector": selector, "style": {name.replace("_", "-"): value for name, value in style.items()}}


def _entry(group: str, label: str, selector: str, **look: StyleValue) -> dict[str, StyleValue]:
    return {"group": group, "label": label, "selector": selector, "shown": True, **look}


Element = dict[str, StyleValue]
DRAWN_MAX = 2000
"""Boxes of a picture: more cannot be told apart, and take a browser seconds."""


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """A picture: nodes and edges with everything that they look like, and a table that says the same.

    ``hidden`` is how many calls stand behind closed boxes; none is left out.
    """

    name: str
    nodes: tuple[Element, ...]
    edges: tuple[Element, ...]
    table: tuple[Element, ...]
    hidden: int = 0

    def as_json(self, palette: Palette = "document", theme: Theme = "dark") -> Element:
        """All of it as one JSON value, with stylesheet and legend."""
        return {
            "view": self.name,
            "elements": {"nodes": [*self.nodes], "edges": [*self.edges]},
            "style": style_of(palette, theme),
            "legend": legend_of(palette, theme),
            "table": [*self.table],
            "hidden": self.hidden,
        }


def node_element(id: str, kind: Kind, place: tuple[float, float], label: str, **data: StyleValue) -> Element:
    """A node with its place; its kind is its class."""
    return {
        "data": {"id": id, "label": label, "kind": kind.value, **data},
        "position": {"x": place[0], "y": place[1]},
        "classes": kind.value,
    }


def edge_element(edge: Edge, **data: StyleValue) -> Element:
    """A learnt edge: its type and source are its classes, and the runs behind it are at hand."""
    return _edge(
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
        evidence=[_witness(witness) for witness in edge.evidence],
        **data,
    )


def call_element(start: str, end: str, kind: EdgeType, count: int = 1) -> Element:
    """An edge between two boxes of one session: it was seen, so it is solid."""
    return _edge((start, end), kind, EdgeSource.OBSERVED, count)


def _edge(ends: tuple[str, str], kind: EdgeType, source: EdgeSource, count: int, **data: StyleValue) -> Element:
    start, end = ends
    return {
        "data": {
            # No two edges have the same name, whatever signs the names of their ends contain.
            "id": f"{len(start)}:{start}>{end}>{kind.value}",
            "source": start,
            "target": end,
            "edge_type": kind.value,
            "edge_source": source.value,
            "count": count,
            "width": width_of(count),
            **data,
        },
        "classes": f"{kind.value} {source.value}",
    }


def _witness(witness: Witness) -> Element:
    return {
        "at_ns": witness.at_ns,
        "execution": witness.execution,
        "before": witness.before,
        "after": witness.after,
    }


# Where things stand: trees from left to right, in time proportional to their size.


STEP_X, STEP_Y = 220, 40
"""How far a child stands from its parent, and a row from the next, in units of the canvas."""


def place_nodes(roots: Iterable[str], children: Mapping[str, Sequence[str]]) -> dict[str, tuple[float, float]]:
    """A place for every node of a forest: no two leaves share a row, and a parent stands amid its children.

    >>> place_nodes(["a"], {"a": ["b", "c"]})
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
