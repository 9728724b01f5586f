"""The learnt graph, and the difference between two of them (two periods, two agents)."""

from collections.abc import Collection, Iterable, Mapping

from custody.graph.elements import Element, GraphPicture, edge_element, node_element, place_nodes
from custody.graph.engine import Snapshot
from custody.graph.model import Edge, EdgeKey, EdgeType, Node


def graph_view(snapshot: Snapshot) -> GraphPicture:
    """Every node and every edge; places follow from what contains what."""
    places = _places([node.name for node in snapshot.nodes], snapshot.edges)
    return GraphPicture(
        "graph",
        tuple(_node(node, places) for node in snapshot.nodes),
        tuple(edge_element(edge) for edge in snapshot.edges),
        tuple(_row(edge) for edge in snapshot.edges),
    )


def difference_view(before: Snapshot, after: Snapshot, only: Collection[EdgeKey] | None = None) -> GraphPicture:
    """Both graphs in one: each edge is new, gone, or more, less or equally common among the edges of its type.

    With ``only``, these edges and their ends are drawn; shares are still of all.
    """
    old, new = ({edge.key: edge for edge in snapshot.edges} for snapshot in (before, after))
    totals = _totals(before), _totals(after)
    drawn = old.keys() | new.keys() if only is None else (old.keys() | new.keys()) & set(only)
    keys = sorted(drawn, key=lambda key: (key[0], key[1], key[2].value))
    nodes = {node.name: node for node in (*before.nodes, *after.nodes)}
    if only is not None:
        nodes = {name: nodes[name] for key in keys for name in key[:2]}
    places = _places(sorted(nodes), [new.get(key) or old[key] for key in keys])
    edges, table = [], []
    for key in keys:
        change = _change(old.get(key), new.get(key), totals)
        edges.append(edge_element(new.get(key) or old[key], **change))
        table.append(_named(key) | change)
    return GraphPicture(
        "difference", tuple(_node(nodes[name], places) for name in sorted(nodes)), tuple(edges), tuple(table)
    )


Totals = Mapping[EdgeType, int]


def _totals(snapshot: Snapshot) -> Totals:
    totals = dict.fromkeys(EdgeType, 0)
    for edge in snapshot.edges:
        totals[edge.type] += edge.count
    return totals


def _change(old: Edge | None, new: Edge | None, totals: tuple[Totals, Totals]) -> Element:
    """Shares are compared, not counts: the longer period has more of everything."""
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


def _places(names: Iterable[str], edges: Iterable[Edge]) -> dict[str, tuple[float, float]]:
    """A node stands under whoever contains it most often; since nothing contains itself, that is a forest.

    Where two graphs are drawn as one, what contains what may go round: whoever would close a circle stands apart.
    """
    above: dict[str, Edge] = {}
    for edge in edges:
        if edge.type is EdgeType.CONTAINS and _most(edge) < _most(above.get(edge.end)):
            above[edge.end] = edge
    children: dict[str, list[str]] = {}
    roots = []
    safe: set[str] = set()
    for name in names:
        _open_circle(name, above, safe)
    for name in names:
        if name in above:
            children.setdefault(above[name].start, []).append(name)
        else:
            roots.append(name)
    return place_nodes(roots, children)


def _most(edge: Edge | None) -> tuple[int, str]:
    return (1, "") if edge is None else (-edge.count, edge.start)


def _open_circle(name: str, above: dict[str, Edge], safe: set[str]) -> None:
    way: set[str] = set()
    at = name
    while at not in safe and at in above and at not in way:
        way.add(at)
        at = above[at].start
    if at in way:
        del above[at]
    safe |= way


def _node(node: Node, places: Mapping[str, tuple[float, float]]) -> Element:
    return node_element(
        node.name,
        node.kind,
        places[node.name],
        node.name,
        count=node.count,
        failures=node.failures,
        repeats=node.repeats,
        recursions=node.recursions,
    )


def _row(edge: Edge) -> Element:
    told: Element = {"source": edge.source.value, "count": edge.count, "executions": edge.executions}
    return _named(edge.key) | told | {"successes": edge.successes, "failures": edge.failures}


def _named(key: EdgeKey) -> Element:
    return {"from": key[0], "to": key[1], "type": key[2].value}
