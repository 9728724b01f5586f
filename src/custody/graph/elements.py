"""What is drawn, as values for Cytoscape, and the same as rows of a table for who does not see it."""

from dataclasses import dataclass

from custody.graph.edge_style import Palette, StyleValue, Theme, legend_of, style_of, width_of
from custody.graph.model import Edge, EdgeSource, EdgeType, Kind, Witness

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
