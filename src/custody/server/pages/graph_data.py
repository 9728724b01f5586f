"""A picture of the graph as data for the script, and as rows of a table.

Positions come from the picture; lanes are widened to fit their labels.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct

from custody.core.wire.time import format_timestamp
from custody.graph.app.views import Picture
from custody.server.pages.phrases import escape_page_text, format_seconds, shorten_page_text

LABEL_CHARACTERS, NAME_CHARACTERS = 28, 300
LANE_SCALE = 4
BOW_LEAST, BOW_PART, BOW_MOST = 30.0, 0.3, 170.0
"""How far an edge between two nodes in one column bends, by their distance."""
NS = 1_000_000_000


class Column(Struct, frozen=True):
    """A column of the table: its heading, and whether it holds numbers."""

    name: str
    number: bool = False


class GraphTableRow(Struct, frozen=True):
    """A row: its cells, its element in the picture, its depth, and the legend entries that hide it."""

    cells: Sequence[str]
    of: str
    level: int
    words: Collection[str]


Data = Mapping[str, Any]
Cells = Callable[[Data], Sequence[str]]


def list_page_columns(picture: Picture) -> Sequence[Column]:
    """Return the columns of its table."""
    return COLUMNS[picture.view]


def make_page_table_rows(picture: Picture) -> list[GraphTableRow]:
    """Return the rows of a picture; each names its element."""
    cells, by_node = CELLS[picture.view], picture.view in ("tree", "lanes")
    if by_node:
        ids = {
            node["data"]["id"]: (f"n{n}", node["data"]["kind"])
            for n, node in enumerate(_cast_picture_elements(picture.nodes))
        }
        return [
            GraphTableRow(cells({**row, "kind": kind}), of, int(row.get("level", 1)), (kind,))
            for row in _cast_picture_elements(picture.table)
            for of, kind in (ids[row["id"]],)
        ]
    return [
        GraphTableRow(cells({**row, **edge["data"]}), f"e{n}", 1, _list_island_edge_labels(edge["data"]))
        for n, (row, edge) in enumerate(
            zip(_cast_picture_elements(picture.table), _cast_picture_elements(picture.edges), strict=True)
        )
    ]


def make_graph_island(picture: Picture, rows: Sequence[GraphTableRow]) -> dict[str, Any]:
    """Return everything that the script draws."""
    ids = {node["data"]["id"]: f"n{n}" for n, node in enumerate(_cast_picture_elements(picture.nodes))}
    scale = LANE_SCALE if picture.view == "lanes" else 1
    nodes = [_make_island_node(f"n{n}", node, scale) for n, node in enumerate(_cast_picture_elements(picture.nodes))]
    places = {node["id"]: node for node in nodes}
    known = {value["data"]["id"]: value["data"] for value in _cast_picture_elements(picture.nodes)}
    for edge in _cast_picture_elements(picture.edges):
        start, end = (places[ids[edge["data"][end]]] for end in ("source", "target"))
        if end["x"] > start["x"]:
            start["inner"] = True  # its label would overlap the edges that leave it
    return {
        "view": picture.view,
        "styles": picture.styles,
        "grounds": picture.grounds,
        "nodes": nodes,
        "edges": [
            _make_island_edge(f"e{n}", edge["data"], ids, places, known)
            for n, edge in enumerate(_cast_picture_elements(picture.edges))
        ],
        "columns": [{"name": column.name, "number": column.number} for column in list_page_columns(picture)],
        "rows": [{"cells": row.cells, "of": row.of, "level": row.level} for row in rows],
    }


def list_island_boxes(data: Data) -> list[tuple[str, str]]:
    """Return the boxes that can be expanded: the element of each, and its ``open`` parameter."""
    return [(node["id"], unquote(node["open"])) for node in data["nodes"] if "open" in node]


def _cast_picture_elements(elements: Sequence[Any]) -> Sequence[Any]:
    """Return the same elements, typed as anything."""
    return elements


def _make_island_node(id_: str, element: Data, scale: int) -> dict[str, Any]:
    data = element["data"]
    label = data["label"]
    closed, failed = data.get("hidden", 0), _count_island_failures(data)
    island_node = {
        "id": id_,
        "label": shorten_page_text(label, LABEL_CHARACTERS)
        + (f" +{closed:,}" if closed else "")
        + (" ✕" if failed else ""),
        "name": escape_page_text(label, NAME_CHARACTERS),
        "kind": data["kind"],
        "x": element["position"]["x"] * scale,
        "y": element["position"]["y"],
        "said": _describe_island_node(data),
    }
    if closed or (data.get("count", 1) > 1 and "end_ns" in data):
        island_node["open"] = quote(data["id"], safe="", errors="replace")
    if failed:
        island_node["failed"] = True
    if closed:
        island_node["closed"] = True
    if "length" in data:
        island_node["wide"] = data["length"] * scale
    return island_node


def _count_island_failures(data: Data) -> int:
    return int(data.get("failures", 0)) or int(data.get("status") == "failed")


def _describe_island_node(data: Data) -> list[tuple[str, str]]:
    """Return the details of a selected node."""
    if "end_ns" in data:
        facts = [("calls", f"{data['count']:,}")] if "count" in data else [("lane", f"{data['lane']:,}")]
        facts += [
            ("started", _format_island_time(data["start_ns"])),
            ("duration", _format_island_duration(data)),
            ("outcome", _format_island_outcome(data)),
        ]
        return facts + ([("collapsed inside", f"{data['hidden']:,}")] if data.get("hidden") else [])
    counts = (
        ("calls", "count"),
        ("failed", "failures"),
        ("repeats", "repeats"),
        ("recursions", "recursions"),
    )
    return [(label, f"{data[name]:,}") for label, name in counts]


def _format_island_outcome(data: Data) -> str:
    if "status" in data:
        return "no end recorded" if data["abandoned"] else data["status"]
    outcomes = [
        f"{data[name]:,} {word}"
        for name, word in (("failures", "failed"), ("abandoned", "no end recorded"))
        if data[name]
    ]
    return ", ".join(outcomes) or "ok"


def _make_island_edge(id_: str, data: Data, ids: Mapping[str, str], places: Data, known: Data) -> dict[str, Any]:
    source, target = ids[data["source"]], ids[data["target"]]
    island_edge = {
        "id": id_,
        "source": source,
        "target": target,
        "edge_type": data["edge_type"],
        "edge_source": data["edge_source"],
        "count": data["count"],
        "width": data["width"],
        "runs": _make_edge_url_name(known[data["source"]], known[data["target"]], data["edge_type"]),
        "seen": [
            (escape_page_text(witness["execution"], NAME_CHARACTERS), _format_island_time(witness["at_ns"]))
            for witness in data.get("evidence", ())
        ],
    }
    if places[source]["x"] == places[target]["x"]:
        apart = abs(places[source]["y"] - places[target]["y"])
        island_edge["bow"] = round(min(BOW_LEAST + BOW_PART * apart, BOW_MOST), 1)
    if "change" in data:
        island_edge["change"] = data["change"]
    return island_edge


def _make_edge_url_name(start: Data, end: Data, kind: str) -> str:
    """Return the key of the learned edge for a URL; in a session, a box names the node that it is a call of."""
    first, last = start.get("node", start["id"]), end.get("node", end["id"])
    return quote(f"{len(first)}:{first}>{last}>{kind}", safe="", errors="replace")


def _list_island_edge_labels(data: Data) -> tuple[str, ...]:
    labels = (data["edge_type"], data["edge_source"], data.get("change"))
    return tuple(label for label in labels if label is not None)


def _format_island_time(at_ns: int | None) -> str:
    return format_timestamp(at_ns)[:19].replace("T", " ") if at_ns else ""


def _format_island_duration(data: Data) -> str:
    start, end = data.get("start_ns"), data.get("end_ns")
    return "" if start is None or end is None else format_seconds((end - start) / NS)


def _format_edge_end_cells(data: Data) -> tuple[str, str, str]:
    return shorten_page_text(data["from"], 80), shorten_page_text(data["to"], 80), data["type"]


def _format_share_cell(share: float) -> str:
    return f"{share * 100:.3g} %"


def _make_tree_page_cells(row: Data) -> Sequence[str]:
    closed = f"{row['hidden']:,}" if row["hidden"] else ""
    return (
        shorten_page_text(row["label"], 80),
        row["kind"],
        f"{row['count']:,}",
        _format_island_outcome(row),
        closed,
        _format_island_time(row["start_ns"]),
        _format_island_duration(row),
    )


def _make_lane_page_cells(row: Data) -> Sequence[str]:
    return (
        shorten_page_text(row["label"], 80),
        row["kind"],
        f"{row['lane']:,}",
        _format_island_outcome(row),
        _format_island_time(row["start_ns"]),
        _format_island_duration(row),
    )


def _make_graph_page_cells(row: Data) -> Sequence[str]:
    numbers = (f"{row[name]:,}" for name in ("count", "executions", "successes", "failures"))
    return *_format_edge_end_cells(row), row["edge_source"], *numbers


def _make_difference_page_cells(row: Data) -> Sequence[str]:
    counts = (f"{row[name]:,}" for name in ("count_before", "count_after"))
    return (
        *_format_edge_end_cells(row),
        row["change"],
        *counts,
        _format_share_cell(row["share_before"]),
        _format_share_cell(row["share_after"]),
    )


def _parse_page_columns(text: str) -> tuple[Column, ...]:
    """Parse headings separated by bars; ``#`` marks columns of numbers."""
    return tuple(Column(heading.removeprefix("#"), heading.startswith("#")) for heading in text.split("|"))


CELLS: Mapping[str, Cells] = MappingProxyType(
    {
        "tree": _make_tree_page_cells,
        "lanes": _make_lane_page_cells,
        "graph": _make_graph_page_cells,
        "difference": _make_difference_page_cells,
    }
)
COLUMNS: Mapping[str, Sequence[Column]] = MappingProxyType(
    {
        "tree": _parse_page_columns("call|kind|#calls|outcome|#collapsed|started (UTC)|duration"),
        "lanes": _parse_page_columns("call|kind|#lane|outcome|started (UTC)|duration"),
        "graph": _parse_page_columns("from|to|type|source|#seen|#runs|#ok|#failed"),
        "difference": _parse_page_columns("from|to|type|change|#before|#after|#share before|#share after"),
    }
)
