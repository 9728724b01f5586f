"""The verbs of duplicate search.

May touch the terminal. Calls use cases and renders their reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TextIO

import click
from msgspec import Struct

from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.dupes.wire import ANSWERS, SUGGESTIONS_MAX
from custody.terminal.frame import current_screen, json_option, open_command_workspace, print_command_report
from custody.terminal.screen import (
    WRAP_INDENT,
    Role,
    Screen,
    StyledText,
    TextLine,
    escape_controls,
    text_columns,
    wrap_text,
)

if TYPE_CHECKING:
    from custody.dupes.wire import (
        ChangeRefReport,
        DupesCheckReport,
        DupesClusterReport,
        DupesEvidence,
        DupesIndexReport,
        DupesLabelReport,
        DupesShowReport,
        OverlapReport,
    )


SHORT_DIGITS = 12
DAY_LENGTH = len("2026-01-31")
TERMS_SHOWN_MAX = 6
PLACES_SHOWN_MAX = 5
NAMES_SHOWN_MAX = 3
NAME_DIGITS = 7
LABEL_COLUMNS = 10
ROW_COLUMNS_MIN = 40
"""Below this width, the text of a row is below its label."""
NARROW_INDENT = 4
PULL_REQUEST = lazy_pattern(r"refs/(?:pull|merge-requests)/(\d+)/head")
BRANCH = lazy_pattern(r"refs/(?:heads|remotes)/(.+)")


class SuggestionLook(Struct, frozen=True):
    """How a verdict about a pair is shown: words before the name of the other change, and a color."""

    words: str
    role: Role


VERDICT_LOOKS: Mapping[str, SuggestionLook] = MappingProxyType(
    {
        "duplicate": SuggestionLook("! LIKELY DUPLICATE  ", "bad"),
        "competing": SuggestionLook("! LIKELY COMPETING  ", "warn"),
        "explained": SuggestionLook("{relation}: ", "muted"),
        "related, not sure": SuggestionLook("possibly related {percent}: ", "warn"),
        "nothing": SuggestionLook("not reported {percent}: ", "muted"),
    }
)
VERDICT_ORDER = tuple(VERDICT_LOOKS)

BackendName = Literal["processes", "ray"]

repo_option = click.option(
    "--repo",
    metavar="GITDIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Use this repository instead of the current one; may be a bare mirror.",
)


@click.group("dupes")
def dupes_command() -> None:
    """Find changes that duplicate other changes.

    'index' reads branches, pull requests and the commits of main; 'check' then compares a change with all of them.
    custody only advises: it never closes or changes anything.

    \b
    Example:
      custody dupes check main..HEAD
    """


@dupes_command.command("index")
@click.argument("ranges", nargs=-1, metavar="[BASE..HEAD]...")
@repo_option
@click.option(
    "--refs", "refs", metavar="PATTERN", multiple=True, help="Index matching refs, such as 'refs/pull/*/head'."
)
@click.option("--from", "from_file", metavar="FILE", type=click.File("r"), help="Read ranges from FILE, one per line.")
@click.option("--no-commits", is_flag=True, help="Skip the commits of the main branch.")
@click.option("--workers", type=click.IntRange(min=1), help="Number of worker processes (default: one per core).")
@click.option("--backend", type=click.Choice(("processes", "ray")), default="processes", help="Where the workers run.")
@click.option("--anew", is_flag=True, help="Delete the index and rebuild it.")
@json_option
@click.pass_context
def index_changes_command(  # noqa: PLR0913 - one argument for each option
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
    """Index changes to compare others with.

    Without ranges and refs, index every branch, every fetched pull request and every commit of the main branch.
    Indexed changes are skipped, so the command can be interrupted and run again at any time.

    \b
    Examples:
      custody dupes index
      custody dupes index --repo mirror.git --refs 'refs/pull/*/head'
      custody dupes index main..feature-1 main..feature-2
    """
    from custody.dupes.app.index import IndexRequest, dupes_index

    ranges_read = tuple(line.strip() for line in from_file or () if line.strip() and not line.startswith("#"))
    request = IndexRequest(
        refs=refs,
        ranges=ranges + ranges_read,
        commits=not no_commits,
        workers=workers,
        backend=backend,
        rebuild=anew,
        needs_match=bool(refs),
    )
    report = dupes_index(open_command_workspace(ctx, repo), request)
    return print_command_report(report, _render_index(report), as_json=as_json)


@dupes_command.command("check")
@click.argument("change", required=False, metavar="[BASE..HEAD]")
@click.option("--worktree", is_flag=True, help="Check the uncommitted changes in the work tree.")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=SUGGESTIONS_MAX, help="Show at most this many suggestions."
)
@click.option("-v", "--verbose", is_flag=True, help="Show the category, the rule that decided and the evidence ids.")
@repo_option
@json_option
@click.pass_context
def check_duplicates_command(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    change: str | None,
    *,
    worktree: bool,
    limit: int,
    verbose: bool,
    repo: Path | None,
    as_json: bool,
) -> int:
    """Check a change for duplicates among the indexed changes.

    A single commit is compared with its parent. Without an index, the command makes one first. The evidence of every
    suggestion is stored; 'custody dupes show' shows it again. Without a duplicate, the output says how many changes
    were compared and which one is nearest. Exit status 1 means that a duplicate was found.

    \b
    Examples:
      custody dupes check main..HEAD
      custody dupes check --worktree
      custody dupes check HEAD --json | jq '.suggestions[].evidence.category'
    """
    from custody.dupes.app.check import dupes_check

    report = dupes_check(open_command_workspace(ctx, repo), change, worktree=worktree, limit=limit, makes_index=True)
    return print_command_report(report, render_duplicates(report, current_screen(), verbose=verbose), as_json=as_json)


@dupes_command.command("show")
@click.argument("evidence", metavar="ID")
@repo_option
@json_option
@click.pass_context
def show_duplicate_evidence_command(ctx: click.Context, evidence: str, *, repo: Path | None, as_json: bool) -> int:
    """Show the evidence of a suggestion, and check it against the index.

    ID is the id of the evidence or the head commit of the checked change; its first digits are enough.

    \b
    Examples:
      custody dupes show 3fa81c
      custody dupes show 3fa81c --json | jq .evidence.overlap.places
    """
    from custody.dupes.app.show import dupes_show

    report = dupes_show(open_command_workspace(ctx, repo), evidence)
    return print_command_report(report, _render_stored_evidence(report, current_screen()), as_json=as_json)


@dupes_command.command("cluster")
@click.argument("changes", nargs=-1, metavar="[CHANGE]...")
@click.option("--all", "with_landed", is_flag=True, help="Include commits of the main branch, not only open changes.")
@repo_option
@json_option
@click.pass_context
def cluster_changes_command(
    ctx: click.Context, changes: tuple[str, ...], *, with_landed: bool, repo: Path | None, as_json: bool
) -> int:
    """Group indexed changes that duplicate each other.

    Each cluster shows which changes the others descend from, and which one to keep. CHANGE limits the output to the
    clusters of these changes: a ref, the number of a pull request, or the first digits of a head commit.

    \b
    Examples:
      custody dupes cluster
      custody dupes cluster '#1234' --json
    """
    from custody.dupes.app.cluster import dupes_cluster

    report = dupes_cluster(open_command_workspace(ctx, repo), changes, with_landed=with_landed)
    return print_command_report(report, _render_clusters(report), as_json=as_json)


@dupes_command.command("label")
@click.argument("change", metavar="CHANGE")
@click.argument("other", metavar="CHANGE")
@click.argument("answer", type=click.Choice(ANSWERS))
@click.option("--actor", help="Record the answer under this name (default: your user name).")
@click.option("--reason", help="Record why.")
@repo_option
@json_option
@click.pass_context
def label_duplicates_command(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    change: str,
    other: str,
    answer: str,
    *,
    actor: str | None,
    reason: str | None,
    repo: Path | None,
    as_json: bool,
) -> int:
    """Record whether two changes are duplicates.

    The answer is recorded permanently. With enough answers, custody calibrates the probabilities of this repository.

    \b
    Examples:
      custody dupes label '#12' '#34' duplicate
      custody dupes label 3fa81c 9b02ee different --reason "same file, other bug"
    """
    from custody.dupes.app.labels import dupes_label

    report = dupes_label(open_command_workspace(ctx, repo), change, other, answer, actor=actor, reason=reason)
    return print_command_report(report, _render_label(report), as_json=as_json)


def _render_index(report: DupesIndexReport) -> Iterator[str]:
    yield (
        f"Indexed {count_noun(report.indexed, 'change')}, {report.known:,} already indexed; {report.changes:,} in total"
    )
    if report.degraded:
        yield f"{count_noun(report.degraded, 'file')} compared by words only: cannot parse the syntax"
    if report.unread_count:
        yield f"{count_noun(report.unread_count, 'change')} could not be read:"
        for change in report.unread:
            yield f"  {change.head[:SHORT_DIGITS] or '-'}  {change.why}"


def render_duplicates(report: DupesCheckReport, screen: Screen, *, verbose: bool = False) -> Iterator[TextLine]:
    """Yield the outcome, each suggestion with its evidence, and how many changes were compared.

    ``verbose`` adds the category, the rule that decided and the id of the evidence.
    """
    suggestions = sorted(report.suggestions, key=lambda suggestion: VERDICT_ORDER.index(suggestion.evidence.says))
    for suggestion in suggestions:
        yield from _render_suggestion(suggestion.id, suggestion.evidence, screen, verbose=verbose)
        yield ""
    if not suggestions:
        mark = "✓" if screen.has_unicode else "ok"
        yield StyledText(f"{mark} no duplicate found", "ok")
        yield ""
    yield from report.notes
    candidates = f"{report.compared:,} of {count_noun(report.candidates, 'candidate')}"
    yield f"compared {candidates} among {count_noun(report.changes, 'indexed change')}"
    if not suggestions and report.nearest is not None:
        near = report.nearest.evidence
        yield f"nearest ({_format_percent(near.chance)}): {_name_change(near.other)}"
    if suggestions and not verbose:
        which = "the evidence" if len(suggestions) == 1 else "the evidence of the first"
        yield StyledText(f"hint: custody dupes show {suggestions[0].id[:SHORT_DIGITS]} shows {which}", "muted")


def _render_suggestion(id_: str, evidence: DupesEvidence, screen: Screen, *, verbose: bool) -> Iterator[TextLine]:
    yield from _render_verdict_title(evidence, screen)
    yield ""
    rows = [*_list_suggestion_rows(evidence), *(_list_internal_rows(id_, evidence) if verbose else ())]
    for label, text in rows:
        yield from _render_row(label, text, screen)


def _render_verdict_title(evidence: DupesEvidence, screen: Screen) -> Iterator[TextLine]:
    """Yield the verdict and the name of the other change; on a narrow screen in several lines."""
    look = VERDICT_LOOKS[evidence.says]
    percent = f"({_format_percent(evidence.chance)})"
    words, name = look.words.format(percent=percent, relation=_name_relation(evidence)), _name_change(evidence.other)
    after = f" {percent}" if look.words.startswith("!") else ""
    if not screen.is_terminal or text_columns(f"{words}{name}{after}") <= screen.columns:
        yield (StyledText(words, look.role), name, after)
        return
    lines = wrap_text(f"{words}{name}", screen.columns - WRAP_INDENT)
    if after and text_columns(lines[-1] + after) <= screen.columns - WRAP_INDENT:
        lines[-1] += after
    elif after:
        lines.append(after.strip())
    first, *rest = (screen.cut(line, screen.columns - WRAP_INDENT) for line in lines)
    start = words.rstrip()
    yield (StyledText(start, look.role), first.removeprefix(start)) if first.startswith(start) else first
    yield from (f"{' ' * WRAP_INDENT}{line}" for line in rest)


def _name_relation(evidence: DupesEvidence) -> str:
    """Return why two changes are not duplicates: the answer of a person, or their most important relation."""
    if evidence.answer is not None:
        return f"{evidence.answer.answer}, answered by {evidence.answer.actor}"
    return evidence.relations[0].relation if evidence.relations else "not a duplicate"


def _list_suggestion_rows(evidence: DupesEvidence) -> Iterator[tuple[str, str]]:
    """Yield where the changes are equal, what they share, and how they relate, each row with its label."""
    overlap = evidence.overlap
    if overlap is None:
        yield "same", f"similar by signature; cannot compare lines: {evidence.overlap_missing}"
    else:
        for place in overlap.places[:1]:
            removed = " (removed)" if place.sign == "-" else ""
            yield "here", f"{_format_place(place.path, place.line, place.lines)}{removed}"
            yield "there", f"{_format_place(place.other_path, place.other_line, place.lines)}{removed}"
        yield "same", "; ".join(_list_shared_facts(overlap))
    yield "status", f"{_name_status(evidence.other)}, last commit {evidence.other.opened[:DAY_LENGTH]}"
    if evidence.answer is not None:
        answer = evidence.answer
        dispute = ", an earlier answer disagrees" if answer.disputed else ""
        yield "answer", f"{answer.answer}, by {answer.actor} on {answer.at[:DAY_LENGTH]}{dispute}"
    for relation in evidence.relations:
        yield "relation", f"{relation.relation}: {relation.why}"


def _list_shared_facts(overlap: OverlapReport) -> Iterator[str]:
    facts = [("line", overlap.lines), ("file", overlap.files.count), ("test name", overlap.tests.count)]
    yield ", ".join(count_noun(count, noun) for noun, count in facts if count) or "no line"
    tests = {_squeeze_name(name) for name in overlap.tests.some}
    names = [name for name in overlap.symbols.some if _squeeze_name(name) not in tests]
    shown = names[:NAMES_SHOWN_MAX]
    more = overlap.symbols.count - (len(overlap.symbols.some) - len(names)) - len(shown)
    if shown:
        yield f"names {', '.join(shown)}{f' and {more:,} more' if more else ''}"


def _squeeze_name(name: str) -> str:
    """Return the letters and digits of a name: tests are stored as sentences, symbols as identifiers."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _list_internal_rows(id_: str, evidence: DupesEvidence) -> Iterator[tuple[str, str]]:
    yield "category", f"{evidence.category}: {evidence.rule}"
    yield "bound", f"probability at least {_format_percent(evidence.low)}"
    yield "evidence", id_[:SHORT_DIGITS]


def _render_row(label: str, text: str, screen: Screen) -> Iterator[TextLine]:
    """Yield a row with its label; a long text continues below itself, or below its label on a narrow screen."""
    start = f"  {label:<{LABEL_COLUMNS}}"
    if not screen.is_terminal:
        yield (StyledText(start, "muted"), text)
        return
    is_narrow = screen.columns < ROW_COLUMNS_MIN
    indent = " " * (NARROW_INDENT if is_narrow else len(start))
    lines = wrap_text(escape_controls(text), screen.columns - len(indent))
    if is_narrow:
        yield StyledText(start.rstrip(), "muted")
    for at, line in enumerate(lines):
        before = StyledText(start, "muted") if at == 0 and not is_narrow else indent
        yield (before, screen.cut(line, screen.columns - len(indent)))


def _render_stored_evidence(report: DupesShowReport, screen: Screen) -> Iterator[TextLine]:
    evidence = report.evidence
    yield f"{_format_change_ref(evidence.this)}"
    yield from _render_suggestion(report.id, evidence, screen, verbose=True)
    yield ""
    for name, value in evidence.signals.items():
        if value is not None:
            yield f"  {name:<22} {value:.2f}"
    missing = [name for name, value in evidence.signals.items() if value is None]
    if missing:
        yield f"  missing on at least one side: {', '.join(missing)}"
    yield f"  production score {evidence.prod_score:.2f}, final score {evidence.final_score:.2f}"
    terms = sorted(evidence.account, key=lambda term: -abs(term.weight * term.value))
    for term in terms[:TERMS_SHOWN_MAX]:
        yield f"  {term.weight * term.value:+.2f}  {term.name} ({term.weight:+.2f} x {term.value:.2f})"
    if evidence.overlap is not None:
        for place in evidence.overlap.places[:PLACES_SHOWN_MAX]:
            lines = f"{place.sign} {count_noun(place.lines, 'line')}"
            yield f"  {lines}: {place.path}:{place.line} and {place.other_path}:{place.other_line}"
    why = f" ({report.replay_why})" if report.replay_why else ""
    yield f"replay with the index as of change {evidence.as_of:,}: {report.replayed}{why}"


def _render_clusters(report: DupesClusterReport) -> Iterator[str]:
    for cluster in report.clusters:
        yield f"cluster {cluster.id[:SHORT_DIGITS]}: {len(cluster.members):,} changes; {cluster.canonical_why}"
        for member in cluster.members:
            marks = " base" * member.is_base + " keep" * member.is_canonical
            why = f" ({member.why})" if member.why else ""
            yield f"  {_format_change_ref(member.change)}{' -' if marks else ''}{marks}{why}"
    clusters, changes = count_noun(len(report.clusters), "cluster"), count_noun(report.changes, "change")
    yield f"{clusters} among {changes}, {count_noun(report.pairs, 'pair')} compared"


def _render_label(report: DupesLabelReport) -> Iterator[str]:
    yield f"recorded as {report.record}: {report.answer} (predicted probability {_format_percent(report.chance)})"
    if report.learnt:
        yield f"probabilities are calibrated by {count_noun(report.answers, 'answer')}"
    else:
        yield f"{report.answers} of {report.needed} answers needed to calibrate probabilities"


def _name_status(change: ChangeRefReport) -> str:
    if change.on_main:
        return "already on main"
    if change.merged:
        return f"merged as {change.merged[:NAME_DIGITS]}"
    return change.state if change.state == "closed" else "not on main"


def _format_change_ref(change: ChangeRefReport) -> str:
    name = f" {change.name}" if change.name else ""
    on_main = ", on main" if change.on_main else f", {change.state}" if change.state in ("merged", "closed") else ""
    return f"{change.head[:SHORT_DIGITS]}{name} '{change.title}' ({change.opened[:DAY_LENGTH]}{on_main})"


def _name_change(change: ChangeRefReport) -> str:
    """Return a change as people name it: ``#12``, a branch, or the first digits of its head; and its title."""
    number = PULL_REQUEST.fullmatch(change.name)
    branch = BRANCH.fullmatch(change.name)
    name = f"#{number[1]}" if number else branch[1] if branch else change.head[:NAME_DIGITS]
    return f"{name} '{change.title}'"


def _format_place(path: str, line: int, lines: int) -> str:
    return f"{path}:{line}" if lines == 1 else f"{path}:{line}-{line + lines - 1}"


def _format_percent(share: float) -> str:
    return f"{100 * share:.0f} %"
