"""``custody graph``."""

from types import MappingProxyType

import click

from custody.cli.parts import Parts, Table

PARTS: Table = MappingProxyType(
    {
        "show": ("graph_ask_", "Show the graph that was learnt, or the calls of one session."),
        "path": ("graph_ask_", "Find the cheapest way from one node to another."),
        "related": ("graph_ask_", "Find the nodes that are most like one."),
        "next": ("graph_ask_", "Say which call is likely to come next."),
        "dag": ("graph_ask_", "Order the graph so that every edge goes forwards."),
        "diff": ("graph_ask_", "Compare two periods or two agents."),
        "run": ("graph_run_", "Run a script in a worker and record what it called."),
    }
)


@click.group("graph", cls=Parts, parts=PARTS)
def command() -> None:
    """Say what agents and programs call, inside what and in what order.

    The graph is learnt from captured sessions, traced programs and imported traces. docs/graph-tracing.md says how a
    program of yours is traced.
    """
