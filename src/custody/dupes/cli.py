"""The verbs of duplicate search.

May touch the terminal. Asks use cases and renders their reports.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TextIO

import click

from custody.dupes.app.check import SHOWN, dupes_check
from custody.dupes.app.cluster import dupes_cluster
from custody.dupes.app.index import IndexRequest, dupes_index
from custody.dupes.app.labels import ANSWERS, dupes_label
from custody.dupes.app.show import dupes_show
from custody.dupes.wire import (
    ChangeRefReport,
    DupesCheckReport,
    DupesClusterReport,
    DupesEvidence,
    DupesIndexReport,
    DupesLabelReport,
    DupesShowReport,
    SharedNamesReport,
)
from custody.terminal.frame import answer, json_option, open_workspace

SHORT_DIGITS = 12
DAY_SIGNS = len("2026-01-31")
ACCOUNT_SHOWN = 6
PLACES_SHOWN = 5

BackendName = Literal["processes", "ray"]

repo_option = click.option(
    "--repo",
    metavar="GITDIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Another repository than the one here; a bare mirror is enough.",
)


@click.group("dupes")
def dupes_command() -> None:
    """Find the change that is already there, with evidence.

    'index' reads branches, pull requests and landed commits once; 'check' then says what a change is like among them.
    Nothing is ever closed or changed: custody advises.
    """


@dupes_command.command("index")
@click.argument("ranges", nargs=-1, metavar="[BASE..HEAD]...")
@repo_option
@click.option("--refs", "refs", metavar="PATTERN", multiple=True, help="Refs to index, such as 'refs/pull/*/head'.")
@click.option("--from", "from_file", metavar="FILE", type=click.File("r"), help="Read ranges from FILE, one a line.")
@click.option("--no-commits", is_flag=True, help="Leave out the commits of the main branch.")
@click.option("--workers", type=click.IntRange(min=1), help="How many processes read changes; without it, one a core.")
@click.option("--backend", type=click.Choice(("processes", "ray")), default="processes", help="Where workers run.")
@click.option("--anew", is_flag=True, help="Forget the index and make it again.")
@json_option
@click.pass_context
def index(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    ranges: tuple[str, ...],
    *,
    repo: Path | None,
    refs: tuple[str, ...],
    from_file: TextIO | None,
    no_commits: bool,
    workers: int | None,
    backend: BackendName,
    anew: bool,
    as_json: bool,
) -> int:
    """Index changes, so that others can be compared with them.

    Without ranges and refs: every branch, every pull request that was fetched, every commit of the main branch. What is
    indexed already is passed over, so it can be interrupted and run again at any time.

    \b
    Examples:
      custody dupes index
      custody dupes index --repo mirror.git --refs 'refs/pull/*/head'
      custody dupes index main..feature-1 main..feature-2
    """
    more = tuple(line.strip() for line in from_file or () if line.strip() and not line.startswith("#"))
    wanted = IndexRequest(
        refs=refs, ranges=ranges + more, commits=not no_commits, workers=workers, backend=backend, anew=anew
    )
    report = dupes_index(open_workspace(ctx, repo), wanted)
    return answer(report, "\n".join(_render_index(report)), as_json=as_json)


@dupes_command.command("check")
@click.argument("change", required=False, metavar="[BASE..HEAD]")
@click.option("--worktree", is_flag=True, help="Look for what is in the work tree and not committed.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=SHOWN, help="How many suggestions to show.")
@repo_option
@json_option
@click.pass_context
def check(
    ctx: click.Context, change: str | None, *, worktree: bool, limit: int, repo: Path | None, as_json: bool
) -> int:
    """Say what a change is like among all that are indexed.

    A commit alone is compared with its parent. Every suggestion comes with its evidence, which is kept and can be shown
    again. A negative answer says how many changes were compared and which came nearest. The exit status is 1 when a
    duplicate was found and 0 otherwise.

    \b
    Examples:
      custody dupes check main..HEAD
      custody dupes check --worktree
      custody dupes check HEAD --json | jq '.suggestions[].evidence.category'
    """
    report = dupes_check(open_workspace(ctx, repo), change, worktree=worktree, limit=limit)
    return answer(report, "\n".join(_render_check(report)), as_json=as_json)


@dupes_command.command("show")
@click.argument("evidence", metavar="ID")
@repo_option
@json_option
@click.pass_context
def show(ctx: click.Context, evidence: str, *, repo: Path | None, as_json: bool) -> int:
    """Show what a suggestion rests on, and make it again from the index.

    ID is the evidence's own, or the head commit of the change that was checked; its first digits are enough.

    \b
    Examples:
      custody dupes show 3fa81c
      custody dupes show 3fa81c --json | jq .evidence.overlap.places
    """
    report = dupes_show(open_workspace(ctx, repo), evidence)
    return answer(report, "\n".join(_render_suggestion(report)), as_json=as_json)


@dupes_command.command("cluster")
@click.argument("changes", nargs=-1, metavar="[CHANGE]...")
@click.option("--all", "with_landed", is_flag=True, help="Clusters of landed commits too, not only of open changes.")
@repo_option
@json_option
@click.pass_context
def cluster(
    ctx: click.Context, changes: tuple[str, ...], *, with_landed: bool, repo: Path | None, as_json: bool
) -> int:
    """Put indexed changes that should not all land into clusters.

    Each cluster says which changes the others descend from, and which one to keep. CHANGE limits the answer to the
    clusters of these changes: a ref, a pull request's number, or digits of a head commit.

    \b
    Examples:
      custody dupes cluster
      custody dupes cluster '#1234' --json
    """
    report = dupes_cluster(open_workspace(ctx, repo), changes, with_landed=with_landed)
    return answer(report, "\n".join(_render_clusters(report)), as_json=as_json)


@dupes_command.command("label")
@click.argument("change", metavar="CHANGE")
@click.argument("other", metavar="CHANGE")
@click.argument("said", type=click.Choice(ANSWERS))
@click.option("--actor", help="Who says so; without it, you.")
@click.option("--reason", help="Why.")
@repo_option
@json_option
@click.pass_context
def label(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    change: str,
    other: str,
    said: str,
    *,
    actor: str | None,
    reason: str | None,
    repo: Path | None,
    as_json: bool,
) -> int:
    """Record what two changes are to each other, so that custody learns from it.

    The answer is a record that stays. Once there are enough of them, the chances that are told here are calibrated by
    them.

    \b
    Examples:
      custody dupes label '#12' '#34' duplicate
      custody dupes label 3fa81c 9b02ee different --reason "same file, other bug"
    """
    report = dupes_label(open_workspace(ctx, repo), change, other, said, actor=actor, reason=reason)
    return answer(report, "\n".join(_render_label(report)), as_json=as_json)


def _render_index(report: DupesIndexReport) -> Iterator[str]:
    yield f"{report.indexed:,} change(s) indexed, {report.known:,} were already; {report.changes:,} in all"
    if report.degraded:
        yield f"{report.degraded:,} file(s) were read by their words only: their syntax cannot be read"
    if report.unread_count:
        yield f"{report.unread_count:,} change(s) could not be read:"
        for change in report.unread:
            yield f"  {change.head[:SHORT_DIGITS] or '-'}  {change.why}"


def _render_check(report: DupesCheckReport) -> Iterator[str]:
    yield from report.notes
    for suggestion in report.suggestions:
        yield from _suggestion(suggestion.id, suggestion.evidence)
    compared = f"{report.compared} of {report.candidates} candidate(s) compared, {report.changes:,} change(s) indexed"
    if report.suggestions:
        yield compared
        return
    yield f"nothing like it: {compared}"
    if report.nearest is not None:
        near = report.nearest.evidence
        yield f"the nearest: {_change(near.other)} ({near.category}, chance {near.chance:.1%})"


def _suggestion(id_: str, evidence: DupesEvidence) -> Iterator[str]:
    yield f"{evidence.says}: {_change(evidence.other)}"
    yield f"  {evidence.category}, chance {evidence.chance:.1%} (at least {evidence.low:.1%}): {evidence.rule}"
    for told in evidence.relations:
        yield f"  {told.relation}: {told.why}"
    if evidence.overlap is not None:
        shared = evidence.overlap
        examples = f"{_format_example('file', shared.files)}, {_format_example('symbol', shared.symbols)}"
        yield f"  shares {shared.lines} line(s), {examples}"
    else:
        yield f"  from the sketch alone: {evidence.overlap_missing}"
    yield f"  evidence {id_[:SHORT_DIGITS]}: 'custody dupes show {id_[:SHORT_DIGITS]}'"


def _render_suggestion(report: DupesShowReport) -> Iterator[str]:
    evidence = report.evidence
    yield f"{_change(evidence.this)}"
    yield from _suggestion(report.id, evidence)
    for name, value in evidence.signals.items():
        if value is not None:
            yield f"  {name:<22} {value:.3f}"
    missing = [name for name, value in evidence.signals.items() if value is None]
    if missing:
        yield f"  missing on a side: {', '.join(missing)}"
    yield f"  prod score {evidence.prod_score:.3f}, final score {evidence.final_score:.3f}"
    lines = sorted(evidence.account, key=lambda line: -abs(line.weight * line.value))
    for line in lines[:ACCOUNT_SHOWN]:
        yield f"  {line.weight * line.value:+.2f}  {line.name} ({line.weight:+.2f} x {line.value:.3f})"
    if evidence.overlap is not None:
        for place in evidence.overlap.places[:PLACES_SHOWN]:
            here = f"{place.path}:{place.line}"
            yield f"  {place.sign} {place.lines} line(s): {here} and {place.other_path}:{place.other_line}"
    why = f" ({report.replay_why})" if report.replay_why else ""
    yield f"made again from the index as of change {evidence.as_of:,}: {report.replayed}{why}"


def _render_clusters(report: DupesClusterReport) -> Iterator[str]:
    for told in report.clusters:
        yield f"cluster {told.id[:SHORT_DIGITS]}: {len(told.members)} changes; {told.canonical_why}"
        for member in told.members:
            marks = " base" * member.is_base + " keep" * member.is_canonical
            yield f"  {_change(member.change)}{' -' if marks else ''}{marks}{f' ({member.why})' if member.why else ''}"
    yield f"{len(report.clusters)} cluster(s) among {report.changes:,} change(s), from {report.pairs:,} pair(s)"


def _render_label(report: DupesLabelReport) -> Iterator[str]:
    yield f"recorded as {report.record}: {report.answer}; the chance told for this pair is {report.chance:.1%}"
    if report.learnt:
        yield f"chances here are calibrated by {report.answers} answer(s)"
    else:
        yield f"{report.answers} of {report.needed} answers that calibrating needs"


def _change(change: ChangeRefReport) -> str:
    name = f" {change.name}" if change.name else ""
    landed = ", landed" if change.on_main else ""
    return f"{change.head[:SHORT_DIGITS]}{name} '{change.title}' ({change.opened[:DAY_SIGNS]}{landed})"


def _format_example(what: str, names: SharedNamesReport) -> str:
    if not names.count:
        return f"no {what}"
    return f"{names.count} {what}(s) such as '{names.some[0]}'"
