"""``custody trust``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from custody.core.plural import count_noun
from custody.terminal.frame import current_screen, json_option, print_command_report
from custody.terminal.screen import Piece, Role, Screen, StyledText, TextLine, table_lines
from custody.trust.cli.record import record, reverts, sign_key_option
from custody.trust.cli.simulate import simulate_command

if TYPE_CHECKING:
    from custody.trust.wire import (
        AgentApproval,
        TrustApproveReport,
        TrustLine,
        TrustListReport,
        TrustShowReport,
        TrustVerifyReport,
        TrustWhyReport,
    )


AGENT_COLUMNS_MAX = 16
DAY_HOURS = 24
TIER_ROLES: Mapping[str, Role | None] = MappingProxyType(
    {"verified": "ok", "high": "ok", "medium": None, "low": "warn", "untrusted": "bad"}
)
"""The color of each tier."""


@click.command("approve")
@click.argument("change", metavar="BASE..HEAD")
@click.option("--agent", help="Author of the lines that attribution cannot attribute.")
@click.option("--approver", help="Who approves (default: you); not an author of the change.")
@click.option("--dry-run", is_flag=True, help="Record nothing.")
@json_option
@click.pass_context
def approve_change_command(
    ctx: click.Context, change: str, *, agent: str | None, approver: str | None, dry_run: bool, as_json: bool
) -> int:
    """Check whether a change may merge without review, and record the approval.

    The record of every agent that wrote lines of the change must allow it; each reason against it has a code. The
    rules of BASE decide, as in 'custody gate'. An approval reserves the lines in the budgets of the agents, their
    operators and the areas; the same patch costs nothing again. It counts for an agent once a person has reviewed the
    change, or after trust.settle_days_min days without a revert. Exit status: 0 approved, 1 not.

    \b
    Examples:
      custody trust approve main..HEAD --approver ci
      custody trust approve main..HEAD --agent claude-code --dry-run
      custody trust approve origin/main --json | jq '.reasons[].code'
    """
    from custody.trust.app.approve import ApprovalRequest, trust_approve
    from custody.trust.cli.record import require_trust_repository

    request = ApprovalRequest(change=change, agent=agent, approver=approver, dry_run=dry_run)
    report = trust_approve(require_trust_repository(ctx), request)
    return print_command_report(report, "\n".join(_render_approval(report, change)), as_json=as_json)


def _render_approval(report: TrustApproveReport, change: str) -> Iterator[str]:
    from custody.trust.cli.record import SHORT_DIGITS

    yield f"{_describe_approval(report)}  {change}"
    for reason in report.reasons:
        yield f"  {reason.code}: {reason.sentence}"
    yield from (render_agent_approval(agent) for agent in report.agents)
    areas = f" in {', '.join(report.areas)}" if report.areas else ""
    lines = count_noun(report.lines, "line")
    yield f"{report.fork[:SHORT_DIGITS]}..{report.head[:SHORT_DIGITS]}: {lines}{areas}"
    if report.approved:
        yield f"recorded as {', '.join(report.recorded)}" if report.recorded else "nothing new to record"
    yield f"hint: custody gate {change} also checks authors, duplicates and citations"


def _describe_approval(report: TrustApproveReport) -> str:
    """Return the answer, and whether it rests on what any account could have written."""
    from custody.core.assurance import SELF_REPORTED_ONLY

    if not report.approved:
        return "needs review"
    is_self_reported = any(agent.assurance == "self-reported" for agent in report.agents)
    return f"approved{SELF_REPORTED_ONLY}" if is_self_reported else "approved"


def render_agent_approval(agent: AgentApproval) -> str:
    """Return one agent of a change as a line."""
    by = f", run by {agent.operator}" if agent.operator else ""
    model = f" ({agent.model})" if agent.model else ""
    trust = f"trust {agent.score:.2f} ({agent.tier}), {count_noun(agent.samples, 'review')}"
    lines = count_noun(agent.budget, "line")
    budget = f"budget: {lines}" if agent.budget_left is None else f"budget: {agent.budget_left:,} of {lines} left"
    left_out = "".join(f"; not counted: {count_noun(left.decisions, 'decision')} {left.why}" for left in agent.left_out)
    return f"{agent.agent}{model}{by}: {trust}{left_out}; {budget}{_render_acceptance(agent)}"


def _render_acceptance(agent: AgentApproval) -> str:
    report = agent.chance
    if report is None:
        return ""
    realized = "none yet" if report.realised is None else f"{report.realised:.2%} of {report.realised_count:,}"
    probability = f"acceptance probability {report.probability:.2f}, at least {report.low:.2f}"
    return f"; {probability}; risk target {report.target:.2%}, realized {realized}"


@click.group("trust", invoke_without_command=True)
@click.option(
    "--storage",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Use the library's store in FOLDER instead of this repository's.",
)
@click.pass_context
def trust_command(ctx: click.Context, storage: Path | None) -> None:
    """Show trust scores and record decisions about agents' changes.

    Without a command it lists the agents, as 'custody trust list' does.

    Every decision moves an agent's score between 0 and 1: the larger the stakes, the larger the step. Without decisions
    the score decays to 0.5. The score gives a tier, and the tier limits how many lines may merge without review. Scores
    are computed from the records only; docs/trust.md has the formulas.

    \b
    Example:
      custody trust approve main..HEAD --dry-run
    """
    from custody.trust.cli.record import STORED

    ctx.meta[STORED] = storage
    if ctx.invoked_subcommand is None:
        ctx.exit(ctx.invoke(list_trust_scores_command, as_json=False))


trust_command.add_command(simulate_command)
trust_command.add_command(record)
trust_command.add_command(reverts)


@trust_command.command("list")
@json_option
@click.pass_context
def list_trust_scores_command(ctx: click.Context, *, as_json: bool) -> int:
    """List every agent with its score and tier.

    \b
    Examples:
      custody trust list
      custody trust list --json | jq '.agents[] | select(.tier == "verified")'
    """
    from custody.trust.app.show import trust_list
    from custody.trust.cli.record import open_trust_workspace

    report = trust_list(open_trust_workspace(ctx))
    return print_command_report(report, render_trust_list(report, current_screen()), as_json=as_json)


@trust_command.command("show")
@click.argument("agent")
@click.option("-n", "--limit", type=click.IntRange(min=0), default=10, help="Number of decisions to list.")
@json_option
@click.pass_context
def show_trust_score_command(ctx: click.Context, agent: str, *, limit: int, as_json: bool) -> int:
    """Show one agent's score and the newest decisions about it.

    \b
    Examples:
      custody trust show claude-code
      custody trust show claude-code -n 50 --json
    """
    from custody.trust.app.show import trust_show
    from custody.trust.cli.record import open_trust_workspace

    report = trust_show(open_trust_workspace(ctx), agent, limit=limit)
    return print_command_report(report, render_trust_agent(report, current_screen()), as_json=as_json)


@trust_command.command("why")
@click.argument("agent")
@click.option("--at", metavar="TIME", help="Explain the score at a past time, such as 2026-01-31T12:00:00Z.")
@json_option
@click.pass_context
def explain_trust_score_command(ctx: click.Context, agent: str, *, at: str | None, as_json: bool) -> int:
    """Explain an agent's score: every record and its effect.

    With --at only records until that time count, and the score decays until then.

    \b
    Examples:
      custody trust why claude-code
      custody trust why claude-code --at 2026-01-31T12:00:00Z
    """
    from custody.trust.app.show import trust_why
    from custody.trust.cli.record import open_trust_workspace

    report = trust_why(open_trust_workspace(ctx), agent, at=at)
    return print_command_report(report, "\n".join(_render_account(report)), as_json=as_json)


@trust_command.command("recover")
@click.argument("agent")
@click.option("--boost", type=float, help="Amount to add (default and maximum: trust.recovery_rate).")
@click.option("--actor", required=True, help="Who raises the score.")
@click.option("--reason", required=True, help="Reason of the recovery.")
@sign_key_option
@json_option
@click.pass_context
def recover_trust_score_command(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    agent: str,
    *,
    boost: float | None,
    actor: str,
    reason: str,
    sign_key: Path | None,
    as_json: bool,
) -> int:
    """Raise the score of an agent that has lost trust.

    A recovery adds at most trust.recovery_rate to the decayed score, up to 1. The next recovery is possible after
    trust.recovery_days_min days. The agent needs at least one decision.

    \b
    Examples:
      custody trust recover codex --actor ana --reason "new model, passed"
    """
    from custody.trust.app.record import record_recovery
    from custody.trust.cli.record import open_trust_workspace, render_record

    workspace = open_trust_workspace(ctx)
    receipt = record_recovery(workspace, agent, boost=boost, actor=actor, reason=reason, sign_key=sign_key)
    report = receipt.report()
    return print_command_report(report, "\n".join(render_record(report)), as_json=as_json)


@trust_command.command("verify")
@json_option
@click.pass_context
def verify_trust_scores_command(ctx: click.Context, *, as_json: bool) -> int:
    """Verify the log of decisions and all scores.

    Runs the checks of 'custody verify', then computes every score again from the records and compares it, bit for bit,
    with the score that is shown. Exit status: 0 OK, 1 problems found.

    \b
    Examples:
      custody trust verify
      custody trust verify --json | jq .findings
    """
    from custody.trust.app.verify import trust_verify
    from custody.trust.cli.record import open_trust_workspace

    report = trust_verify(open_trust_workspace(ctx))
    return print_command_report(report, "\n".join(_render_verification(report)), as_json=as_json)


def render_trust_list(report: TrustListReport, screen: Screen) -> Iterator[TextLine]:
    """Yield a table of the agents with their trust, their reviews and the lines that they may merge without review."""
    if not report.agents:
        yield "no decisions recorded yet"
        yield StyledText("hint: custody trust record AGENT accepted COMMIT records a review", "muted")
        return
    yield from _render_trust_table(report.agents, screen)
    yield ""
    yield StyledText("hint: custody trust why AGENT explains a score", "muted")


def _render_trust_table(agents: Sequence[TrustLine], screen: Screen) -> Iterator[TextLine]:
    counts = ("REVIEWS", "ACCEPTED", "CHANGED", "REJECTED") if screen.is_wide else ("REVIEWS", "REJECTED")
    yield from table_lines(
        [_list_trust_cells(line, screen) for line in agents],
        screen,
        header=("AGENT", "TRUST", *counts, "MAY MERGE WITHOUT REVIEW"),
        right=range(2, 2 + len(counts)),
    )


def _list_trust_cells(line: TrustLine, screen: Screen) -> list[Piece]:
    between = (f"{line.accepted:,}", f"{line.modified:,}") if screen.is_wide else ()
    return [
        StyledText(screen.cut(line.agent, AGENT_COLUMNS_MAX), "agent"),
        StyledText(f"{line.score:.2f} {line.tier}", TIER_ROLES[line.tier]),
        f"{line.samples:,}",
        *between,
        f"{line.rejected:,}",
        _describe_allowance(line),
    ]


def _describe_allowance(line: TrustLine) -> str:
    """Return what an agent may merge without review, or why nothing."""
    if line.tier == "untrusted" or not line.budget:
        return "nothing"
    if line.reviews_needed:
        return f"nothing: needs {count_noun(line.reviews_needed, 'more review')}"
    if line.decayed:
        return "nothing: rejected before"
    window = "a day" if line.budget_hours == DAY_HOURS else f"in {line.budget_hours:g} hours"
    return f"{count_noun(line.budget, 'line')} {window}"


def render_trust_agent(report: TrustShowReport, screen: Screen) -> Iterator[TextLine]:
    """Yield one agent as a table, its last decision, and its newest decisions."""
    from custody.terminal.dates import format_time
    from custody.trust.cli.record import render_score_step

    line = report.standing
    yield from _render_trust_table([line], screen)
    yield ""
    if line.last_active is not None:
        yield f"last decision {format_time(line.last_active)}"
    yield from (render_score_step(step) for step in report.history)
    if report.total > len(report.history):
        yield f"… and {report.total - len(report.history):,} more (-n {report.total} lists all)"
    yield ""
    yield StyledText(f"hint: custody trust why {line.agent} explains the score", "muted")


def _render_account(report: TrustWhyReport) -> Iterator[str]:
    from custody.terminal.dates import format_time
    from custody.trust.cli.record import (
        render_acceptance_probability,
        render_score,
        render_score_step,
    )

    yield f"{report.start:.2f} at the start (profile {report.profile})"
    yield from (render_score_step(step) for step in report.steps)
    line = report.standing
    yield f"{line.score:.2f} after {report.idle_days:.1f} idle days, at {format_time(report.at)}"
    yield f"{line.agent}: {render_score(line)}"
    yield from render_acceptance_probability(report.chance)


def _render_verification(report: TrustVerifyReport) -> Iterator[str]:
    yield from (f"{finding.code}  {finding.what}" for finding in report.findings)
    replayed = f"{count_noun(report.decisions, 'decision')} about {count_noun(report.agents, 'agent')}"
    if report.findings:
        yield f"FAILED: {count_noun(len(report.findings), 'problem')} in {replayed}"
    else:
        yield f"OK: {replayed} verified"


trust_command.add_command(approve_change_command)
