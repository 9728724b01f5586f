"""What is kept of a graph between two runs: rows of plain values, and what the engine needs of whoever keeps them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from custody.graph.model import EdgeSource, EdgeType, Witness


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRow:
    """One edge as it is kept; known by start, end and type.

    A row of old has no type or no source: it reads as a sequence, and as inferred. ``aside``: it would have closed a
    cycle and is counted, but no part of the graph.
    """

    start: str
    end: str
    edge_type: str | None = None
    edge_source: str | None = None
    count: int = 0
    executions: int = 0
    successes: int = 0
    failures: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    evidence: tuple[Witness, ...] = ()
    aside: bool = False

    @property
    def type(self) -> EdgeType | None:
        """Its type, with the default of old rows; None for a word that is none."""
        if self.edge_type is None:
            return EdgeType.SEQUENCE
        return next((member for member in EdgeType if member.value == self.edge_type), None)

    @property
    def source(self) -> EdgeSource | None:
        """Its source, with the default of old rows; None for a word that is none."""
        if self.edge_source is None:
            return EdgeSource.INFERRED
        return next((member for member in EdgeSource if member.value == self.edge_source), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """One node as it is kept, known by its name; a row of old has no kind, and its name tells it."""

    name: str
    kind: str | None = None
    count: int = 0
    failures: int = 0
    repeats: int = 0
    recursions: int = 0


class EdgeShelf(Protocol):
    """Where rows are kept: a table of nodes and one of edges, with indexes on type, on source and on both."""

    def nodes(self) -> Iterable[NodeRow]:
        """Every node."""

    def edges(self) -> Iterable[EdgeRow]:
        """Every edge, those that were set aside too."""

    def put(self, nodes: Sequence[NodeRow], edges: Sequence[EdgeRow]) -> None:
        """Keep these rows, all or none, each instead of the one with the same key."""
