"""``custody graph``."""

from types import MappingProxyType

import click

from custody.terminal.command_group import CommandGroup, CommandTable

PARTS: CommandTable = MappingProxyType(
    {
        "show": ("custody.graph.cli.questions:show", "Show the graph that was learnt, or the calls of one session."),
        "path": ("custody.graph.cli.questions:path", "Find the cheapest way from one node to another."),
        "related": ("custody.graph.cli.questions:find_related", "Find the nodes that are most like one."),
        "next": ("custody.graph.cli.questions:next_", "Say which call is likely to come next."),
        "dag": ("custody.graph.cli.questions:dag", "Order the graph so that every edge goes forwards."),
        "diff": ("custody.graph.cli.questions:diff", "Compare two periods or two agents."),
        "run": ("custody.cli.graph_run:run", "Run a script in a worker and record what it called."),
    }
)


@click.group("graph", cls=CommandGroup, parts=PARTS)
def graph_command() -> None:
    """Say what agents and programs call, inside what and in what order.

    The graph is learnt from captured sessions, traced programs and imported traces. docs/graph-tracing.md says how a
    program of yours is traced.
    """
