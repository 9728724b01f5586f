"""Nodes that are similar by the neighbors they share (Adamic and Adar), and which neighbors those are.

The page's formula is Σ sqrt(w(u,z) · w(z,v)) / ln(1 + strength(z)) over the common neighbors z: it is symmetric. The
document's is Σ w(u,z) / ln(degree(z)) over the z with more than one neighbor. A weight is that of the heaviest edge
between two nodes, in either direction; a strength is the sum of a node's weights, its degree the number of its
neighbors.
"""

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from custody.graph.model import Edge

if TYPE_CHECKING:
    from custody.graph.csr import Matrix

Formula = Literal["page", "document"]
SIMILAR_MAX = 10
"""Default number of similar nodes."""
WITNESSES_MAX = 5
"""Common neighbors listed with each."""


class CommonNeighbor(Struct, frozen=True):
    """A common neighbor: its part of the score, and the heaviest edge from each node to it."""

    node: str
    share: float
    edges: tuple[Edge, ...]


class SimilarNode(Struct, frozen=True):
    """A node similar to the requested one: its score, and the neighbors that contribute most."""

    node: str
    score: float
    witnesses: tuple[CommonNeighbor, ...]


def find_similar_graph_nodes(matrix: "Matrix", node: str, limit: int, formula: Formula = "page") -> list[SimilarNode]:
    """Return the nodes most similar to ``node``, at most ``limit``; none for an unknown or structural node."""
    place = matrix.places.get(node)
    if place is None:
        return []
    document = formula == "document"
    edges: dict[tuple[str, str], Edge | None] = {}

    def edge(name: str, between: str) -> Edge | None:
        if (name, between) not in edges:
            edges[name, between] = matrix.book.heaviest(name, between)
        return edges[name, between]

    def shared(other: str, between: str, share: float) -> CommonNeighbor:
        both = (edge(node, between), edge(other, between))
        return CommonNeighbor(between, share, tuple(link for link in both if link is not None))

    names = matrix.names
    return [
        SimilarNode(
            names[other],
            score,
            tuple(
                shared(names[other], names[between], share)
                for between, share in matrix.common(place, other, document=document)[:WITNESSES_MAX]
            ),
        )
        for other, score in matrix.best(place, limit, document=document)
    ]
