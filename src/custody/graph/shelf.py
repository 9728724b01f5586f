"""What the engine needs of whoever stores a graph between two runs."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from custody.graph.model import Edge, Node


class EdgeShelf(Protocol):
    """Where a graph is stored: a table of nodes and one of edges, with indexes on type, on source and on both."""

    def nodes(self) -> Iterable[Node]:
        """Every node."""

    def edges(self) -> Iterable[Edge]:
        """Every edge, those that were set aside too."""

    def put(self, nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
        """Store these, all or none, each instead of the one with the same key."""
