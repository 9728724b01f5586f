"""``custody graph run``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from custody.core.plural import count_noun
from custody.terminal.frame import json_option, open_command_workspace, print_command_report, warn

if TYPE_CHECKING:
    from custody.sdk.script_run import GraphCall, GraphRunReport


MEGABYTE = 1024 * 1024
DEPTH_MAX = 64


@click.command("run")
@click.argument("script", type=click.Path(path_type=Path))
@click.option("--mcp", "config", type=click.Path(path_type=Path), help="Read MCP servers from this file (mcpServers).")
@click.option(
    "--time-limit",
    type=click.FloatRange(0.1),
    default=60.0,
    show_default=True,
    help="Limit the script to this many seconds, after its servers have started.",
)
@click.option(
    "--memory-limit",
    type=click.IntRange(64),
    default=512,
    show_default=True,
    help="Limit the script to this many megabytes.",
)
@json_option
@click.pass_context
def run_traced_script_command(
    ctx: click.Context,
    script: Path,
    *,
    config: Path | None,
    time_limit: float,
    memory_limit: int,
    as_json: bool,
) -> int:
    """Run a script in a worker and record its calls.

    The script is Python with top-level await. tools.SERVER.TOOL(...) calls a tool of an MCP server in the --mcp file,
    and @capability marks a function as a capability. It runs in its own process, with these limits and without this
    program's environment; it can read the files that you can read. A tool call may take half of the time limit. Every
    call is recorded with its parent call. Exit status: 0 finished, 1 failed.

    \b
    Examples:
      custody graph run plan.py
      custody graph run plan.py --mcp .mcp.json --time-limit 10
      custody graph run plan.py --mcp .mcp.json --json
    """
    from custody.sdk.bridge import BridgeLimits
    from custody.sdk.script_run import run_traced_script

    limits = BridgeLimits(time_seconds=time_limit, call_seconds=time_limit / 2, memory_bytes=memory_limit * MEGABYTE)
    report, is_recorded = run_traced_script(open_command_workspace(ctx).folder, script, config, limits, sys.stderr)
    if not is_recorded:
        warn("calls not recorded: not a git repository, or not writable")
    return print_command_report(report, "\n".join(_render_graph_run(report)), as_json=as_json, tabs=True)


def _render_graph_run(report: GraphRunReport) -> Iterator[str]:
    from custody.core.wire.canonical import dump_canonical_json

    yield from filter(None, (report.stdout.rstrip("\n"), report.stderr.rstrip("\n")))
    if report.dropped_bytes:
        yield f"({report.dropped_bytes:,} more bytes of output)"
    if report.success:
        yield f"result: {dump_canonical_json(report.result).decode()}"
    else:
        yield from filter(None, (f"failed: {report.error}", (report.trace or "").rstrip()))
    yield f"execution {report.execution}: {count_noun(len(report.calls), 'call')}"
    yield from _render_run_call_tree(report.calls)


def _render_run_call_tree(calls: list[GraphCall]) -> Iterator[str]:
    """Yield the calls in the order of their start, each below its parent."""
    ids = {call.trace_id for call in calls}
    children: dict[str | None, list[GraphCall]] = {}
    for call in calls:
        children.setdefault(call.parent_trace_id if call.parent_trace_id in ids else None, []).append(call)
    stack = [(call, 1) for call in reversed(children.get(None, []))]
    while stack:
        call, depth = stack.pop()
        failed = "" if call.success else f"  failed: {call.error}"
        yield f"{'  ' * min(depth, DEPTH_MAX)}{call.node}  {(call.ended_ns - call.started_ns) / 1e6:.1f} ms{failed}"
        stack.extend((inner, depth + 1) for inner in reversed(children.get(call.trace_id, [])))
