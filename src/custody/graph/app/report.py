"""Nodes and edges of the graph as they leave the program."""

from custody.core.wire.time import text_from
from custody.graph.model import Edge, Node
from custody.graph.wire.report import GraphEdge, GraphNode, GraphWitness


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
