"""``custody trust record`` and ``custody trust reverts``, and how scores and decisions are rendered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

import click

from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.terminal.frame import json_option, open_command_workspace, print_command_report
from custody.trust.wire import OutcomeWord

if TYPE_CHECKING:
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


# Scores and decisions as text.


SHORT_DIGITS = 12


def render_score(line: TrustLine) -> str:
    """Return the score, the tier and the reviews of an agent."""
    confidence = f"confidence {line.confidence:.2f}" + ("" if line.meaningful else ", too few reviews")
    counts = f"{line.accepted:,} accepted, {line.modified:,} modified, {line.rejected:,} rejected"
    return f"trust {line.score:.2f} ({line.tier}), {count_noun(line.samples, 'review')}: {counts}; {confidence}"


def render_score_step(step: ScoreStepReport) -> str:
    """Return one record and its effect on the score."""
    from custody.terminal.dates import format_time

    kind = {"landing": "merge without review", "settlement": "settled merge"}.get(step.kind, step.kind)
    what = kind if step.kind == "recovery" else f"{kind} {step.decision}".removeprefix("decision ")
    size = "" if step.weight is None else f", weight {step.weight:.2f}, step {step.step:.2f}"
    about = f" {step.commit[:SHORT_DIGITS]}" if step.commit else ""
    vouched = f" ({step.assurance})" if step.assurance else ""
    by = f" by {step.actor}{vouched}" if step.actor else vouched
    reason = f": {step.reason}" if step.reason else ""
    notes = f" [{'; '.join(step.notes)}]" if step.notes else ""
    moved = f"{step.before:.2f} -> {step.after:.2f}" if step.counts else f"{step.before:.2f} (not counted)"
    # The id of a decision about a commit is the commit, which is shown already.
    name = "" if step.commit and step.id == f"commit:{step.commit}" else f" (id {step.id})"
    return f"{format_time(step.at)}  {moved}  {what}{about}{size}{by}{reason}{notes}{name}"


DECISIONS = ("accepted", "modified", "rejected")
COMPLEXITIES = ("trivial", "minor", "moderate", "major", "critical")
OUTCOMES = get_args(OutcomeWord)
SECONDS_MS = 1000
STORED = "custody.trust.cli.trust"
"""The key of the storage folder in click's context."""


sign_key_option = click.option(
    "--sign-key",
    metavar="KEYFILE",
    type=click.Path(path_type=Path),
    help="Sign the decision as its actor with this private SSH key.",
)


@click.command("record")
@click.argument("words", nargs=-1, metavar="[AGENT] [DECISION] [CHANGE]")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Record this outcome of CHANGE.")
@click.option("--landed-as", metavar="COMMIT", help="The squashed or rebased commit of CHANGE.")
@click.option("--duplicate-of", metavar="CHANGE", help="The original of a closed CHANGE.")
@click.option("--review-seconds", type=click.FloatRange(min=0), help="Length of the review.")
@click.option("--lines", type=click.IntRange(min=0), help="A size over the diff's.")
@click.option("--complexity", type=click.Choice(COMPLEXITIES), help="A higher complexity.")
@click.option("--opened", metavar="TIME", help="Time of the proposal (RFC 3339).")
@click.option("--actor", help="Who decided (default: you).")
@click.option("--reason", help="Reason; corrections need one.")
@click.option("--overrides", metavar="ID", help="Replace the decision with this id or commit.")
@click.option("--reverts", metavar="ID", help="Record a revert of this decision or commit.")
@sign_key_option
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
    sign_key: Path | None,
    as_json: bool,
) -> int:
    """Record a decision about an agent's change.

    AGENT DECISION COMMIT records one decision: accepted, modified or rejected. Size and complexity come from the
    commit's diff; they can be raised, not lowered. A commit is decided once; --overrides and --reverts correct that.

    --outcome OUTCOME CHANGE records the outcome of a commit, BASE..HEAD or a branch. Every agent with added lines, or
    only AGENT, gets one decision: merged is accepted, changed is modified, closed is rejected, reverted is a revert.
    Another outcome later corrects the first one.

    Corrections need --actor and --reason; the old record stays. A team that lists the key of --sign-key in [reviewers]
    of custody.toml counts the decision as witnessed.

    \b
    Examples:
      custody trust record claude-code accepted HEAD --review-seconds 300
      custody trust record --outcome merged main..topic
      custody trust record --outcome reverted 1a2b3c4 --actor ana --reason slow
    """
    from custody.trust import ChangeComplexity, DecisionType
    from custody.trust.app.outcomes import OutcomeRequest, record_outcome
    from custody.trust.app.record import DecisionRequest, record_commit_decision, record_override, record_revert

    review_ms = None if review_seconds is None else round(review_seconds * SECONDS_MS)
    weight = None if complexity is None else ChangeComplexity[complexity.upper()]
    if outcome is not None:
        _check_outcome_options(overrides, reverts)
        agent, change = _parse_outcome_arguments(words)
        outcome_request = OutcomeRequest(
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
            sign_key=sign_key,
        )
        report = record_outcome(require_trust_repository(ctx), outcome_request)
        return print_command_report(report, "\n".join(_render_outcome(report)), as_json=as_json)
    if landed_as is not None or duplicate_of is not None:
        raise InputError("--landed-as and --duplicate-of need --outcome", hint="add --outcome")
    agent, decision, commit = _parse_decision_arguments(ctx, words)
    _check_decision_target(commit, overrides, reverts)
    workspace = open_trust_workspace(ctx)
    if overrides is not None:
        by, why = _require_decision_correction(actor, reason)
        receipt = record_override(
            workspace, agent, overrides, DecisionType(decision), actor=by, reason=why, sign_key=sign_key
        )
    elif reverts is not None:
        if decision != "rejected":
            raise InputError(f"a revert is 'rejected', not '{decision}'", hint="pass rejected --reverts ID")
        by, why = _require_decision_correction(actor, reason)
        receipt = record_revert(workspace, agent, reverts, actor=by, reason=why, sign_key=sign_key)
    else:
        request = DecisionRequest(
            agent=agent,
            decision=DecisionType(decision),
            commit=commit,
            complexity=weight,
            lines=lines,
            review_ms=review_ms,
            actor=actor,
            reason=reason,
            opened=opened,
            sign_key=sign_key,
        )
        receipt = record_commit_decision(workspace, request)
    record_report = receipt.report()
    return print_command_report(record_report, "\n".join(render_record(record_report)), as_json=as_json)


def open_trust_workspace(ctx: click.Context) -> Workspace:
    """Return the workspace of the repository, or of the folder passed with ``--storage``."""
    from custody.trust.app.decisions import open_trust_folder

    storage: Path | None = ctx.meta[STORED]
    if storage is None:
        return open_command_workspace(ctx)
    folder, _ = ctx.obj
    return open_trust_folder(Path(folder) / storage)


def require_trust_repository(ctx: click.Context) -> Workspace:
    """Return the workspace of the repository; an ``InputError`` with ``--storage``."""
    if ctx.meta.get(STORED) is not None:
        raise InputError("a storage folder has no changes", hint="leave out --storage")
    return open_command_workspace(ctx)


def render_record(report: TrustRecordReport) -> Iterator[str]:
    """Yield what was recorded, and the agent's score after it."""
    yield f"recorded as {report.taken.record}"
    yield render_score_step(report.taken)
    yield f"{report.standing.agent}: {render_score(report.standing)}"


def render_agent_outcome(outcome: AgentOutcome) -> Iterator[str]:
    """Yield the effect of an outcome on one agent."""
    if outcome.taken is None:
        yield f"{outcome.agent}: nothing recorded: {outcome.note}"
        return
    yield f"{outcome.agent}: {outcome.state} as {outcome.taken.record}"
    yield f"  {render_score_step(outcome.taken)}"
    yield f"  {render_score(outcome.standing)}"


def _render_outcome(report: TrustOutcomeReport) -> Iterator[str]:
    agent_lines = sum(agent.lines for agent in report.agents)
    added = f"{agent_lines:,} agent, {report.person_lines:,} person, {report.unknown_lines:,} unknown"
    lines = count_noun(report.lines, "changed line")
    yield f"{report.told} {report.change[:SHORT_DIGITS]}: {lines}; added: {added}"
    if not report.agents:
        yield "nothing recorded: no lines by agents found"
    for agent in report.agents:
        yield from render_agent_outcome(agent)
    for label in report.labels:
        yield f"duplicate label '{label.answer}' for {label.other[:SHORT_DIGITS]} recorded as {label.record}"


def _parse_decision_arguments(ctx: click.Context, words: Sequence[str]) -> tuple[str, str, str | None]:
    """AGENT DECISION [COMMIT]."""
    if not 2 <= len(words) <= 3:
        raise InputError(
            "expected AGENT DECISION [COMMIT]",
            hint="pass AGENT DECISION COMMIT, or --outcome OUTCOME CHANGE",
        )
    decision: str = click.Choice(DECISIONS).convert(words[1], None, ctx)
    return words[0], decision, words[2] if len(words) > 2 else None


def _parse_outcome_arguments(words: Sequence[str]) -> tuple[str | None, str]:
    """[AGENT] CHANGE."""
    if not 1 <= len(words) <= 2:
        raise InputError("--outcome needs one change", hint="pass --outcome OUTCOME [AGENT] CHANGE")
    return (words[0] if len(words) > 1 else None), words[-1]


def _check_outcome_options(*others: str | None) -> None:
    if any(other is not None for other in others):
        raise InputError(
            "--outcome excludes --overrides and --reverts", hint="an outcome corrects an earlier one by itself"
        )


def _check_decision_target(commit: str | None, overrides: str | None, reverts: str | None) -> None:
    if sum(target is not None for target in (commit, overrides, reverts)) != 1:
        raise InputError(
            "pass exactly one of COMMIT, --overrides and --reverts", hint="try 'custody trust record --help'"
        )


def _require_decision_correction(actor: str | None, reason: str | None) -> tuple[str, str]:
    if actor is None or reason is None:
        raise InputError("a correction needs an actor and a reason", hint="pass --actor and --reason")
    return actor, reason


SHOWN_MAX = 50
SUBJECT_CHARACTERS = 60

STATES = MappingProxyType(
    {
        "whole": "reverts",
        "partial": "partly reverts",
        "untrue": "claims to revert, but all lines are still there:",
        "gone": "claims to revert a commit that was rewritten before:",
        "cancelled": "was reverted itself, so it no longer reverts",
        "unlanded": "reverts before the merge",
        "unknown": "claims to revert an unknown commit:",
        "elsewhere": "claims to revert a commit that is not an ancestor:",
        "ambiguous": "claims to revert an ambiguous commit:",
        "short": "claims to revert a commit with too few digits:",
        "unseen": "reverts a commit outside of this shallow clone:",
    }
)


@click.command("reverts")
@click.argument("history", required=False, metavar="[RANGE]")
@click.option("--record", is_flag=True, help="Record each whole revert of an agent's lines, once.")
@click.option("--actor", help="With --record: who records them (default: you).")
@json_option
@click.pass_context
def reverts(ctx: click.Context, history: str | None, *, record: bool, actor: str | None, as_json: bool) -> int:
    """List reverts in git history.

    RANGE is BASE..HEAD, or a commit with all of its history (default: HEAD). Messages of git and GitHub are parsed, but
    not trusted: the named commit must be an ancestor, and its lines must be gone. A revert that no message mentions is
    found by its diff. Only whole reverts count; partial reverts, reverts that were reverted themselves, and those
    within one merge are listed separately.

    \b
    Examples:
      custody trust reverts
      custody trust reverts v1.0..HEAD --record
      custody trust reverts --json | jq '.found[] | select(.state == "untrue")'
    """
    from custody.trust.app.reverts import trust_reverts

    report = trust_reverts(require_trust_repository(ctx), history, record=record, actor=actor)
    return print_command_report(report, "\n".join(_render_reverts(report)), as_json=as_json)


def _render_reverts(report: TrustRevertsReport) -> Iterator[str]:
    for finding in report.found[-SHOWN_MAX:]:
        yield from _render_revert(finding)
    if len(report.found) > SHOWN_MAX:
        yield f"… and {len(report.found) - SHOWN_MAX:,} older (--json lists all)"
    counts = ", ".join(f"{count:,} {state}" for state, count in report.counts.items()) or "none"
    yield f"reverts in {count_noun(report.commits, 'commit')}: {counts}"
    if report.recording:
        yield f"{count_noun(report.recorded, 'decision')} recorded"


def _render_revert(report: RevertReport) -> Iterator[str]:
    named = (
        report.said or ""
        if report.target is None
        else _render_revert_commit(report.target, report.target_subject or "")
    )
    share = f" ({report.undone:,} of {count_noun(report.left, 'line')})" if report.state == "partial" else ""
    by = f" (by {report.cancelled_by[:SHORT_DIGITS]})" if report.cancelled_by else ""
    silent = " (not mentioned in its message)" if report.how == "diff" else ""
    yield f"{_render_revert_commit(report.by, report.subject)} {STATES[report.state]} {named}{share}{by}{silent}"
    for outcome in report.outcomes:
        yield from (f"  {line}" for line in render_agent_outcome(outcome))


def _render_revert_commit(sha: str, subject: str) -> str:
    return f"{sha[:SHORT_DIGITS]} '{subject[:SUBJECT_CHARACTERS]}'"


# Acceptance probabilities as text.


def render_acceptance_probability(report: ChanceReport) -> Iterator[str]:
    """Yield an acceptance probability with all parts of its log-odds."""
    for part in report.account:
        yield f"{part.points:+.2f}  {part.name}{_render_acceptance_part(part)}"
    yield (
        f"{report.logit:+.2f} log-odds: acceptance probability {report.probability:.2f}, at least {report.low:.2f},"
        f" from {report.samples:.1f} reviews of the agent after decay"
    )
    realized = "none yet" if report.realised is None else f"{report.realised:.2%} of {report.realised_count:,}"
    passing = "no change passes yet" if report.threshold is None else f"changes pass from {report.threshold:g} on"
    decisions = count_noun(report.seen, "decision")
    yield f"risk control: {passing}; target {report.target:.1%}, realized {realized} in {decisions}"


def _render_acceptance_part(part: ChancePart) -> str:
    samples = "" if part.samples is None else f" from {part.samples:.1f}"
    return "" if part.value is None else f" ({part.value:.3g}{samples})"
