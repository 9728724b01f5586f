"""``custody trust``."""

from collections.abc import Iterator
from pathlib import Path

import click

from custody.terminal.frame import answer, json_option
from custody.trust.app.approve import ApprovalRequest, trust_approve
from custody.trust.app.record import recover
from custody.trust.app.show import trust_list, trust_show, trust_why
from custody.trust.app.verify import trust_verify
from custody.trust.cli.record import (
    SHORT_DIGITS,
    STORED,
    moment_line,
    open_trust_workspace,
    record,
    render_chance,
    render_record,
    repository_workspace,
    reverts,
    standing_line,
    step_line,
)
from custody.trust.cli.simulate import simulate_command
from custody.trust.wire import (
    AgentApproval,
    TrustApproveReport,
    TrustListReport,
    TrustShowReport,
    TrustVerifyReport,
    TrustWhyReport,
)


@click.command("approve")
@click.argument("change", metavar="BASE..HEAD")
@click.option("--agent", help="Whose change it is, where attribution cannot tell; whom it names is asked about too.")
@click.option("--approver", help="In whose name it lands; without it, yours. An author cannot approve.")
@click.option("--dry-run", is_flag=True, help="Only ask; record nothing.")
@json_option
@click.pass_context
def approve(
    ctx: click.Context, change: str, *, agent: str | None, approver: str | None, dry_run: bool, as_json: bool
) -> int:
    """Say whether a change may land without a person looking, and record that it did.

    The record of every agent that wrote lines of the change has to allow it; each reason against it is told by its
    code. The answer holds for this head alone, by the rules in force, on what was recorded until now. A change that
    lands so uses up the budgets of its agents, their operators and its areas. It counts for an agent once a person has
    looked at it, or once it has stood for trust.settle_days_min days. Exit status: 0 approved, 1 not.

    \b
    Examples:
      custody trust approve main..HEAD --approver ci
      custody trust approve main..HEAD --agent claude-code --dry-run
      custody trust approve origin/main --json | jq '.reasons[].code'
    """
    request = ApprovalRequest(change=change, agent=agent, approver=approver, dry_run=dry_run)
    report = trust_approve(repository_workspace(ctx), request)
    return answer(report, "\n".join(_render_approval(report)), as_json=as_json)


def _render_approval(report: TrustApproveReport) -> Iterator[str]:
    yield "approved" if report.approved else "review"
    for reason in report.reasons:
        yield f"  {reason.code}: {reason.sentence}"
    yield from (render_agent_approval(agent) for agent in report.agents)
    areas = f" in {', '.join(report.areas)}" if report.areas else ""
    yield f"{report.fork[:SHORT_DIGITS]}..{report.head[:SHORT_DIGITS]}: {report.lines} line(s){areas}"
    if report.approved:
        yield f"recorded as {', '.join(report.recorded)}" if report.recorded else "nothing new was recorded"


def render_agent_approval(agent: AgentApproval) -> str:
    """One agent of a change in a line."""
    by = f", run by {agent.operator}" if agent.operator else ""
    model = f" ({agent.model})" if agent.model else ""
    left = f"{agent.budget_left} of {agent.budget} line(s) left"
    chance = agent.chance
    said = "" if chance is None else f"; chance {chance.probability:.3f}, at least {chance.low:.3f}{_realised(agent)}"
    return (
        f"{agent.agent}{model}{by}: {agent.score:.4f} {agent.tier.upper()}, {agent.samples} decision(s), {left}{said}"
    )


def _realised(agent: AgentApproval) -> str:
    chance = agent.chance
    if chance is None:
        return ""
    realised = "none yet" if chance.realised is None else f"{chance.realised:.2%} of {chance.realised_count}"
    return f", risk target {chance.target:.2%}, realised {realised}"


@click.group("trust")
@click.option(
    "--storage",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Ask the store that the library keeps in FOLDER instead of this repository's.",
)
@click.pass_context
def trust_command(ctx: click.Context, storage: Path | None) -> None:
    """Say what an agent's record allows, and record decisions about its changes.

    Every decision moves an agent's score between 0 and 1: the larger the stakes, the larger the step. Silence moves it
    back to 0.5. The score gives a tier, and the tier says how many lines may land without review. All of it is a replay
    of records that cannot be changed unnoticed; docs/trust.md has the formulas.
    """
    ctx.meta[STORED] = storage


trust_command.add_command(simulate_command)
trust_command.add_command(record)
trust_command.add_command(reverts)


@trust_command.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, *, as_json: bool) -> int:
    """List every agent with its score and tier.

    \b
    Examples:
      custody trust list
      custody trust list --json | jq '.agents[] | select(.tier == "verified")'
    """
    report = trust_list(open_trust_workspace(ctx))
    return answer(report, "\n".join(_render_list(report)), as_json=as_json)


@trust_command.command("show")
@click.argument("agent")
@click.option("-n", "--limit", type=click.IntRange(min=0), default=10, help="How many decisions to list.")
@json_option
@click.pass_context
def show(ctx: click.Context, agent: str, *, limit: int, as_json: bool) -> int:
    """Show one agent's score and the newest decisions about it.

    \b
    Examples:
      custody trust show claude-code
      custody trust show claude-code -n 50 --json
    """
    report = trust_show(open_trust_workspace(ctx), agent, limit=limit)
    return answer(report, "\n".join(_render_agent(report)), as_json=as_json)


@trust_command.command("why")
@click.argument("agent")
@click.option("--at", metavar="MOMENT", help="As of a past moment, such as 2026-01-31T12:00:00Z.")
@json_option
@click.pass_context
def show_account(ctx: click.Context, agent: str, *, at: str | None, as_json: bool) -> int:
    """Say how an agent came to its score: every record and what it did.

    With --at only what was recorded until that moment counts, and the score fades until then: the answer is the one
    that would have been given.

    \b
    Examples:
      custody trust why claude-code
      custody trust why claude-code --at 2026-01-31T12:00:00Z
    """
    report = trust_why(open_trust_workspace(ctx), agent, at=at)
    return answer(report, "\n".join(_render_account(report)), as_json=as_json)


@trust_command.command("recover")
@click.argument("agent")
@click.option("--boost", type=float, help="How much to add, at most trust.recovery_rate; without it, that much.")
@click.option("--actor", required=True, help="Who lifts the score.")
@click.option("--reason", required=True, help="Why.")
@json_option
@click.pass_context
def recover_(ctx: click.Context, agent: str, *, boost: float | None, actor: str, reason: str, as_json: bool) -> int:
    """Lift the score of an agent that has lost trust.

    The score is what it has faded to, plus at most trust.recovery_rate, and never above 1. The next recovery waits
    trust.recovery_days_min days. An agent without decisions cannot be lifted.

    \b
    Examples:
      custody trust recover claude-code --actor ana --reason "new model, same task passed"
    """
    done = recover(open_trust_workspace(ctx), agent, boost=boost, actor=actor, reason=reason)
    report = done.report()
    return answer(report, "\n".join(render_record(report)), as_json=as_json)


@trust_command.command("verify")
@json_option
@click.pass_context
def verify(ctx: click.Context, *, as_json: bool) -> int:
    """Check that the log of decisions is as it was written, and replay it.

    Checks all that 'custody verify' checks, then makes every score again from the records themselves and compares it,
    bit for bit, with the one that is shown. Exit status: 0 all is as written, 1 something is not.

    \b
    Examples:
      custody trust verify
      custody trust verify --json | jq .findings
    """
    report = trust_verify(open_trust_workspace(ctx))
    return answer(report, "\n".join(_render_verification(report)), as_json=as_json)


def _render_list(report: TrustListReport) -> Iterator[str]:
    if not report.agents:
        yield "nothing has been decided about any agent"
    width = max((len(line.agent) for line in report.agents), default=0)
    for line in report.agents:
        yield f"{line.agent:<{width}}  {standing_line(line)}"


def _render_agent(report: TrustShowReport) -> Iterator[str]:
    line = report.standing
    yield f"{line.agent}: {standing_line(line)}"
    last = "never" if line.last_active is None else moment_line(line.last_active)
    yield f"its tier may land up to {line.lines_max} line(s) without review; last decision {last}"
    yield from (step_line(step) for step in report.history)
    if report.total > len(report.history):
        yield f"… and {report.total - len(report.history)} more: -n {report.total}"


def _render_account(report: TrustWhyReport) -> Iterator[str]:
    yield f"{report.start:.4f} at the start (profile {report.profile})"
    yield from (step_line(step) for step in report.steps)
    line = report.standing
    yield f"{line.score:.4f} after {report.idle_days:.1f} idle day(s), at {moment_line(report.at)}"
    yield f"{line.agent}: {standing_line(line)}"
    yield from render_chance(report.chance)


def _render_verification(report: TrustVerifyReport) -> Iterator[str]:
    yield from (f"{finding.code}  {finding.what}" for finding in report.findings)
    counted = f"{report.decisions:,} decision(s) about {report.agents} agent(s)"
    if report.findings:
        yield f"NOT as written: {len(report.findings)} finding(s); replayed {counted}"
    else:
        yield f"all as written: replayed {counted}"


trust_command.add_command(approve)
