"""Which nodes are alike by the neighbours that they share (Adamic and Adar), and which neighbours those are.

The page's formula is Σ sqrt(w(u,z) · w(z,v)) / ln(1 + strength(z)) over the common neighbours z: it is the same both
ways. The document's is Σ w(u,z) / ln(degree(z)) over the z with more than one neighbour. A weight is that of the
heaviest edge between two nodes, in either direction; a strength is the sum of a node's weights, its degree the number
of its neighbours.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from custody.graph.model import Edge

if TYPE_CHECKING:
    from custody.graph.csr import Matrix

Formula = Literal["page", "document"]
SIMILAR_MAX = 10
"""Similar nodes that are listed unless the caller wants more."""
WITNESSES_MAX = 5
"""Common neighbours that are listed with each."""


@dataclass(frozen=True, slots=True)
class CommonNeighbour:
    """A common neighbour: what it adds, and the edges to it from both, each pair's heaviest."""

    node: str
    share: float
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class SimilarNode:
    """A node that is like the one asked about: how much, and the neighbours that say so most."""

    node: str
    score: float
    witnesses: tuple[CommonNeighbour, ...]


def adamic_adar(matrix: "Matrix", node: str, limit: int, formula: Formula = "page") -> list[SimilarNode]:
    """The nodes most like ``node``, at most ``limit``; none for a node that is not known or that is structural."""
    place = matrix.places.get(node)
    if place is None:
        return []
    document = formula == "document"
    edges: dict[tuple[str, str], Edge | None] = {}

    def edge(name: str, between: str) -> Edge | None:
        if (name, between) not in edges:
            edges[name, between] = matrix.book.heaviest(name, between)
        return edges[name, between]

    def shared(other: str, between: str, share: float) -> CommonNeighbour:
        both = (edge(node, between), edge(other, between))
        return CommonNeighbour(between, share, tuple(link for link in both if link is not None))

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
