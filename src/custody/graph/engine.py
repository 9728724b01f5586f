"""The graph engine: the calls of document 004 in Python spelling, over the package's own parts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from custody.graph.book import Book
from custody.graph.calls import CallPlace
from custody.graph.dag import Dag, dag_of
from custody.graph.lessons import lessons_of
from custody.graph.model import Edge, EdgeKey, EdgeSource, EdgeType, Node
from custody.graph.paths import Cost, GraphPath, shortest_path
from custody.graph.prediction import NEXT_MAX, CallSuggestion, NextModel, SessionState, explain_suggestions
from custody.graph.rules import GraphRules
from custody.graph.similarity import SIMILAR_MAX, Formula, SimilarNode, adamic_adar
from custody.graph.spans import SpanInput, SpanRepair, forest_of
from custody.graph.table import EdgeShelf, weight_of

if TYPE_CHECKING:
    from custody.graph.csr import Matrix


@dataclass(frozen=True, slots=True)
class Update:
    """What learning did: edges that were seen, promoted, or set aside because they would close a cycle; repairs."""

    touched: tuple[EdgeKey, ...]
    promoted: tuple[EdgeKey, ...]
    aside: tuple[EdgeKey, ...]
    repairs: Mapping[SpanRepair, int]


@dataclass(frozen=True, slots=True)
class Template:
    """A workflow that somebody foresees: pairs of nodes, by default what is needed and what needs it."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    type: EdgeType = EdgeType.DEPENDENCY


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every node and every edge at one moment, sorted; ``aside`` are edges that would have closed a cycle."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    aside: tuple[Edge, ...]


class GraphEngine:
    """A graph that learns from executions and answers questions; what it is handed decides everything it says."""

    def __init__(self, rules: GraphRules | None = None) -> None:
        self.rules = rules or GraphRules()
        self.book = Book(self.rules)
        self._matrix: Matrix | None = None

    def update_from_code_execution(self, traces: Iterable[SpanInput]) -> Update:
        """Learn from whole executions; one that comes in two calls counts as two.

        Beside our own records it takes events of a bridge and plain mappings with the same fields. One that says
        neither what it tells of nor of which call raises ``InputError`` before anything is learnt.
        """
        forest = forest_of(traces)
        effects = [self.book.add(lesson) for lesson in lessons_of(forest)]
        return Update(
            touched=_once(key for effect in effects for key in effect.touched),
            promoted=_once(key for effect in effects for key in effect.promoted),
            aside=_once(key for effect in effects for key in effect.aside),
            repairs=forest.repairs,
        )

    def bootstrap_from_templates(self, templates: Iterable[Template]) -> tuple[EdgeKey, ...]:
        """Put the edges of workflows that nobody has seen yet; given back are those that would close a cycle."""
        keys = ((start, end, EdgeType(template.type)) for template in templates for start, end in template.pairs)
        return _once(key for key in keys if not self.book.foresee(key))

    def get_edge_data(self, start: str, end: str, edge_type: EdgeType | None = None) -> Edge | None:
        """An edge; without a type the heaviest of the pair, dependency before contains before sequence."""
        found = self.book.between(start, end)
        return next((edge for edge in found if edge_type is None or edge.type == edge_type), None)

    def get_edge_weight(self, edge_type: EdgeType, edge_source: EdgeSource) -> float:
        """The weight of the type times that of the source."""
        return weight_of(EdgeType(edge_type), EdgeSource(edge_source), self.rules)

    def sync_from_database(self, shelf: EdgeShelf) -> None:
        """Become what the shelf holds, exactly."""
        self.book = Book(self.rules)
        self._matrix = None
        self.book.load(shelf.nodes(), shelf.edges())
        self.book.settled()

    def persist_edges(self, shelf: EdgeShelf) -> int:
        """Put what changed since the last time; the number of its edges."""
        nodes, edges = self.book.changed()
        if nodes or edges:
            shelf.put(nodes, edges)
        self.book.settled()
        return len(edges)

    def find_shortest_path(self, start: str, end: str, cost: Cost = "document") -> GraphPath | None:
        """The cheapest way from one node to another; None where there is none."""
        return shortest_path(self.book, start, end, cost)

    def compute_adamic_adar(self, node: str, limit: int = SIMILAR_MAX, formula: Formula = "page") -> list[SimilarNode]:
        """The nodes most like ``node`` by the neighbours that they share, the most alike first."""
        return adamic_adar(self._current(), node, limit, formula)

    def _current(self) -> "Matrix":
        """The arrays of the graph as it is now; numpy is imported when they are first asked for."""
        from custody.graph.csr import Matrix

        if self._matrix is None or self._matrix.version != self.book.version:
            self._matrix = Matrix(self.book)
        return self._matrix

    def build_dag(self, nodes: Iterable[str] | None = None) -> Dag:
        """These nodes, or all, without cycles: which edges stay, which were removed, and an order."""
        return dag_of(self.book, nodes)

    def suggest_next(
        self, model: NextModel, session: SessionState, place: CallPlace | None = None, limit: int = NEXT_MAX
    ) -> list[CallSuggestion]:
        """The likeliest next calls by the sequence model, each with the edges of this graph that lead to it."""
        return explain_suggestions(model.suggest(session, place, limit), self.book, session, place)

    def get_graph_snapshot(self) -> Snapshot:
        """Everything, with type and source of every edge."""
        aside = [self.book.edge(key, row, aside=True) for key, row in self.book.aside.items()]
        return Snapshot(
            nodes=tuple(replace(self.book.nodes[name]) for name in sorted(self.book.nodes)),
            edges=tuple(self.book.edges()),
            aside=tuple(sorted(aside, key=lambda edge: (edge.start, edge.end, edge.type.value))),
        )


def _once(keys: Iterable[EdgeKey]) -> tuple[EdgeKey, ...]:
    return tuple(dict.fromkeys(keys))
