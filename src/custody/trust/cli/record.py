"""``custody trust record`` and ``custody trust reverts``, and how scores and decisions are rendered."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import get_args

import click

from custody.core.errors import InputError
from custody.terminal.frame import answer, json_option, open_workspace
from custody.trust import ChangeComplexity, DecisionType
from custody.trust.app.decisions import folder_workspace
from custody.trust.app.outcomes import OutcomeRequest, OutcomeWord, record_outcome
from custody.trust.app.record import DecisionRequest, override, record_commit, revert
from custody.trust.app.reverts import trust_reverts
from custody.trust.wire import (
    AgentOutcome,
    ChancePart,
    ChanceReport,
    RevertReport,
    ScoreStepReport,
    TrustLine,
    TrustOutcomeReport,
    TrustRecordReport,
    TrustRevertsReport,
)
from custody.workspace.workspace import Workspace

# How where an agent stands, and what a decision did, are said in words.


SHORT_DIGITS = 12
SECOND_SIGNS = len("2026-01-31T12:00:00")


def standing_line(line: TrustLine) -> str:
    """Score, tier and counts."""
    sure = f"confidence {line.confidence:.2f}" + ("" if line.meaningful else ", too few to mean much")
    counts = f"{line.accepted} accepted, {line.modified} modified, {line.rejected} rejected"
    return f"{line.score:.4f} {line.tier.upper():<9} {counts} ({sure})"


def step_line(step: ScoreStepReport) -> str:
    """One record and what it did."""
    what = step.kind if step.kind == "recovery" else f"{step.kind} {step.decision}".removeprefix("decision ")
    size = "" if step.weight is None else f", weight {step.weight:.2f}, step {step.step:.3f}"
    about = f" {step.commit[:SHORT_DIGITS]}" if step.commit else ""
    by = f" by {step.actor}" if step.actor else ""
    said = f": {step.reason}" if step.reason else ""
    notes = f" [{'; '.join(step.notes)}]" if step.notes else ""
    moved = f"{step.before:.4f} -> {step.after:.4f}" if step.counts else f"{step.before:.4f} (not counted)"
    # A decision about a commit is named by the commit, which is told already.
    name = "" if step.commit and step.id == f"commit:{step.commit}" else f" (id {step.id})"
    return f"{moment_line(step.at)}  {moved}  {what}{about}{size}{by}{said}{notes}{name}"


def moment_line(at: str) -> str:
    """A moment to the second."""
    return f"{at[:SECOND_SIGNS]}Z"


DECISIONS = ("accepted", "modified", "rejected")
COMPLEXITIES = ("trivial", "minor", "moderate", "major", "critical")
OUTCOMES = get_args(OutcomeWord)
SECONDS_MS = 1000
STORED = "custody.trust.cli.trust"
"""Under this name the group keeps the folder that the user named."""


@click.command("record")
@click.argument("words", nargs=-1, metavar="[AGENT] [DECISION] [CHANGE]")
@click.option(
    "--outcome", type=click.Choice(OUTCOMES), help="What became of CHANGE; its agents are found by their lines."
)
@click.option("--landed-as", metavar="COMMIT", help="With --outcome: what CHANGE became, by a squash or a rebase.")
@click.option("--duplicate-of", metavar="CHANGE", help="With --outcome closed: the change that was there already.")
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
    words: tuple[str, ...],
    *,
    outcome: OutcomeWord | None,
    landed_as: str | None,
    duplicate_of: str | None,
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
    """Record what was decided about an agent's commit, what became of a change, or correct an earlier decision.

    AGENT DECISION COMMIT records one decision (accepted, modified or rejected). Size and complexity are read from the
    commit's diff against its first parent; they can be raised, never lowered. A commit is decided once. A decision that
    was wrong is overridden, a change that was taken back is reverted; both are new records with somebody who made them
    and a reason, and the old record stays.

    --outcome OUTCOME CHANGE records what became of a change: a commit, BASE..HEAD, or a branch. Every agent whose lines
    it adds gets one decision: merged is accepted, changed is modified, closed is rejected, and reverted takes back what
    was decided. An AGENT before CHANGE means that one alone. The same told again records nothing; another outcome
    corrects the first one, which needs --actor and --reason. Nothing is recorded where no agent's line is found.

    \b
    Examples:
      custody trust record claude-code accepted HEAD --review-seconds 300
      custody trust record claude-code rejected --overrides 1a2b3c4 --actor ana --reason "broke the build"
      custody trust record claude-code rejected --reverts 1a2b3c4 --actor ana --reason "slow in production"
      custody trust record --outcome merged main..topic
      custody trust record --outcome closed topic --duplicate-of other-topic
      custody trust record --outcome reverted 1a2b3c4 --actor ana --reason "slow in production"
    """
    review_ms = None if review_seconds is None else round(review_seconds * SECONDS_MS)
    weight = None if complexity is None else ChangeComplexity[complexity.upper()]
    if outcome is not None:
        _check_alone(overrides, reverts)
        agent, change = _agent_and_change(words)
        told = OutcomeRequest(
            change=change,
            outcome=outcome,
            agent=agent,
            actor=actor,
            reason=reason,
            landed_as=landed_as,
            duplicate_of=duplicate_of,
            opened=opened,
            review_ms=review_ms,
            lines=lines,
            complexity=weight,
        )
        report = record_outcome(repository_workspace(ctx), told)
        return answer(report, "\n".join(_render_outcome(report)), as_json=as_json)
    if landed_as is not None or duplicate_of is not None:
        raise InputError("--landed-as and --duplicate-of belong to an outcome", hint="give --outcome as well")
    agent, decision, commit = _decision(ctx, words)
    _check_one_target(commit, overrides, reverts)
    workspace = open_trust_workspace(ctx)
    if overrides is not None:
        by, said = _require_correction(actor, reason)
        done = override(workspace, agent, overrides, DecisionType(decision), actor=by, reason=said)
    elif reverts is not None:
        if decision != "rejected":
            raise InputError(f"what was taken back is 'rejected', not '{decision}'", hint="say rejected --reverts ID")
        by, said = _require_correction(actor, reason)
        done = revert(workspace, agent, reverts, actor=by, reason=said)
    else:
        wanted = DecisionRequest(
            agent=agent,
            decision=DecisionType(decision),
            commit=commit,
            complexity=weight,
            lines=lines,
            review_ms=review_ms,
            actor=actor,
            reason=reason,
            opened=opened,
        )
        done = record_commit(workspace, wanted)
    made = done.report()
    return answer(made, "\n".join(render_record(made)), as_json=as_json)


def open_trust_workspace(ctx: click.Context) -> Workspace:
    """The repository, or the folder of the library's that the user named."""
    storage: Path | None = ctx.meta[STORED]
    if storage is None:
        return open_workspace(ctx)
    folder, _ = ctx.obj
    return folder_workspace(Path(folder) / storage)


def repository_workspace(ctx: click.Context) -> Workspace:
    """The repository; a folder of the library's has no changes."""
    if ctx.meta.get(STORED) is not None:
        raise InputError("a change is one of a repository, not of a folder", hint="leave --storage out")
    return open_workspace(ctx)


def render_record(report: TrustRecordReport) -> Iterator[str]:
    """What was recorded, and where that leaves the agent."""
    yield f"recorded as {report.taken.record}"
    yield step_line(report.taken)
    yield f"{report.standing.agent}: {standing_line(report.standing)}"


def render_agent_outcome(outcome: AgentOutcome) -> Iterator[str]:
    """What an outcome means for one agent."""
    if outcome.taken is None:
        yield f"{outcome.agent}: nothing new: {outcome.note}"
        return
    yield f"{outcome.agent}: {outcome.state} as {outcome.taken.record}"
    yield f"  {step_line(outcome.taken)}"
    yield f"  {standing_line(outcome.standing)}"


def _render_outcome(report: TrustOutcomeReport) -> Iterator[str]:
    others = f"{report.person_lines} of persons, {report.unknown_lines} of nobody known"
    counted = (
        f"{report.lines} line(s) changed; added are {sum(agent.lines for agent in report.agents)} of agents, {others}"
    )
    yield f"{report.told} {report.change[:SHORT_DIGITS]}: {counted}"
    if not report.agents:
        yield "no agent's line is found in it, so nothing is recorded about one"
    for agent in report.agents:
        yield from render_agent_outcome(agent)
    for label in report.labels:
        yield f"duplicates: {label.answer} to {label.other[:SHORT_DIGITS]}, recorded as {label.record}"


def _decision(ctx: click.Context, words: Sequence[str]) -> tuple[str, str, str | None]:
    """AGENT DECISION [COMMIT]."""
    if not 2 <= len(words) <= 3:
        raise InputError(
            "a decision is an agent and accepted, modified or rejected, then a commit",
            hint="say AGENT DECISION COMMIT, or --outcome OUTCOME CHANGE",
        )
    decision: str = click.Choice(DECISIONS).convert(words[1], None, ctx)
    return words[0], decision, words[2] if len(words) > 2 else None


def _agent_and_change(words: Sequence[str]) -> tuple[str | None, str]:
    """[AGENT] CHANGE."""
    if not 1 <= len(words) <= 2:
        raise InputError("an outcome is that of one change", hint="say --outcome OUTCOME CHANGE, an AGENT before it")
    return (words[0] if len(words) > 1 else None), words[-1]


def _check_alone(*others: str | None) -> None:
    if any(other is not None for other in others):
        raise InputError(
            "an outcome corrects by itself what was told before", hint="leave --overrides and --reverts out"
        )


def _check_one_target(commit: str | None, overrides: str | None, reverts: str | None) -> None:
    if sum(target is not None for target in (commit, overrides, reverts)) != 1:
        raise InputError(
            "a decision is about one thing: a commit, --overrides or --reverts", hint="give exactly one of the three"
        )


def _require_correction(actor: str | None, reason: str | None) -> tuple[str, str]:
    if actor is None or reason is None:
        raise InputError("a correction needs somebody who makes it and a reason", hint="give --actor and --reason")
    return actor, reason


SHOWN_MAX = 50
SUBJECT_SIGNS = 60

STATES = MappingProxyType(
    {
        "whole": "takes back",
        "partial": "takes back a part of",
        "untrue": "says it takes back, and all of it is still there:",
        "gone": "says it takes back what had been rewritten before:",
        "cancelled": "took back, and was taken back itself:",
        "unlanded": "takes back, before it landed:",
        "unknown": "names what is not there:",
        "elsewhere": "names what is no ancestor of it:",
        "ambiguous": "names what fits several commits:",
        "short": "names with too few digits:",
        "unseen": "takes back what a shallow clone does not have:",
    }
)


@click.command("reverts")
@click.argument("history", required=False, metavar="[RANGE]")
@click.option("--record", is_flag=True, help="Record each revert of an agent's lines that counts, once.")
@click.option("--actor", help="With --record: who records them; without it, you.")
@json_option
@click.pass_context
def reverts(ctx: click.Context, history: str | None, *, record: bool, actor: str | None, as_json: bool) -> int:
    """Find in git history which commits take back earlier ones, and perhaps record it.

    RANGE is BASE..HEAD, or a commit and all that it descends from; without it, HEAD. Messages are read in every
    spelling of git and GitHub, and are not believed: what they name has to be an ancestor, and its lines have to be
    gone. A commit that undoes an earlier one without a word is found by its diff. Only what is taken back whole
    counts; reverts of a part, reverts that were taken back themselves, and those within one merge are told apart.

    \b
    Examples:
      custody trust reverts
      custody trust reverts v1.0..HEAD --record
      custody trust reverts --json | jq '.found[] | select(.state == "untrue")'
    """
    report = trust_reverts(repository_workspace(ctx), history, record=record, actor=actor)
    return answer(report, "\n".join(_render_reverts(report)), as_json=as_json)


def _render_reverts(report: TrustRevertsReport) -> Iterator[str]:
    for finding in report.found[-SHOWN_MAX:]:
        yield from _render_revert(finding)
    if len(report.found) > SHOWN_MAX:
        yield f"… and {len(report.found) - SHOWN_MAX:,} older ones: --json has all"
    counted = ", ".join(f"{count:,} {state}" for state, count in report.counts.items()) or "none"
    yield f"reverts in {report.commits:,} commit(s): {counted}"
    if report.recording:
        yield f"{report.recorded:,} decision(s) recorded"


def _render_revert(report: RevertReport) -> Iterator[str]:
    named = report.said or "" if report.target is None else _commit(report.target, report.target_subject or "")
    share = f" ({report.undone} of {report.left} line(s))" if report.state == "partial" else ""
    by = f" (by {report.cancelled_by[:SHORT_DIGITS]})" if report.cancelled_by else ""
    silent = " without a word" if report.how == "diff" else ""
    yield f"{_commit(report.by, report.subject)} {STATES[report.state]} {named}{share}{by}{silent}"
    for outcome in report.outcomes:
        yield from (f"  {line}" for line in render_agent_outcome(outcome))


def _commit(sha: str, subject: str) -> str:
    return f"{sha[:SHORT_DIGITS]} '{subject[:SUBJECT_SIGNS]}'"


# A chance of acceptance in words; several verbs tell one.


def render_chance(chance: ChanceReport) -> Iterator[str]:
    """A chance of acceptance with everything that it is the sum of."""
    for part in chance.account:
        yield f"{part.points:+.4f}  {part.name}{_behind(part)}"
    yield (
        f"{chance.logit:+.4f} log-odds: chance of acceptance {chance.probability:.4f}, at least {chance.low:.4f},"
        f" from {chance.samples:.1f} decision(s) about the agent as they have faded"
    )
    realised = "nothing" if chance.realised is None else f"{chance.realised:.2%} of {chance.realised_count:,}"
    allows = "risk control can show nothing yet" if chance.threshold is None else f"from {chance.threshold:g} on"
    yield f"risk target {chance.target:.1%}, realised {realised} in {chance.seen:,} decision(s); lets through: {allows}"


def _behind(part: ChancePart) -> str:
    samples = "" if part.samples is None else f" from {part.samples:.1f}"
    return "" if part.value is None else f" ({part.value:.4g}{samples})"
