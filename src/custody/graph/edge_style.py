"""How edges look: colour by type, line by source, arrowhead by type, width by how often. Everything a legend needs.

Colour is never the only difference: types have arrowheads of their own, and sources have lines of their own.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from custody.graph.model import EdgeSource, EdgeType, Kind

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
