"""``custody trust approve``."""

from collections.abc import Iterator

import click

from custody.terminal.frame import answer, json_option
from custody.trust.app.approve import ApprovalRequest, trust_approve
from custody.trust.cli.record import repository_workspace
from custody.trust.cli.vocabulary import SHORT_DIGITS
from custody.trust.wire.report import AgentApproval, TrustApproveReport


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
