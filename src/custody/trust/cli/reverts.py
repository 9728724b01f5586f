"""``custody trust reverts``."""

from collections.abc import Iterator
from types import MappingProxyType

import click

from custody.terminal.frame import answer, json_option
from custody.trust.app.reverts import trust_reverts
from custody.trust.cli.record import render_agent_outcome, repository_workspace
from custody.trust.cli.vocabulary import SHORT_DIGITS
from custody.trust.wire.report import RevertReport, TrustRevertsReport

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
    for revert in report.found[-SHOWN_MAX:]:
        yield from _render_revert(revert)
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
