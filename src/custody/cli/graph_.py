"""``custody graph``."""

from importlib import import_module
from types import MappingProxyType

import click

PARTS: MappingProxyType[str, tuple[str, str]] = MappingProxyType(
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
"""Every part with the module that holds it (as ``VERBS``) and its one-line help, so that the overview imports none."""


class Parts(click.Group):
    """A group that imports a part when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every part."""
        return list(PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one part."""
        if cmd_name not in PARTS:
            return None
        found: click.Command = import_module(f"custody.cli.{PARTS[cmd_name][0]}").VERBS[cmd_name]
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The overview, without importing any part."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in PARTS.items()])


@click.group("graph", cls=Parts)
def command() -> None:
    """Say what agents and programs call, inside what and in what order.

    The graph is learnt from captured sessions, traced programs and imported traces. docs/graph-tracing.md says how a
    program of yours is traced.
    """
