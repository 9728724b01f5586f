"""The verbs of the call graph.

May touch the terminal. Asks use cases and renders their reports.
"""

from collections.abc import Iterator, Sequence
from types import MappingProxyType

import click

from custody.core.errors import InputError
from custody.graph.app.questions import (
    ViewOptions,
    graph_dag,
    graph_diff,
    graph_next,
    graph_path,
    graph_related,
    graph_show,
)
from custody.graph.wire.report import (
    GraphDagReport,
    GraphDiffReport,
    GraphEdge,
    GraphNextReport,
    GraphPathReport,
    GraphRelatedReport,
    GraphShowReport,
)
from custody.terminal.frame import CommandGroup, CommandTable, answer, json_option, open_workspace

PARTS: CommandTable = MappingProxyType(
    {
        "show": ("custody.graph.cli:show", "Show the graph that was learnt, or the calls of one session."),
        "path": ("custody.graph.cli:path", "Find the cheapest way from one node to another."),
        "related": ("custody.graph.cli:find_related", "Find the nodes that are most like one."),
        "next": ("custody.graph.cli:next_", "Say which call is likely to come next."),
        "dag": ("custody.graph.cli:dag", "Order the graph so that every edge goes forwards."),
        "diff": ("custody.graph.cli:diff", "Compare two periods or two agents."),
        "run": ("custody.cli.graph_run:run", "Run a script in a worker and record what it called."),
    }
)


@click.group("graph", cls=CommandGroup, parts=PARTS)
def graph_command() -> None:
    """Say what agents and programs call, inside what and in what order.

    The graph is learnt from captured sessions, traced programs and imported traces. docs/graph-tracing.md says how a
    program of yours is traced.
    """


SHOWN_MAX = 40
"""Lines of a list on a terminal; ``--json`` has all."""
ARROWS = {"contains": "⊃", "sequence": "→", "dependency": "⇒"}

palette_option = click.option(
    "--palette", type=click.Choice(["document", "cvd"]), default="document", show_default=True, help="Colours of edges."
)
theme_option = click.option("--theme", type=click.Choice(["dark", "light"]), default="dark", help="Background.")


@click.command("show")
@click.argument("session", required=False)
@click.option("--lanes", is_flag=True, help="A session as bars in time instead of a tree.")
@palette_option
@theme_option
@json_option
@click.pass_context
def show(ctx: click.Context, session: str | None, *, lanes: bool, palette: str, theme: str, as_json: bool) -> int:
    """Show the graph that was learnt from all sessions and executions, or the calls of one SESSION.

    With --json, 'elements' has the picture for Cytoscape: positions, colours by type, lines by source, a legend, and
    the same as a table.

    \b
    Examples:
      custody graph show
      custody graph show 0a1b2c3d
      custody graph show 0a1b2c3d --lanes --json
    """
    if lanes and session is None:
        raise InputError("--lanes is for one session", hint="name it: 'custody log' lists them")
    look = ViewOptions(session=session, lanes=lanes, palette=palette, theme=theme)  # type: ignore[arg-type]  # click checked
    report = graph_show(open_workspace(ctx), look)
    return answer(report, "\n".join(_render_graph(report)), as_json=as_json, tabs=True)


@click.command("path")
@click.argument("start")
@click.argument("end")
@click.option(
    "--cost",
    "measure",
    type=click.Choice(["document", "reliability", "surprisal"]),
    default="document",
    show_default=True,
    help="1/weight, the weights multiplied, or how unexpected each step is.",
)
@json_option
@click.pass_context
def path(ctx: click.Context, start: str, end: str, *, measure: str, as_json: bool) -> int:
    """Find the cheapest way from one node to another.

    A node is called as in 'custody graph show', or by the end of its name where only one has that. Exit status: 0 there
    is a way, 1 there is none.

    \b
    Examples:
      custody graph path capability:deploy filesystem:read_file
      custody graph path Read Bash --cost reliability
    """
    report = graph_path(open_workspace(ctx), start, end, measure)  # type: ignore[arg-type]  # click checked
    return answer(report, "\n".join(_render_path(report)), as_json=as_json)


@click.command("related")
@click.argument("node")
@click.option(
    "--formula", type=click.Choice(["page", "document"]), default="page", show_default=True, help="How it is weighed."
)
@click.option("--limit", type=click.IntRange(min=1), help="How many.")
@json_option
@click.pass_context
def find_related(ctx: click.Context, node: str, *, formula: str, limit: int | None, as_json: bool) -> int:
    """Find the nodes that are most like one, by the neighbours that they share.

    \b
    Examples:
      custody graph related filesystem:read_file
      custody graph related Read --formula document --json
    """
    report = graph_related(open_workspace(ctx), node, formula, limit)  # type: ignore[arg-type]  # click checked
    return answer(report, "\n".join(_render_related(report)), as_json=as_json)


@click.command("next")
@click.argument("session", required=False)
@click.option(
    "--after", multiple=True, metavar="CALL", help="Instead of a session: calls by their fine names, in order."
)
@click.option("--limit", type=click.IntRange(min=1), help="How many.")
@json_option
@click.pass_context
def next_(ctx: click.Context, session: str | None, *, after: Sequence[str], limit: int | None, as_json: bool) -> int:
    """Say which call is likely to come next in SESSION, or after some calls, and what says so.

    A fine name is that of the tool with a shell command's program, a file's extension or a subagent's type.

    \b
    Examples:
      custody graph next 0a1b2c3d
      custody graph next --after "Read .py" --after "Edit .py"
    """
    if (session is None) == (not after):
        raise InputError("name a session or --after, and not both", hint="'custody log' lists sessions")
    report = graph_next(open_workspace(ctx), session, after, limit)
    return answer(report, "\n".join(_render_next(report)), as_json=as_json)


@click.command("dag")
@click.argument("nodes", nargs=-1)
@json_option
@click.pass_context
def dag(ctx: click.Context, nodes: Sequence[str], *, as_json: bool) -> int:
    """Order the graph, or the part of some NODES, so that every edge goes forwards; says what had to be removed.

    \b
    Examples:
      custody graph dag
      custody graph dag Read Edit Bash --json
    """
    report = graph_dag(open_workspace(ctx), nodes)
    return answer(report, "\n".join(_render_dag(report)), as_json=as_json)


@click.command("diff")
@click.argument("before")
@click.argument("after")
@palette_option
@theme_option
@json_option
@click.pass_context
def diff(ctx: click.Context, before: str, after: str, *, palette: str, theme: str, as_json: bool) -> int:
    """Compare the graphs of two periods (FROM..TO, either end may be left out) or of two agents.

    \b
    Examples:
      custody graph diff ..2026-10-01T00:00:00Z 2026-10-01T00:00:00Z..
      custody graph diff claude-code codex
    """
    look = ViewOptions(palette=palette, theme=theme)  # type: ignore[arg-type]  # click checked
    report = graph_diff(open_workspace(ctx), before, after, look)
    return answer(report, "\n".join(_render_diff(report)), as_json=as_json)


def _render_graph(report: GraphShowReport) -> Iterator[str]:
    if report.view == "graph":
        counted = f"{len(report.nodes)} node(s), {len(report.edges)} edge(s)"
        yield f"{counted}, from {report.units} session(s) and execution(s)"
        edges = sorted(report.edges, key=lambda edge: (-edge.count, edge.start, edge.end, edge.type))
        yield from _listed([_render_edge(edge) for edge in edges])
    else:
        yield from _listed([_render_row(row) for row in report.elements["table"]])
    yield from (
        f"its change was {outcome.told} at {outcome.at}: record {outcome.record}" for outcome in report.outcomes
    )
    if report.aside:
        yield f"set aside, since they would close a circle: {len(report.aside)}"
    if report.repairs:
        yield "mended: " + ", ".join(f"{count} {code}" for code, count in sorted(report.repairs.items()))


def _render_row(row: dict[str, object]) -> str:
    level, failures, hidden = row.get("level", 1), row.get("failures"), row.get("hidden")
    indent = "  " * (min(level, SHOWN_MAX) - 1) if isinstance(level, int) else ""
    failed = f"  {failures} failed" if failures else ""
    return f"{indent}{row['label']}{failed}{f'  ({hidden} inside)' if hidden else ''}"


def _render_edge(edge: GraphEdge) -> str:
    failed = f", {edge.failures} failed" if edge.failures else ""
    return f"{edge.start} {ARROWS[edge.type]} {edge.end}  {edge.type}, {edge.source}, {edge.count}×{failed}"


def _render_path(report: GraphPathReport) -> Iterator[str]:
    if report.cost is None:
        yield f"no way leads from {report.start} to {report.end}"
        return
    yield f"{' '.join(_steps(report))}  cost {report.cost:.3f}"
    yield from (f"  {_render_edge(edge)}" for edge in report.edges)


def _steps(report: GraphPathReport) -> Iterator[str]:
    yield report.nodes[0]
    for node, edge in zip(report.nodes[1:], report.edges, strict=True):
        yield f"{ARROWS[edge.type]} {node}"


def _render_related(report: GraphRelatedReport) -> Iterator[str]:
    if not report.alike:
        yield f"nothing shares a neighbour with {report.node}"
    for alike in report.alike:
        yield f"{alike.score:.3f}  {alike.node}  by {', '.join(each.node for each in alike.witnesses)}"


def _render_next(report: GraphNextReport) -> Iterator[str]:
    yield f"after {', '.join(report.after) or 'nothing'}; learnt from {report.calls:,} call(s)"
    for suggestion in report.suggestions:
        why = "; ".join(_render_edge(edge) for edge in suggestion.edges[:1])
        yield f"{suggestion.chance:6.1%}  {suggestion.name}{f'  ({why})' if why else ''}"


def _render_dag(report: GraphDagReport) -> Iterator[str]:
    yield from _listed(report.order)
    if report.removed:
        yield "removed, since they close a circle:"
        yield from _listed([f"  {_render_edge(edge)}" for edge in report.removed])


def _render_diff(report: GraphDiffReport) -> Iterator[str]:
    changes = [change for change in report.changes if change.change != "same"]
    yield f"{len(changes)} of {len(report.changes)} edge(s) differ between {report.before} and {report.after}"
    changes.sort(
        key=lambda change: (-abs(change.share_after - change.share_before), change.start, change.end, change.type)
    )
    yield from _listed(
        [
            f"{change.change:4}  {change.start} {ARROWS[change.type]} {change.end}"
            f"  {change.share_before:.1%} to {change.share_after:.1%} of {change.type}"
            for change in changes
        ]
    )


def _listed(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:SHOWN_MAX]
    if len(lines) > SHOWN_MAX:
        yield f"… {len(lines) - SHOWN_MAX} more (--json has all)"
