"""Nodes and edges of the graph as reports show them."""

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import ExecutionId
from custody.core.wire.time import format_timestamp
from custody.graph.app.learn import LearnedGraph
from custody.graph.app.session_spans import session_from_execution_id
from custody.graph.model import Edge, EdgeKey, EdgeType, Node
from custody.graph.queries import query_first_spans
from custody.graph.wire.report import GraphEdge, GraphNode, GraphWitness
from custody.ledger.queries import list_session_rows
from custody.store import Store


def report_graph_edge(edge: Edge) -> GraphEdge:
    """Return the report of an edge."""
    return GraphEdge(
        start=edge.start,
        end=edge.end,
        type=edge.type.value,
        source=edge.source.value,
        weight=edge.weight,
        count=edge.count,
        executions=edge.executions,
        successes=edge.successes,
        failures=edge.failures,
        first=_format_edge_time(edge.first_ns),
        last=_format_edge_time(edge.last_ns),
        evidence=[
            GraphWitness(witness.execution, witness.before, witness.after, _format_edge_time(witness.at_ns))
            for witness in edge.evidence
        ],
    )


def report_graph_node(node: Node) -> GraphNode:
    """Return the report of a node."""
    return GraphNode(
        name=node.name,
        kind=node.kind.value,
        count=node.count,
        failures=node.failures,
        repeats=node.repeats,
        recursions=node.recursions,
    )


def _format_edge_time(at_ns: int | None) -> str | None:
    """Return a time as text; None if it is unknown."""
    return format_timestamp(at_ns) if at_ns else None


# The runs behind an edge: the sessions and executions that showed it last.


LENGTH_DIGITS_MAX = 6
SESSIONS_MAX, SPANS_MAX = 10, 20
"""Rows read to find the session of an execution."""


class EdgeRun(Struct, frozen=True):
    """A run that shows an edge: the execution, and the agent's session that it belongs to, if any."""

    witness: GraphWitness
    agent: str | None
    session: str | None


class Runs(Struct, frozen=True, kw_only=True):
    """An edge and the newest of its runs."""

    edge: GraphEdge
    runs: list[EdgeRun]


def list_edge_runs(store: Store, learned: LearnedGraph, key: EdgeKey) -> Runs | None:
    """Return the runs behind a learned edge, newest first; None if the edge is unknown."""
    edge = learned.engine.get_edge_data(*key)
    if edge is None:
        return None
    report = report_graph_edge(edge)
    owners = {
        execution: _find_execution_session(store, execution)
        for execution in {witness.execution for witness in report.evidence}
    }
    runs = [EdgeRun(witness, *owners[witness.execution]) for witness in report.evidence]
    return Runs(edge=report, runs=sorted(runs, key=lambda run: run.witness.at or "", reverse=True))


def parse_edge_key(name: str) -> EdgeKey:
    """Parse an edge's name (the length of its start, the start, the end, the type) into its key.

    >>> parse_edge_key("4:tool>a>b>sequence")
    ('tool', 'a>b', <EdgeType.SEQUENCE: 'sequence'>)
    """
    length, _, rest = name.partition(":")
    rest, _, kind = rest.rpartition(">")
    start_length = int(length) if length.isdecimal() and length.isascii() and len(length) <= LENGTH_DIGITS_MAX else -1
    types = {edge_type.value: edge_type for edge_type in EdgeType}
    if not 0 <= start_length < len(rest) or rest[start_length] != ">" or kind not in types:
        raise InputError("the URL does not name an edge", hint="follow a link to this page")
    return rest[:start_length], rest[start_length + 1 :], types[kind]


def _find_execution_session(store: Store, execution: str) -> tuple[str | None, str | None]:
    """Return the agent and the session of an execution, as far as they are known."""
    captured = session_from_execution_id(execution)
    rows = list_session_rows(store, limit=SESSIONS_MAX, named=captured[1]) if captured is not None else []
    if captured is not None and any(row.agent == captured[0] for row in rows):
        return captured
    for observed in query_first_spans(store, ExecutionId(execution), SPANS_MAX):
        if observed.view.session or observed.view.agent:
            return observed.view.agent, observed.view.session
    return None, None
