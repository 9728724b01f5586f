"""``custody graph run``."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from custody.core.wire.canonical import dump
from custody.sdk.script_run import GraphCall, GraphRunReport
from custody.terminal.frame import answer, json_option, open_workspace, say

MEGABYTE = 1024 * 1024
DEPTH_MAX = 64


@click.command("run")
@click.argument("script", type=click.Path(path_type=Path))
@click.option("--mcp", "config", type=click.Path(path_type=Path), help="A file that names MCP servers (mcpServers).")
@click.option(
    "--time-limit",
    type=click.FloatRange(0.1),
    default=60.0,
    show_default=True,
    help="Seconds for the script, once its servers are there.",
)
@click.option(
    "--memory-limit", type=click.IntRange(64), default=512, show_default=True, help="Megabytes for the script."
)
@json_option
@click.pass_context
def run(
    ctx: click.Context,
    script: Path,
    *,
    config: Path | None,
    time_limit: float,
    memory_limit: int,
    as_json: bool,
) -> int:
    """Run a script in a worker and record what it called.

    The script is Python that may await: tools.SERVER.TOOL(...) calls a tool of an MCP server of the file given with
    --mcp, and a function with @capability before it is a capability. It runs in a process of its own with these limits
    and without this program's environment; it can still read the files that you can read. A tool has half of the time
    to answer. Every call is recorded with the call inside which it was made. Exit status: 0 it came to its end, 1 it
    failed.

    \b
    Examples:
      custody graph run plan.py
      custody graph run plan.py --mcp .mcp.json --time-limit 10
      custody graph run plan.py --mcp .mcp.json --json
    """
    from custody.sdk.bridge import BridgeLimits
    from custody.sdk.script_run import run_script

    limits = BridgeLimits(time_seconds=time_limit, call_seconds=time_limit / 2, memory_bytes=memory_limit * MEGABYTE)
    report, kept = run_script(open_workspace(ctx).folder, script, config, limits, sys.stderr)
    if not kept:
        say("what it called was not recorded: there is no repository here, or it cannot be written")
    return answer(report, "\n".join(_render_run(report)), as_json=as_json, tabs=True)


def _render_run(report: GraphRunReport) -> Iterator[str]:
    yield from filter(None, (report.stdout.rstrip("\n"), report.stderr.rstrip("\n")))
    if report.dropped_bytes:
        yield f"({report.dropped_bytes:,} more bytes of output)"
    if report.success:
        yield f"result: {dump(report.result).decode()}"
    else:
        yield from filter(None, (f"failed: {report.error}", (report.trace or "").rstrip()))
    yield f"execution {report.execution}: {len(report.calls)} call(s)"
    yield from _tree(report.calls)


def _tree(calls: list[GraphCall]) -> Iterator[str]:
    """The calls in the order in which they began, each below the one inside which it was made."""
    known = {call.trace_id for call in calls}
    below: dict[str | None, list[GraphCall]] = {}
    for call in calls:
        below.setdefault(call.parent_trace_id if call.parent_trace_id in known else None, []).append(call)
    waiting = [(call, 1) for call in reversed(below.get(None, []))]
    while waiting:
        call, depth = waiting.pop()
        failed = "" if call.success else f"  failed: {call.error}"
        yield f"{'  ' * min(depth, DEPTH_MAX)}{call.node}  {(call.ended_ns - call.started_ns) / 1e6:.1f} ms{failed}"
        waiting.extend((inner, depth + 1) for inner in reversed(below.get(call.trace_id, [])))
