"""Drawings of the learned graph, and of the difference between two graphs (two periods, two agents)."""

from collections.abc import Collection, Iterable, Mapping

from custody.graph.elements import Element, GraphPicture, make_edge_element, make_node_element, place_graph_nodes
from custody.graph.engine import Snapshot
from custody.graph.model import Edge, EdgeKey, EdgeType, Node


def draw_graph_snapshot(snapshot: Snapshot) -> GraphPicture:
    """Draw every node and every edge; places follow from containment."""
    places = _place_snapshot_nodes([node.name for node in snapshot.nodes], snapshot.edges)
    return GraphPicture(
        "graph",
        tuple(_make_graph_node_element(node, places) for node in snapshot.nodes),
        tuple(make_edge_element(edge) for edge in snapshot.edges),
        tuple(_make_edge_table_row(edge) for edge in snapshot.edges),
    )


def draw_snapshot_difference(
    before: Snapshot, after: Snapshot, only: Collection[EdgeKey] | None = None
) -> GraphPicture:
    """Draw both graphs in one: each edge is new, gone, or more, less or equally common among the edges of its type.

    With ``only``, just these edges and their ends are drawn; shares still refer to all edges.
    """
    old, new = ({edge.key: edge for edge in snapshot.edges} for snapshot in (before, after))
    totals = _count_edges_by_type(before), _count_edges_by_type(after)
    drawn = old.keys() | new.keys() if only is None else (old.keys() | new.keys()) & set(only)
    keys = sorted(drawn, key=lambda key: (key[0], key[1], key[2].value))
    nodes = {node.name: node for node in (*before.nodes, *after.nodes)}
    if only is not None:
        nodes = {name: nodes[name] for key in keys for name in key[:2]}
    places = _place_snapshot_nodes(sorted(nodes), [new.get(key) or old[key] for key in keys])
    edges, table = [], []
    for key in keys:
        change = _describe_edge_change(old.get(key), new.get(key), totals)
        edges.append(make_edge_element(new.get(key) or old[key], **change))
        table.append(_edge_key_to_row(key) | change)
    return GraphPicture(
        "difference",
        tuple(_make_graph_node_element(nodes[name], places) for name in sorted(nodes)),
        tuple(edges),
        tuple(table),
    )


Totals = Mapping[EdgeType, int]


def _count_edges_by_type(snapshot: Snapshot) -> Totals:
    totals = dict.fromkeys(EdgeType, 0)
    for edge in snapshot.edges:
        totals[edge.type] += edge.count
    return totals


def _describe_edge_change(old: Edge | None, new: Edge | None, totals: tuple[Totals, Totals]) -> Element:
    """Compare shares, not counts: the longer period has more of everything."""
    shares = [
        0.0 if edge is None or not total[edge.type] else edge.count / total[edge.type]
        for edge, total in zip((old, new), totals, strict=True)
    ]
    if old is None or new is None:
        change = "new" if old is None else "gone"
    else:
        change = "same" if shares[0] == shares[1] else "more" if shares[1] > shares[0] else "less"
    return {
        "change": change,
        "count_before": 0 if old is None else old.count,
        "count_after": 0 if new is None else new.count,
        "share_before": round(shares[0], 6),
        "share_after": round(shares[1], 6),
    }


def _place_snapshot_nodes(names: Iterable[str], edges: Iterable[Edge]) -> dict[str, tuple[float, float]]:
    """Place each node under the node that contains it most often, which gives a forest.

    In the union of two graphs containment may form a cycle: the node that would close it becomes a root.
    """
    above: dict[str, Edge] = {}
    for edge in edges:
        if edge.type is EdgeType.CONTAINS and _rank_containing_edge(edge) < _rank_containing_edge(above.get(edge.end)):
            above[edge.end] = edge
    children: dict[str, list[str]] = {}
    roots = []
    safe: set[str] = set()
    for name in names:
        _break_containment_cycle(name, above, safe)
    for name in names:
        if name in above:
            children.setdefault(above[name].start, []).append(name)
        else:
            roots.append(name)
    return place_graph_nodes(roots, children)


def _rank_containing_edge(edge: Edge | None) -> tuple[int, str]:
    return (1, "") if edge is None else (-edge.count, edge.start)


def _break_containment_cycle(name: str, above: dict[str, Edge], safe: set[str]) -> None:
    path: set[str] = set()
    at = name
    while at not in safe and at in above and at not in path:
        path.add(at)
        at = above[at].start
    if at in path:
        del above[at]
    safe |= path


def _make_graph_node_element(node: Node, places: Mapping[str, tuple[float, float]]) -> Element:
    return make_node_element(
        node.name,
        node.kind,
        places[node.name],
        node.name,
        count=node.count,
        failures=node.failures,
        repeats=node.repeats,
        recursions=node.recursions,
    )


def _make_edge_table_row(edge: Edge) -> Element:
    counts: Element = {"source": edge.source.value, "count": edge.count, "executions": edge.executions}
    return _edge_key_to_row(edge.key) | counts | {"successes": edge.successes, "failures": edge.failures}


def _edge_key_to_row(key: EdgeKey) -> Element:
    return {"from": key[0], "to": key[1], "type": key[2].value}
