"""``custody trust``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click

from custody.app.desk import Desk
from custody.app.trust_folder import folder_desk
from custody.app.trust_record import Wanted, override, record_commit, recover, revert
from custody.app.trust_show import trust_list, trust_show, trust_why
from custody.app.trust_verify import trust_verify
from custody.app.trust_words import complexity_named, decision_named
from custody.cli.chance import chance_words
from custody.cli.frame import answer, json_option, the_desk
from custody.cli.trust_approve_ import approve
from custody.cli.trust_bench_ import command as bench
from custody.cli.trust_simulate_ import command as simulate
from custody.model.errors import InputError
from custody.wire.trust import (
    StepTaken,
    TrustLine,
    TrustListReport,
    TrustRecordReport,
    TrustShowReport,
    TrustVerifyReport,
    TrustWhyReport,
)

DECISIONS = ("accepted", "modified", "rejected")
COMPLEXITIES = ("trivial", "minor", "moderate", "major", "critical")
SHORT_DIGITS = 12
SECONDS_MS = 1000
SECOND_SIGNS = len("2026-01-31T12:00:00")

DecisionWord = Literal["accepted", "modified", "rejected"]


@click.group("trust")
@click.option(
    "--storage",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Ask the store that the library keeps in FOLDER instead of this repository's.",
)
@click.pass_context
def command(ctx: click.Context, storage: Path | None) -> None:
    """Say what an agent's record allows, and record decisions about its changes.

    Every decision moves an agent's score between 0 and 1: the larger the stakes, the larger the step. Silence moves it
    back to 0.5. The score gives a tier, and the tier says how many lines may land without review. All of it is a replay
    of records that cannot be changed unnoticed; docs/trust.md has the formulas.
    """
    ctx.meta[__name__] = storage


command.add_command(bench)
command.add_command(simulate)


@command.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, *, as_json: bool) -> int:
    """List every agent with its score and tier.

    \b
    Examples:
      custody trust list
      custody trust list --json | jq '.agents[] | select(.tier == "verified")'
    """
    report = trust_list(_desk(ctx))
    return answer(report, "\n".join(_list_words(report)), as_json=as_json)


@command.command("show")
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
    report = trust_show(_desk(ctx), agent, limit=limit)
    return answer(report, "\n".join(_show_words(report)), as_json=as_json)


@command.command("why")
@click.argument("agent")
@click.option("--at", metavar="MOMENT", help="As of a past moment, such as 2026-01-31T12:00:00Z.")
@json_option
@click.pass_context
def why(ctx: click.Context, agent: str, *, at: str | None, as_json: bool) -> int:
    """Say how an agent came to its score: every record and what it did.

    With --at only what was recorded until that moment counts, and the score fades until then: the answer is the one
    that would have been given.

    \b
    Examples:
      custody trust why claude-code
      custody trust why claude-code --at 2026-01-31T12:00:00Z
    """
    report = trust_why(_desk(ctx), agent, at=at)
    return answer(report, "\n".join(_why_words(report)), as_json=as_json)


@command.command("record")
@click.argument("agent")
@click.argument("decision", type=click.Choice(DECISIONS))
@click.argument("commit", required=False, metavar="[COMMIT]")
@click.option("--review-seconds", type=click.FloatRange(min=0), help="How long the review took.")
@click.option("--lines", type=click.IntRange(min=0), help="The size of the change, where it is more than its diff.")
@click.option("--complexity", type=click.Choice(COMPLEXITIES), help="Where it is more than the size says.")
@click.option("--opened", metavar="MOMENT", help="When the change was proposed, such as 2026-01-31T12:00:00Z.")
@click.option("--actor", help="Who decided; without it, you.")
@click.option("--reason", help="Why; corrections need one.")
@click.option("--overrides", metavar="ID", help="The decision ID (or about the commit ID) was wrong: this one counts.")
@click.option("--reverts", metavar="ID", help="The change of decision ID (or commit ID) was taken back: 'rejected'.")
@json_option
@click.pass_context
def record(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    agent: str,
    decision: DecisionWord,
    commit: str | None,
    *,
    review_seconds: float | None,
    lines: int | None,
    complexity: str | None,
    opened: str | None,
    actor: str | None,
    reason: str | None,
    overrides: str | None,
    reverts: str | None,
    as_json: bool,
) -> int:
    """Record what was decided about an agent's commit, or correct an earlier decision.

    Size and complexity are read from the commit's diff against its first parent; they can be raised, never lowered. A
    commit is decided once. A decision that was wrong is overridden, a change that was taken back is reverted; both are
    new records with somebody who made them and a reason, and the old record stays.

    \b
    Examples:
      custody trust record claude-code accepted HEAD --review-seconds 300
      custody trust record claude-code rejected --overrides 1a2b3c4 --actor ana --reason "broke the build"
      custody trust record claude-code rejected --reverts 1a2b3c4 --actor ana --reason "slow in production"
    """
    desk = _desk(ctx)
    _check_one_target(commit, overrides, reverts)
    if overrides is not None:
        by, said = _said(actor, reason)
        done = override(desk, agent, overrides, decision_named(decision), actor=by, reason=said)
    elif reverts is not None:
        if decision != "rejected":
            raise InputError(f"what was taken back is 'rejected', not '{decision}'", hint="say rejected --reverts ID")
        by, said = _said(actor, reason)
        done = revert(desk, agent, reverts, actor=by, reason=said)
    else:
        wanted = Wanted(
            agent=agent,
            decision=decision_named(decision),
            commit=commit,
            complexity=None if complexity is None else complexity_named(complexity),
            lines=lines,
            review_ms=None if review_seconds is None else round(review_seconds * SECONDS_MS),
            actor=actor,
            reason=reason,
            opened=opened,
        )
        done = record_commit(desk, wanted)
    report = done.report()
    return answer(report, "\n".join(_record_words(report)), as_json=as_json)


@command.command("recover")
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
    done = recover(_desk(ctx), agent, boost=boost, actor=actor, reason=reason)
    report = done.report()
    return answer(report, "\n".join(_record_words(report)), as_json=as_json)


@command.command("verify")
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
    report = trust_verify(_desk(ctx))
    return answer(report, "\n".join(_verify_words(report)), as_json=as_json)


def _desk(ctx: click.Context) -> Desk:
    storage: Path | None = ctx.meta[__name__]
    if storage is None:
        return the_desk(ctx)
    folder, _ = ctx.obj
    return folder_desk(Path(folder) / storage)


def _check_one_target(commit: str | None, overrides: str | None, reverts: str | None) -> None:
    if sum(one is not None for one in (commit, overrides, reverts)) != 1:
        raise InputError(
            "a decision is about one thing: a commit, --overrides or --reverts", hint="give exactly one of the three"
        )


def _said(actor: str | None, reason: str | None) -> tuple[str, str]:
    if actor is None or reason is None:
        raise InputError("a correction needs somebody who makes it and a reason", hint="give --actor and --reason")
    return actor, reason


def _list_words(report: TrustListReport) -> Iterator[str]:
    if not report.agents:
        yield "nothing has been decided about any agent"
    width = max((len(line.agent) for line in report.agents), default=0)
    for line in report.agents:
        yield f"{line.agent:<{width}}  {_standing(line)}"


def _standing(line: TrustLine) -> str:
    sure = f"confidence {line.confidence:.2f}" + ("" if line.meaningful else ", too few to mean much")
    counts = f"{line.accepted} accepted, {line.modified} modified, {line.rejected} rejected"
    return f"{line.score:.4f} {line.tier.upper():<9} {counts} ({sure})"


def _show_words(report: TrustShowReport) -> Iterator[str]:
    line = report.standing
    yield f"{line.agent}: {_standing(line)}"
    last = "never" if line.last_active is None else _moment(line.last_active)
    yield f"its tier may land up to {line.lines_max} line(s) without review; last decision {last}"
    yield from (_step(step) for step in report.history)
    if report.total > len(report.history):
        yield f"… and {report.total - len(report.history)} more: -n {report.total}"


def _why_words(report: TrustWhyReport) -> Iterator[str]:
    yield f"{report.start:.4f} at the start (profile {report.profile})"
    yield from (_step(step) for step in report.steps)
    line = report.standing
    yield f"{line.score:.4f} after {report.idle_days:.1f} idle day(s), at {_moment(report.at)}"
    yield f"{line.agent}: {_standing(line)}"
    yield from chance_words(report.chance)


def _step(step: StepTaken) -> str:
    what = step.kind if step.kind == "recovery" else f"{step.kind} {step.decision}".removeprefix("decision ")
    size = "" if step.weight is None else f", weight {step.weight:.2f}, step {step.step:.3f}"
    about = f" {step.commit[:SHORT_DIGITS]}" if step.commit else ""
    by = f" by {step.actor}" if step.actor else ""
    said = f": {step.reason}" if step.reason else ""
    notes = f" [{'; '.join(step.notes)}]" if step.notes else ""
    moved = f"{step.before:.4f} -> {step.after:.4f}" if step.counts else f"{step.before:.4f} (not counted)"
    # A decision about a commit is named by the commit, which is told already.
    name = "" if step.commit and step.id == f"commit:{step.commit}" else f" (id {step.id})"
    return f"{_moment(step.at)}  {moved}  {what}{about}{size}{by}{said}{notes}{name}"


def _moment(at: str) -> str:
    """A moment to the second."""
    return f"{at[:SECOND_SIGNS]}Z"


def _record_words(report: TrustRecordReport) -> Iterator[str]:
    yield f"recorded as {report.taken.record}"
    yield _step(report.taken)
    yield f"{report.standing.agent}: {_standing(report.standing)}"


def _verify_words(report: TrustVerifyReport) -> Iterator[str]:
    yield from (f"{finding.code}  {finding.what}" for finding in report.findings)
    counted = f"{report.decisions:,} decision(s) about {report.agents} agent(s)"
    if report.findings:
        yield f"NOT as written: {len(report.findings)} finding(s); replayed {counted}"
    else:
        yield f"all as written: replayed {counted}"


command.add_command(approve)
