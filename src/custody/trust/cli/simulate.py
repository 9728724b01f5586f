"""``custody trust simulate``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.terminal.frame import json_option, print_command_report

if TYPE_CHECKING:
    from custody.trust.wire import MergeShare, SimulatedExample, SimulatedPolicy, TrustSimulateReport


AGENTS_MAX = 10
EXAMPLES_MAX = 10
DATE_CHARACTERS = len("2026-01-31")


@click.command("simulate")
@click.option(
    "--policy",
    metavar="FILE",
    type=click.Path(path_type=str),
    help="Also simulate the [trust] table of this file.",
)
@click.option(
    "--since", metavar="WHEN", default="30d", show_default=True, help="Start: 30d, 12h, 2w, 2026-01-31 or a timestamp."
)
@click.option(
    "--source",
    type=click.Choice(("auto", "records", "git")),
    default="auto",
    help="Use records, git history, or both (auto: git history before the first record).",
)
@json_option
@click.pass_context
def simulate_command(
    ctx: click.Context, *, policy: str | None, since: str, source: Literal["auto", "records", "git"], as_json: bool
) -> int:
    """Show what a policy would have merged without review, and the outcomes.

    Every change since then is judged as of its proposal: by score, tier, size, budgets, paths and audits. A change that
    was rejected or reverted later counts as bad. Where nothing was recorded yet, commits are the changes; their author
    is the agent that they name, else the person. A commit that is reverted later is bad, one that is quickly fixed
    counts as modified. Nothing is recorded.

    \b
    Examples:
      custody trust simulate --since 90d
      custody trust simulate --policy stricter.toml --since 30d --json
    """
    from custody.trust.app.simulate import trust_simulate
    from custody.trust.cli.record import STORED, open_trust_workspace

    if ctx.meta[STORED] is not None and source == "git":
        raise InputError("a storage folder has no git history", hint="leave out --storage, or pass --source records")
    path = None if policy is None else str(Path(ctx.obj[0]) / policy)
    report = trust_simulate(open_trust_workspace(ctx), policy=path, since=since, source=source)
    return print_command_report(report, "\n".join(_render_simulation(report)), as_json=as_json)


def _render_simulation(report: TrustSimulateReport) -> Iterator[str]:
    yield (
        f"{count_noun(report.recorded + report.commits, 'change')} since {report.since}:"
        f" {report.recorded:,} recorded, {report.commits:,} from git history"
    )
    if report.commits:
        yield (
            f"git history, including earlier commits: {report.reverted_commits:,} reverted,"
            f" {report.mended_commits:,} quickly fixed"
        )
    for policy in report.policies:
        yield from _render_policy(policy)
    yield from (_render_policy_example(example) for example in report.examples[:EXAMPLES_MAX])
    if report.example_count > EXAMPLES_MAX:
        yield f"… and {report.example_count - EXAMPLES_MAX:,} more (--json lists {len(report.examples)})"


def _render_policy(policy: SimulatedPolicy) -> Iterator[str]:
    result = {None: "nothing merges", True: "within the target", False: "ABOVE the target"}[policy.within]
    yield f"{policy.name}: {_render_merge_share(policy.landing)}; risk target {policy.target:.1%}: {result}"
    yield f"  with risk control: {_render_merge_share(policy.controlled)}"
    if policy.reasons:
        yield "  reasons for review: " + ", ".join(f"{code} {count:,}" for code, count in policy.reasons.items())
    for agent in policy.agents[:AGENTS_MAX]:
        yield f"  {agent.agent}: {_render_merge_share(agent.landing)}"
    if len(policy.agents) > AGENTS_MAX:
        yield f"  … and {len(policy.agents) - AGENTS_MAX:,} more agents"


def _render_merge_share(share: MergeShare) -> str:
    bad = "" if share.bad_share is None else f" ({share.bad_share:.2%} bad)"
    return (
        f"{share.approved:,} of {count_noun(share.changes, 'change')} merge without review"
        f" ({count_noun(share.lines, 'line')}); {share.rejected:,} rejected, {share.reverted:,} reverted{bad}"
    )


def _render_policy_example(example: SimulatedExample) -> str:
    from custody.trust.cli.record import SHORT_DIGITS

    verdicts = "; ".join(f"{name}: {', '.join(codes) or 'merges'}" for name, codes in example.reasons.items())
    return (
        f"{example.why}: {example.id[:SHORT_DIGITS]} by {example.agent}, {example.opened[:DATE_CHARACTERS]},"
        f" {count_noun(example.lines, 'line')}, {example.outcome}, trust {example.score:.2f},"
        f" acceptance probability {example.chance:.2f} (at least {example.low:.2f}); {verdicts}"
    )
