"""A picture of the graph as its island reads it: small names, text that can be shown, and the same as rows.

Places come from the picture. Here they are only stretched, where names would not fit between them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote

from custody.core.wire.time import text_from
from custody.graph.app.views import Picture
from custody.server.pages.phrases import escape_control_characters, format_seconds, short

LABEL_SIGNS, NAME_SIGNS = 28, 300
LANE_STRETCH = 4
BOW_LEAST, BOW_PART, BOW_MOST = 30.0, 0.3, 170.0
"""How far an edge between two nodes that stand one above the other bends aside, by how far they are apart."""
NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the rows: its heading, and whether it holds numbers."""

    name: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class GraphTableRow:
    """A row: its cells, the element that it tells of, how deep it stands, and what switches it off."""

    cells: Sequence[str]
    of: str
    level: int
    words: Collection[str]


Data = Mapping[str, Any]
Cells = Callable[[Data], Sequence[str]]


def columns_of(picture: Picture) -> Sequence[Column]:
    """The headings of its rows."""
    return COLUMNS[picture.view]


def rows_of(picture: Picture) -> list[GraphTableRow]:
    """The table of a picture; each row names its element."""
    cells, by_node = CELLS[picture.view], picture.view in ("tree", "lanes")
    if by_node:
        ids = {node["data"]["id"]: (f"n{n}", node["data"]["kind"]) for n, node in enumerate(_raw(picture.nodes))}
        return [
            GraphTableRow(cells({**row, "kind": kind}), of, int(row.get("level", 1)), (kind,))
            for row in _raw(picture.table)
            for of, kind in (ids[row["id"]],)
        ]
    return [
        GraphTableRow(cells({**row, **edge["data"]}), f"e{n}", 1, _list_edge_labels(edge["data"]))
        for n, (row, edge) in enumerate(zip(_raw(picture.table), _raw(picture.edges), strict=True))
    ]


def data_of(picture: Picture, rows: Sequence[GraphTableRow]) -> dict[str, Any]:
    """Everything that the island draws."""
    ids = {node["data"]["id"]: f"n{n}" for n, node in enumerate(_raw(picture.nodes))}
    stretch = LANE_STRETCH if picture.view == "lanes" else 1
    nodes = [_node(f"n{n}", node, stretch) for n, node in enumerate(_raw(picture.nodes))]
    places = {node["id"]: node for node in nodes}
    known = {value["data"]["id"]: value["data"] for value in _raw(picture.nodes)}
    for edge in _raw(picture.edges):
        start, end = (places[ids[edge["data"][end]]] for end in ("source", "target"))
        if end["x"] > start["x"]:
            start["inner"] = True  # lines leave it where its name would stand
    return {
        "view": picture.view,
        "styles": picture.styles,
        "grounds": picture.grounds,
        "nodes": nodes,
        "edges": [_edge(f"e{n}", edge["data"], ids, places, known) for n, edge in enumerate(_raw(picture.edges))],
        "columns": [{"name": column.name, "number": column.number} for column in columns_of(picture)],
        "rows": [{"cells": row.cells, "of": row.of, "level": row.level} for row in rows],
    }


def opens_of(data: Data) -> list[tuple[str, str]]:
    """The boxes that can be opened: the element of each, and what the page is asked for it."""
    return [(node["id"], unquote(node["open"])) for node in data["nodes"] if "open" in node]


def _raw(elements: Sequence[Any]) -> Sequence[Any]:
    """The same, for whoever knows what is in them."""
    return elements


def _node(id_: str, element: Data, stretch: int) -> dict[str, Any]:
    data = element["data"]
    label = data["label"]
    closed, failed = data.get("hidden", 0), _failed(data)
    told = {
        "id": id_,
        "label": short(label, LABEL_SIGNS) + (f" +{closed:,}" if closed else "") + (" ✕" if failed else ""),
        "name": escape_control_characters(label, NAME_SIGNS),
        "kind": data["kind"],
        "x": element["position"]["x"] * stretch,
        "y": element["position"]["y"],
        "said": _describe_node(data),
    }
    if closed or (data.get("count", 1) > 1 and "end_ns" in data):
        told["open"] = quote(data["id"], safe="", errors="replace")
    if failed:
        told["failed"] = True
    if closed:
        told["closed"] = True
    if "length" in data:
        told["wide"] = data["length"] * stretch
    return told


def _failed(data: Data) -> int:
    return int(data.get("failures", 0)) or int(data.get("status") == "failed")


def _describe_node(data: Data) -> list[tuple[str, str]]:
    """What is said of a node that is chosen."""
    if "end_ns" in data:
        said = [("calls", f"{data['count']:,}")] if "count" in data else [("lane", f"{data['lane']:,}")]
        said += [("began", _at(data["start_ns"])), ("took", _took(data)), ("outcome", _outcome(data))]
        return said + ([("inside, closed", f"{data['hidden']:,}")] if data.get("hidden") else [])
    words = (
        ("calls", "count"),
        ("failed", "failures"),
        ("followed itself", "repeats"),
        ("called itself", "recursions"),
    )
    return [(word, f"{data[name]:,}") for word, name in words]


def _outcome(data: Data) -> str:
    if "status" in data:
        return "never ended" if data["abandoned"] else data["status"]
    told = [
        f"{data[name]:,} {word}" for name, word in (("failures", "failed"), ("abandoned", "never ended")) if data[name]
    ]
    return ", ".join(told) or "ok"


def _edge(id_: str, data: Data, ids: Mapping[str, str], places: Data, known: Data) -> dict[str, Any]:
    source, target = ids[data["source"]], ids[data["target"]]
    told = {
        "id": id_,
        "source": source,
        "target": target,
        "edge_type": data["edge_type"],
        "edge_source": data["edge_source"],
        "count": data["count"],
        "width": data["width"],
        "runs": _name(known[data["source"]], known[data["target"]], data["edge_type"]),
        "seen": [
            (escape_control_characters(text["execution"], NAME_SIGNS), _at(text["at_ns"]))
            for text in data.get("evidence", ())
        ],
    }
    if places[source]["x"] == places[target]["x"]:
        apart = abs(places[source]["y"] - places[target]["y"])
        told["bow"] = round(min(BOW_LEAST + BOW_PART * apart, BOW_MOST), 1)
    if "change" in data:
        told["change"] = data["change"]
    return told


def _name(start: Data, end: Data, kind: str) -> str:
    """The name of the learnt edge, as an address has it: in a session boxes stand for calls of nodes."""
    first, last = start.get("node", start["id"]), end.get("node", end["id"])
    return quote(f"{len(first)}:{first}>{last}>{kind}", safe="", errors="replace")


def _list_edge_labels(data: Data) -> tuple[str, ...]:
    told = (data["edge_type"], data["edge_source"], data.get("change"))
    return tuple(word for word in told if word is not None)


def _at(at_ns: int | None) -> str:
    return text_from(at_ns)[:19].replace("T", " ") if at_ns else ""


def _took(data: Data) -> str:
    start, end = data.get("start_ns"), data.get("end_ns")
    return "" if start is None or end is None else format_seconds((end - start) / NS)


def _ends(data: Data) -> tuple[str, str, str]:
    return short(data["from"], 80), short(data["to"], 80), data["type"]


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"


def _tree_cells(row: Data) -> Sequence[str]:
    closed = f"{row['hidden']:,}" if row["hidden"] else ""
    return (
        short(row["label"], 80),
        row["kind"],
        f"{row['count']:,}",
        _outcome(row),
        closed,
        _at(row["start_ns"]),
        _took(row),
    )


def _lane_cells(row: Data) -> Sequence[str]:
    return short(row["label"], 80), row["kind"], f"{row['lane']:,}", _outcome(row), _at(row["start_ns"]), _took(row)


def _graph_cells(row: Data) -> Sequence[str]:
    numbers = (f"{row[name]:,}" for name in ("count", "executions", "successes", "failures"))
    return *_ends(row), row["edge_source"], *numbers


def _difference_cells(row: Data) -> Sequence[str]:
    counts = (f"{row[name]:,}" for name in ("count_before", "count_after"))
    return *_ends(row), row["change"], *counts, _percent(row["share_before"]), _percent(row["share_after"])


def _columns(words: str) -> tuple[Column, ...]:
    """Headings with bars between them; ``#`` marks those of numbers."""
    return tuple(Column(word.removeprefix("#"), word.startswith("#")) for word in words.split("|"))


CELLS: Mapping[str, Cells] = MappingProxyType(
    {"tree": _tree_cells, "lanes": _lane_cells, "graph": _graph_cells, "difference": _difference_cells}
)
COLUMNS: Mapping[str, Sequence[Column]] = MappingProxyType(
    {
        "tree": _columns("call|kind|#calls|outcome|#inside|began (UTC)|took"),
        "lanes": _columns("call|kind|#lane|outcome|began (UTC)|took"),
        "graph": _columns("from|to|type|source|#seen|#runs|#ok|#failed"),
        "difference": _columns("from|to|type|change|#before|#after|#share before|#share after"),
    }
)
