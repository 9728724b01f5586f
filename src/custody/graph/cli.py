"""The verbs of the call graph.

May touch the terminal. Runs use cases and renders their reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from custody.core.errors import InputError
from custody.core.plural import count_noun, noun_for_count
from custody.terminal.dates import format_time
from custody.terminal.frame import CommandGroup, CommandTable, json_option, open_command_workspace, print_command_report

if TYPE_CHECKING:
    from custody.graph.wire.report import (
        GraphDagReport,
        GraphDiffReport,
        GraphEdge,
        GraphNextReport,
        GraphPathReport,
        GraphRelatedReport,
        GraphShowReport,
    )


PARTS: CommandTable = MappingProxyType(
    {
        "show": ("custody.graph.cli:show_graph_command", "Show the learned graph, or the calls of one session."),
        "path": ("custody.graph.cli:find_graph_path_command", "Find the cheapest path between two nodes."),
        "related": ("custody.graph.cli:find_related_nodes_command", "Find the nodes most similar to a node."),
        "next": ("custody.graph.cli:suggest_next_calls_command", "Show which calls are likely to come next."),
        "dag": ("custody.graph.cli:order_graph_command", "Order the graph so that every edge points forward."),
        "diff": ("custody.graph.cli:compare_graphs_command", "Compare two periods or two agents."),
        "run": ("custody.cli.graph_run:run_traced_script_command", "Run a script in a worker and record its calls."),
    }
)


@click.group("graph", cls=CommandGroup, parts=PARTS)
def graph_command() -> None:
    """Explore the graph of tool calls.

    The graph is learned from captured sessions, traced programs and imported traces. docs/graph-tracing.md describes
    how to trace a program.

    \b
    Example:
      custody graph show
    """


SHOWN_MAX = 40
"""Lines of a list on a terminal; ``--json`` has all of them."""
ARROWS = {"contains": "⊃", "sequence": "→", "dependency": "⇒"}

palette_option = click.option(
    "--palette",
    type=click.Choice(["document", "cvd"]),
    default="document",
    show_default=True,
    help="Edge colors; cvd is for color blindness.",
)
theme_option = click.option("--theme", type=click.Choice(["dark", "light"]), default="dark", help="Background color.")


@click.command("show")
@click.argument("session", required=False)
@click.option("--lanes", is_flag=True, help="Show a session as bars in time instead of a tree.")
@palette_option
@theme_option
@json_option
@click.pass_context
def show_graph_command(
    ctx: click.Context, session: str | None, *, lanes: bool, palette: str, theme: str, as_json: bool
) -> int:
    """Show the graph learned from all sessions and executions, or the calls of one SESSION.

    With --json, 'elements' has the picture for Cytoscape: positions, colors by type, lines by source, a legend, and a
    table of the same data.

    \b
    Examples:
      custody graph show
      custody graph show 0a1b2c3d
      custody graph show 0a1b2c3d --lanes --json
    """
    from custody.graph.app.questions import ViewOptions, show_call_graph

    if lanes and session is None:
        raise InputError("--lanes needs a session", hint="list sessions with 'custody log'")
    options = ViewOptions(session=session, lanes=lanes, palette=palette, theme=theme)  # type: ignore[arg-type]  # click checked
    report = show_call_graph(open_command_workspace(ctx), options)
    return print_command_report(report, "\n".join(_render_graph(report)), as_json=as_json, tabs=True)


@click.command("path")
@click.argument("start")
@click.argument("end")
@click.option(
    "--cost",
    "measure",
    type=click.Choice(["document", "reliability", "surprisal"]),
    default="document",
    show_default=True,
    help="Cost of a step: 1/weight, -ln(weight), or how unexpected it is.",
)
@json_option
@click.pass_context
def find_graph_path_command(ctx: click.Context, start: str, end: str, *, measure: str, as_json: bool) -> int:
    """Find the cheapest path between two nodes.

    Name a node as in 'custody graph show', or by the end of its name if that is unique. Exit status: 0 a path exists, 1
    no path exists.

    \b
    Examples:
      custody graph path capability:deploy filesystem:read_file
      custody graph path Read Bash --cost reliability
    """
    from custody.graph.app.questions import find_graph_path

    report = find_graph_path(open_command_workspace(ctx), start, end, measure)  # type: ignore[arg-type]  # click checked
    return print_command_report(report, "\n".join(_render_path(report)), as_json=as_json)


@click.command("related")
@click.argument("node")
@click.option(
    "--formula",
    type=click.Choice(["page", "document"]),
    default="page",
    show_default=True,
    help="How shared neighbors are weighted.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of nodes.")
@json_option
@click.pass_context
def find_related_nodes_command(ctx: click.Context, node: str, *, formula: str, limit: int | None, as_json: bool) -> int:
    """Find the nodes most similar to a node, by the neighbors they share.

    \b
    Examples:
      custody graph related filesystem:read_file
      custody graph related Read --formula document --json
    """
    from custody.graph.app.questions import find_related_graph_nodes

    report = find_related_graph_nodes(open_command_workspace(ctx), node, formula, limit)  # type: ignore[arg-type]  # click checked
    return print_command_report(report, "\n".join(_render_related(report)), as_json=as_json)


@click.command("next")
@click.argument("session", required=False)
@click.option(
    "--after", multiple=True, metavar="CALL", help="Use these calls in order, by their detailed names, not a session."
)
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of calls.")
@json_option
@click.pass_context
def suggest_next_calls_command(
    ctx: click.Context, session: str | None, *, after: Sequence[str], limit: int | None, as_json: bool
) -> int:
    """Show which calls are likely to come next in SESSION or after given calls, and the evidence.

    A detailed name is the tool's name with a shell command's program, a file's extension or a subagent's type.

    \b
    Examples:
      custody graph next 0a1b2c3d
      custody graph next --after "Read .py" --after "Edit .py"
    """
    from custody.graph.app.questions import suggest_next_tool_calls

    if (session is None) == (not after):
        raise InputError("pass either a session or --after", hint="list sessions with 'custody log'")
    report = suggest_next_tool_calls(open_command_workspace(ctx), session, after, limit)
    return print_command_report(report, "\n".join(_render_next(report)), as_json=as_json)


@click.command("dag")
@click.argument("nodes", nargs=-1)
@json_option
@click.pass_context
def order_graph_command(ctx: click.Context, nodes: Sequence[str], *, as_json: bool) -> int:
    """Order the graph, or the part with NODES, so that every edge points forward; list the removed edges.

    \b
    Examples:
      custody graph dag
      custody graph dag Read Edit Bash --json
    """
    from custody.graph.app.questions import build_graph_dag

    report = build_graph_dag(open_command_workspace(ctx), nodes)
    return print_command_report(report, "\n".join(_render_dag(report)), as_json=as_json)


@click.command("diff")
@click.argument("before")
@click.argument("after")
@palette_option
@theme_option
@json_option
@click.pass_context
def compare_graphs_command(
    ctx: click.Context, before: str, after: str, *, palette: str, theme: str, as_json: bool
) -> int:
    """Compare the graphs of two periods (FROM..TO, either end is optional) or of two agents.

    \b
    Examples:
      custody graph diff ..2026-10-01T00:00:00Z 2026-10-01T00:00:00Z..
      custody graph diff claude-code codex
    """
    from custody.graph.app.questions import ViewOptions, compare_call_graphs

    options = ViewOptions(palette=palette, theme=theme)  # type: ignore[arg-type]  # click checked
    report = compare_call_graphs(open_command_workspace(ctx), before, after, options)
    return print_command_report(report, "\n".join(_render_diff(report)), as_json=as_json)


def _render_graph(report: GraphShowReport) -> Iterator[str]:
    if report.view == "graph":
        counts = f"{count_noun(len(report.nodes), 'node')}, {count_noun(len(report.edges), 'edge')}"
        yield f"{counts}, from {count_noun(report.units, 'session or execution', 'sessions and executions')}"
        edges = sorted(report.edges, key=lambda edge: (-edge.count, edge.start, edge.end, edge.type))
        yield from _truncate_graph_listing([_render_graph_edge(edge) for edge in edges])
    else:
        yield from _truncate_graph_listing([_render_call_tree_row(row) for row in report.elements["table"]])
    yield from (
        f"outcome: {outcome.told} at {format_time(outcome.at)} (record {outcome.record})" for outcome in report.outcomes
    )
    if report.aside:
        yield f"set aside: {count_noun(len(report.aside), 'edge')} that would close a cycle"
    if report.repairs:
        yield "repaired: " + ", ".join(f"{count:,} {code}" for code, count in sorted(report.repairs.items()))


def _render_call_tree_row(row: dict[str, object]) -> str:
    level, failures, hidden = row.get("level", 1), row.get("failures"), row.get("hidden")
    indent = "  " * (min(level, SHOWN_MAX) - 1) if isinstance(level, int) else ""
    failed = f"  {failures} failed" if failures else ""
    return f"{indent}{row['label']}{failed}{f'  ({hidden} inside)' if hidden else ''}"


def _render_graph_edge(edge: GraphEdge) -> str:
    failed = f", {edge.failures} failed" if edge.failures else ""
    return f"{edge.start} {ARROWS[edge.type]} {edge.end}  {edge.type}, {edge.source}, {edge.count}×{failed}"


def _render_path(report: GraphPathReport) -> Iterator[str]:
    if report.cost is None:
        yield f"no path from {report.start} to {report.end}"
        return
    yield f"{' '.join(_render_path_steps(report))}  cost {report.cost:.2f}"
    yield from (f"  {_render_graph_edge(edge)}" for edge in report.edges)


def _render_path_steps(report: GraphPathReport) -> Iterator[str]:
    yield report.nodes[0]
    for node, edge in zip(report.nodes[1:], report.edges, strict=True):
        yield f"{ARROWS[edge.type]} {node}"


def _render_related(report: GraphRelatedReport) -> Iterator[str]:
    if not report.alike:
        yield f"no node shares a neighbor with {report.node}"
    for alike in report.alike:
        yield f"{alike.score:.2f}  {alike.node}  by {', '.join(each.node for each in alike.witnesses)}"


def _render_next(report: GraphNextReport) -> Iterator[str]:
    yield f"after {', '.join(report.after) or 'nothing'}; learned from {count_noun(report.calls, 'call')}"
    for suggestion in report.suggestions:
        why = "; ".join(_render_graph_edge(edge) for edge in suggestion.edges[:1])
        yield f"{suggestion.chance:6.1%}  {suggestion.name}{f'  ({why})' if why else ''}"


def _render_dag(report: GraphDagReport) -> Iterator[str]:
    yield from _truncate_graph_listing(report.order)
    if report.removed:
        yield "removed, because they close a cycle:"
        yield from _truncate_graph_listing([f"  {_render_graph_edge(edge)}" for edge in report.removed])


def _render_diff(report: GraphDiffReport) -> Iterator[str]:
    changes = [change for change in report.changes if change.change != "same"]
    total = count_noun(len(report.changes), "edge")
    verb = noun_for_count(len(changes), "differs", "differ")
    yield f"{len(changes):,} of {total} {verb} between {report.before} and {report.after}"
    changes.sort(
        key=lambda change: (-abs(change.share_after - change.share_before), change.start, change.end, change.type)
    )
    yield from _truncate_graph_listing(
        [
            f"{change.change:4}  {change.start} {ARROWS[change.type]} {change.end}"
            f"  {change.share_before:.1%} to {change.share_after:.1%} of {change.type}"
            for change in changes
        ]
    )


def _truncate_graph_listing(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:SHOWN_MAX]
    if len(lines) > SHOWN_MAX:
        yield f"… {len(lines) - SHOWN_MAX:,} more (--json lists all)"
