"""The graph engine: the functions of document 004 with Python names."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import MissingExtra
from custody.graph.book import Book
from custody.graph.calls import CallPlace
from custody.graph.dag import Dag, build_acyclic_graph
from custody.graph.lessons import lessons_from_span_forest
from custody.graph.model import Edge, EdgeKey, EdgeSource, EdgeType, Node
from custody.graph.paths import Cost, GraphPath, find_cheapest_path
from custody.graph.prediction import NEXT_MAX, CallSuggestion, NextModel, SessionState, explain_call_suggestions
from custody.graph.rules import GraphRules
from custody.graph.similarity import SIMILAR_MAX, Formula, SimilarNode, find_similar_graph_nodes
from custody.graph.spans import SpanInput, SpanRepair, build_span_forest
from custody.graph.table import EdgeStorage, compute_edge_weight

if TYPE_CHECKING:
    from custody.graph.csr import Matrix


class Update(Struct, frozen=True):
    """The effect of learning: edges that were touched, promoted, or set aside to avoid a cycle; and repairs."""

    touched: tuple[EdgeKey, ...]
    promoted: tuple[EdgeKey, ...]
    aside: tuple[EdgeKey, ...]
    repairs: Mapping[SpanRepair, int]


class Template(Struct, frozen=True):
    """An expected workflow: pairs of nodes, by default the needed node and the one that needs it."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    type: EdgeType = EdgeType.DEPENDENCY


class Snapshot(Struct, frozen=True):
    """Every node and every edge at one time, sorted; ``aside`` are edges that would close a cycle."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    aside: tuple[Edge, ...]


class GraphEngine:
    """A graph that learns from executions and answers queries, from its input alone."""

    def __init__(self, rules: GraphRules | None = None) -> None:
        self.rules = rules or GraphRules()
        self.book = Book(self.rules)
        self._matrix: Matrix | None = None

    def update_from_code_execution(self, traces: Iterable[SpanInput]) -> Update:
        """Learn from whole executions; an execution passed in two calls counts twice.

        Accepts our own records, events of a bridge and plain mappings with the same fields. An event without a type or
        an id raises ``InputError`` before anything is learned.
        """
        forest = build_span_forest(traces)
        effects = [self.book.add(lesson) for lesson in lessons_from_span_forest(forest)]
        return Update(
            touched=_deduplicate_edge_keys(key for effect in effects for key in effect.touched),
            promoted=_deduplicate_edge_keys(key for effect in effects for key in effect.promoted),
            aside=_deduplicate_edge_keys(key for effect in effects for key in effect.aside),
            repairs=forest.repairs,
        )

    def bootstrap_from_templates(self, templates: Iterable[Template]) -> tuple[EdgeKey, ...]:
        """Add the edges of expected workflows; return those that would close a cycle."""
        keys = ((start, end, EdgeType(template.type)) for template in templates for start, end in template.pairs)
        return _deduplicate_edge_keys(key for key in keys if not self.book.add_template_edge(key))

    def get_edge_data(self, start: str, end: str, edge_type: EdgeType | None = None) -> Edge | None:
        """Return an edge; without a type, the heaviest of the pair (ties: dependency, contains, sequence)."""
        edges = self.book.list_edges_between(start, end)
        return next((edge for edge in edges if edge_type is None or edge.type == edge_type), None)

    def get_edge_weight(self, edge_type: EdgeType, edge_source: EdgeSource) -> float:
        """Return the weight of the type times that of the source."""
        return compute_edge_weight(EdgeType(edge_type), EdgeSource(edge_source), self.rules)

    def sync_from_database(self, storage: EdgeStorage) -> None:
        """Replace the graph by the stored one."""
        self.book = Book(self.rules)
        self._matrix = None
        self.book.load(storage.nodes(), storage.edges())
        self.book.clear_changes()

    def persist_edges(self, storage: EdgeStorage) -> int:
        """Store what changed since the last time; return the number of changed edges."""
        nodes, edges = self.book.list_changes()
        if nodes or edges:
            storage.put(nodes, edges)
        self.book.clear_changes()
        return len(edges)

    def find_shortest_path(self, start: str, end: str, cost: Cost = "document") -> GraphPath | None:
        """Return the cheapest path between two nodes; None if there is none."""
        return find_cheapest_path(self.book, start, end, cost)

    def compute_adamic_adar(self, node: str, limit: int = SIMILAR_MAX, formula: Formula = "page") -> list[SimilarNode]:
        """Return the nodes most similar to ``node`` by shared neighbors, most similar first."""
        return find_similar_graph_nodes(self._refresh_matrix(), node, limit, formula)

    def _refresh_matrix(self) -> "Matrix":
        """Return the arrays of the current graph; numpy is imported on first use."""
        try:
            from custody.graph.csr import Matrix
        except ImportError as error:
            raise MissingExtra("numpy", "vector") from error

        if self._matrix is None or self._matrix.version != self.book.version:
            self._matrix = Matrix(self.book)
        return self._matrix

    def build_dag(self, nodes: Iterable[str] | None = None) -> Dag:
        """Return these nodes, or all, without cycles: the remaining edges, the removed ones, and an order."""
        return build_acyclic_graph(self.book, nodes)

    def suggest_next(
        self, model: NextModel, session: SessionState, place: CallPlace | None = None, limit: int = NEXT_MAX
    ) -> list[CallSuggestion]:
        """Return the likeliest next calls by the sequence model, each with the edges of this graph that lead to it."""
        return explain_call_suggestions(model.suggest(session, place, limit), self.book, session, place)

    def get_graph_snapshot(self) -> Snapshot:
        """Return every node and edge."""
        aside = [self.book.edge(key, row, aside=True) for key, row in self.book.aside.items()]
        return Snapshot(
            nodes=tuple(replace(self.book.nodes[name]) for name in sorted(self.book.nodes)),
            edges=tuple(self.book.edges()),
            aside=tuple(sorted(aside, key=lambda edge: (edge.start, edge.end, edge.type.value))),
        )


def _deduplicate_edge_keys(keys: Iterable[EdgeKey]) -> tuple[EdgeKey, ...]:
    return tuple(dict.fromkeys(keys))
