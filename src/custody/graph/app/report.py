"""Nodes and edges of the graph as they leave the program."""

from dataclasses import dataclass

from custody.core.errors import InputError
from custody.core.ids import ExecutionId
from custody.core.wire.time import text_from
from custody.graph.app.learn import LearntGraph
from custody.graph.model import Edge, EdgeKey, EdgeType, Node
from custody.graph.queries import first_spans
from custody.graph.wire.report import GraphEdge, GraphNode, GraphWitness
from custody.ledger.queries import session_rows
from custody.store import Store


def report_edge(edge: Edge) -> GraphEdge:
    """One edge."""
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
        first=_time(edge.first_ns),
        last=_time(edge.last_ns),
        evidence=[
            GraphWitness(witness.execution, witness.before, witness.after, _time(witness.at_ns))
            for witness in edge.evidence
        ],
    )


def report_node(node: Node) -> GraphNode:
    """One node."""
    return GraphNode(
        name=node.name,
        kind=node.kind.value,
        count=node.count,
        failures=node.failures,
        repeats=node.repeats,
        recursions=node.recursions,
    )


def _time(at_ns: int | None) -> str | None:
    """A moment in words; None where none was told."""
    return text_from(at_ns) if at_ns else None


# The runs behind an edge: which sessions and executions showed it last.


LENGTH_DIGITS_MAX = 6
SESSIONS_MAX, SPANS_MAX = 10, 20
"""What is looked at to find out whose an execution is."""


@dataclass(frozen=True, slots=True)
class EdgeRun:
    """A run that shows an edge: the execution, and the agent's session that it was, where there is one."""

    witness: GraphWitness
    agent: str | None
    session: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """An edge and the newest of its runs."""

    edge: GraphEdge
    runs: list[EdgeRun]


def list_edge_runs(store: Store, learnt: LearntGraph, key: EdgeKey) -> Runs | None:
    """The runs behind a learnt edge, the newest first; None where there is no such edge."""
    edge = learnt.engine.get_edge_data(*key)
    if edge is None:
        return None
    report = report_edge(edge)
    owners = {
        execution: _find_session(store, execution) for execution in {witness.execution for witness in report.evidence}
    }
    runs = [EdgeRun(witness, *owners[witness.execution]) for witness in report.evidence]
    return Runs(edge=report, runs=sorted(runs, key=lambda run: run.witness.at or "", reverse=True))


def edge_key(name: str) -> EdgeKey:
    """Both ends and the type of an edge, from its name: the length of its start, the start, the end, the type.

    >>> edge_key("4:tool>a>b>sequence")
    ('tool', 'a>b', <EdgeType.SEQUENCE: 'sequence'>)
    """
    length, _, rest = name.partition(":")
    rest, _, kind = rest.rpartition(">")
    signs = int(length) if length.isdecimal() and length.isascii() and len(length) <= LENGTH_DIGITS_MAX else -1
    types = {edge_type.value: edge_type for edge_type in EdgeType}
    if not 0 <= signs < len(rest) or rest[signs] != ">" or kind not in types:
        raise InputError("the address names no edge", hint="follow a link to this page")
    return rest[:signs], rest[signs + 1 :], types[kind]


def _find_session(store: Store, execution: str) -> tuple[str | None, str | None]:
    """The agent and the session of an execution, as far as they are known."""
    agent, _, session = execution.partition(":")
    rows = session_rows(store, limit=SESSIONS_MAX, named=session) if session else []
    if any(row.agent == agent for row in rows):
        return agent, session
    for seen in first_spans(store, ExecutionId(execution), SPANS_MAX):
        if seen.view.session or seen.view.agent:
            return seen.view.agent, seen.view.session
    return None, None
