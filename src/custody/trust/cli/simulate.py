"""``custody trust simulate``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click

from custody.core.errors import InputError
from custody.terminal.frame import answer, json_option
from custody.trust.app.simulate import trust_simulate
from custody.trust.cli.record import SHORT_DIGITS, STORED, open_trust_workspace
from custody.trust.wire import MergeShare, SimulatedExample, SimulatedPolicy, TrustSimulateReport

AGENTS_MAX = 10
EXAMPLES_MAX = 10
DAY_SIGNS = len("2026-01-31")


@click.command("simulate")
@click.option(
    "--policy",
    metavar="FILE",
    type=click.Path(path_type=str),
    help="A file like custody.toml whose [trust] table is tried; without it, the rules in force alone.",
)
@click.option(
    "--since", metavar="WHEN", default="30d", show_default=True, help="30d, 12h, 2w, 2026-01-31, or a full moment."
)
@click.option(
    "--source",
    type=click.Choice(("auto", "records", "git")),
    default="auto",
    help="What to look at; by itself records, and git history before the first of them.",
)
@json_option
@click.pass_context
def simulate_command(
    ctx: click.Context, *, policy: str | None, since: str, source: Literal["auto", "records", "git"], as_json: bool
) -> int:
    """Say what a policy would have let land without review, and what became of it.

    Every change since then is judged as of the moment at which it was proposed: by score, tier, size, budgets, paths
    and audits. What was rejected or taken back later counts as bad. Where nothing was recorded yet, commits are the
    changes: an agent's when one signed them, else their author's; one that a later commit reverts is bad, one that is
    quickly fixed counts as modified. Nothing is written.

    \b
    Examples:
      custody trust simulate --since 90d
      custody trust simulate --policy stricter.toml --since 30d --json | jq '.policies[].landing'
    """
    if ctx.meta[STORED] is not None and source == "git":
        raise InputError("a folder has no git history", hint="leave --storage out, or say --source records")
    path = None if policy is None else str(Path(ctx.obj[0]) / policy)
    report = trust_simulate(open_trust_workspace(ctx), policy=path, since=since, source=source)
    return answer(report, "\n".join(_render_simulation(report)), as_json=as_json)


def _render_simulation(report: TrustSimulateReport) -> Iterator[str]:
    yield (
        f"{report.recorded + report.commits:,} change(s) since {report.since}:"
        f" {report.recorded:,} recorded, {report.commits:,} commit(s) of plain git history"
    )
    if report.commits:
        yield (
            f"in git history {report.reverted_commits:,} commit(s) were taken back and {report.mended_commits:,}"
            " quickly mended, the time before included"
        )
    for policy in report.policies:
        yield from _render_policy(policy)
    yield from (_render_example(example) for example in report.examples[:EXAMPLES_MAX])
    if report.example_count > EXAMPLES_MAX:
        yield f"… and {report.example_count - EXAMPLES_MAX:,} more: --json has {len(report.examples)}"


def _render_policy(policy: SimulatedPolicy) -> Iterator[str]:
    word = {None: "nothing lands", True: "within the target", False: "ABOVE the target"}[policy.within]
    yield f"{policy.name}: {_render_merge_share(policy.landing)}; target {policy.target:.1%}: {word}"
    yield f"  with risk control: {_render_merge_share(policy.controlled)}"
    if policy.reasons:
        yield "  against the others: " + ", ".join(f"{code} {count:,}" for code, count in policy.reasons.items())
    for agent in policy.agents[:AGENTS_MAX]:
        yield f"  {agent.agent}: {_render_merge_share(agent.landing)}"
    if len(policy.agents) > AGENTS_MAX:
        yield f"  … and {len(policy.agents) - AGENTS_MAX:,} more agents"


def _render_merge_share(landing: MergeShare) -> str:
    bad = "–" if landing.bad_share is None else f"{landing.bad_share:.2%}"
    return (
        f"{landing.approved:,} of {landing.changes:,} land without review, {landing.lines:,} line(s);"
        f" {landing.rejected:,} rejected, {landing.reverted:,} taken back = {bad}"
    )


def _render_example(example: SimulatedExample) -> str:
    said = "; ".join(f"{name}: {', '.join(codes) or 'lands'}" for name, codes in example.reasons.items())
    return (
        f"{example.why}: {example.id[:SHORT_DIGITS]} of {example.agent}, {example.opened[:DAY_SIGNS]},"
        f" {example.lines:,} line(s), {example.outcome}, score {example.score:.3f},"
        f" chance {example.chance:.3f} (at least {example.low:.3f}); {said}"
    )
