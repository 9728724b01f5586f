"""The verb ``review``: what to read in a change, in which order.

May touch the terminal. Calls use cases and renders their reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, BinaryIO

import click

from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.gate.cli import (
    DESCRIPTION_BYTES_MAX,
    RISK_ROLES,
    SHA_DIGITS,
    VERDICT_LOOKS,
    ReadingRow,
    name_change,
    render_reading_rows,
)
from custody.review.app.words import (
    STATEMENT_WORDS,
    describe_authors,
    describe_calls,
    describe_duplicates,
    describe_prompt,
    describe_readers,
    describe_sources,
    describe_tests,
    list_doubted_statements,
    name_hunk_place,
    name_statement_place,
)
from custody.terminal.frame import current_screen, json_option, open_command_workspace, print_command_report
from custody.terminal.screen import (
    Role,
    Screen,
    StyledText,
    TextLine,
    escape_controls,
    text_columns,
    wrap_text,
)

if TYPE_CHECKING:
    from custody.review.wire import HunkReport, ReviewReport

CARDS_SHOWN_MAX = 5
"""Cards on a terminal without ``-v``; the list shows every hunk."""
LISTED_MAX = 20
LABEL_COLUMNS = 11
ROW_LINES_MAX = 4
"""Lines of one fact on a terminal."""
INDENT = "  "
STATEMENTS_SHOWN_MAX = 5
STATEMENT_ROLES: Mapping[str, Role] = MappingProxyType(
    {"contradicted": "bad", "unbacked": "warn", "unknown": "unknown", "backed": "ok"}
)
TEST_ROLES: Mapping[str, Role] = MappingProxyType(
    {"after-edit": "ok", "stale": "bad", "failed": "bad", "none": "warn", "unknown": "unknown"}
)


@click.command("review")
@click.argument("change", metavar="[BASE..HEAD]", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "annotations", "code-quality"]),
    help="Output for a pull request, a build log, or GitLab's code quality report.",
)
@click.option(
    "--description",
    type=click.File("rb"),
    metavar="FILE",
    help="Also check this description (- for stdin).",
)
@click.option("--from", "source", type=click.File("rb"), metavar="FILE", help="Show the JSON of an earlier review.")
@click.option("--no-prompts", is_flag=True, help="Leave out prompts that the base branch does not publish.")
@click.option("-v", "--verbose", is_flag=True, help="Show the card of every hunk.")
@click.option("--open", "is_open", is_flag=True, help="Serve the pages, and open that of the change in the browser.")
@json_option
@click.pass_context
def review_command(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    change: str | None,
    form: str | None,
    description: BinaryIO | None,
    source: BinaryIO | None,
    *,
    no_prompts: bool,
    verbose: bool,
    is_open: bool,
    as_json: bool,
) -> int:
    """Show what to read in a change, the riskiest first.

    Each hunk has its reasons, its authors, the prompt, the calls that wrote it, the sources read before, and its tests.
    A reason is a rule that fired on records, paths or the diff. The verdict is that of 'custody gate'; nothing is
    reserved. Without an argument, the uncommitted changes are reviewed.

    \b
    Examples:
      custody review main..HEAD
      custody review
      custody review origin/main --format markdown > review.md
      custody review main..HEAD --json
      custody review main..HEAD --open
    """
    if is_open:
        if change is None or form is not None or source is not None or description is not None:
            raise InputError("--open takes BASE..HEAD and nothing else", hint="'custody review main..HEAD --open'")
        return _open_review_page(ctx, change, as_json=as_json)
    from custody.review.app.review import ReviewRequest, review_change

    if form is not None and as_json:
        raise InputError("--format and --json are mutually exclusive", hint="pass one of them")
    if source is not None and (change is not None or description is not None):
        raise InputError("--from takes neither a change nor a description", hint="the file names its change")
    if source is not None:
        from custody.review.app.artifact import ARTIFACT_BYTES_MAX, decode_review

        report, screen = decode_review(source.read(ARTIFACT_BYTES_MAX + 1)), current_screen()
        change = f"{report.fork[:SHA_DIGITS]}..{report.head[:SHA_DIGITS]}"
    else:
        workspace = open_command_workspace(ctx)
        text = None if description is None else description.read(DESCRIPTION_BYTES_MAX)
        request = ReviewRequest(change=change, description=text, with_prompts=not no_prompts)
        report, screen = review_change(workspace, request), current_screen(workspace)
    if form is not None:
        from custody.review.app.forms import REVIEW_FORMS

        click.echo(REVIEW_FORMS[form](report), nl=False)
        return 0
    lines = render_review(report, screen, name_change(change), verbose=verbose)
    print_command_report(report, lines, as_json=as_json)
    return 0


def _open_review_page(ctx: click.Context, change: str, *, as_json: bool) -> int:
    """Run 'custody serve' on a free port, and open the page of the change; return its exit status."""
    from custody.workspace.change import resolve_change_range

    found = resolve_change_range(open_command_workspace(ctx).repository, change)
    root = ctx.find_root()
    assert isinstance(root.command, click.Group), "the program is a group of verbs"
    serve = root.command.get_command(root, "serve")
    assert serve is not None, "'custody serve' is a verb"
    status: int = ctx.invoke(serve, port=0, page=f"/changes/{found.base}..{found.head}", as_json=as_json)
    return status


def render_review(report: ReviewReport, screen: Screen, change: str, *, verbose: bool = False) -> Iterator[TextLine]:
    """Yield the verdict, the reading order, and the cards of the first hunks; with ``verbose`` of all."""
    yield from _render_title(report, screen, change)
    yield ""
    yield from _wrap(report.summary, screen)
    yield from _render_statements(report, screen, verbose=verbose)
    if not report.hunks:
        return
    yield ""
    yield StyledText("Read these first", "strong")
    listed = report.hunks if verbose else report.hunks[:LISTED_MAX]
    yield from render_reading_rows([_make_reading_row(hunk) for hunk in listed], screen)
    if len(listed) < len(report.hunks):
        yield StyledText(f"  {count_noun(len(report.hunks) - len(listed), 'more hunk')} (-v lists them)", "muted")
    if report.more is not None:
        yield StyledText(f"  {count_noun(report.more.hunks, 'more hunk')} in {count_noun(report.more.files, 'file')}")
    shown = [hunk for hunk in report.hunks if hunk.has_card][: None if verbose else CARDS_SHOWN_MAX]
    for hunk in shown:
        yield ""
        yield from _render_card(hunk, screen)
    yield ""
    yield from _render_basis(report, screen)
    if not verbose and len(report.hunks) > len(shown):
        argument = "" if report.worktree else f" {change}"
        yield ""
        yield StyledText(f"hint: custody review{argument} -v shows the card of every hunk", "muted")


def _render_title(report: ReviewReport, screen: Screen, change: str) -> Iterator[TextLine]:
    from custody.gate.wire.report import count_added_lines, render_assurance_note

    if report.fork == report.head or not report.files:
        yield (StyledText("NOTHING TO REVIEW", "muted"), f"  {change}")
        return
    look = VERDICT_LOOKS[report.verdict]
    mark = look.mark if screen.has_unicode else look.plain_mark
    verdict = f"{mark} {look.words}{render_assurance_note(report.verdict, report.assurance)}"
    added = count_added_lines(report.added)
    size = [f"+{added:,}"] if added else []
    size += [f"-{report.removed_lines:,}"] if report.removed_lines else []
    about = f"  {change}  {' '.join([*size, 'in', count_noun(report.files, 'file')])}"
    if screen.is_terminal and text_columns(verdict + about) > screen.columns:
        yield StyledText(verdict, look.role)
        yield about
    else:
        yield (StyledText(verdict, look.role), about)


def _render_statements(report: ReviewReport, screen: Screen, *, verbose: bool) -> Iterator[TextLine]:
    """Yield the statements that records contradict or do not back, with both texts; with ``verbose`` all."""
    statements = report.statements if verbose else list_doubted_statements(report)
    if not statements:
        return
    yield ""
    yield StyledText("What the texts say, and the records", "strong")
    for statement in statements[: None if verbose else STATEMENTS_SHOWN_MAX]:
        said = f"“{statement.text}” ({name_statement_place(statement)})"
        yield from _render_row("says", said, None, screen)
        record = f"{STATEMENT_WORDS[statement.state]}: {statement.record}"
        yield from _render_row("records", record, STATEMENT_ROLES[statement.state], screen)
    if not verbose and len(statements) > STATEMENTS_SHOWN_MAX:
        rest = count_noun(len(statements) - STATEMENTS_SHOWN_MAX, "more statement")
        yield StyledText(f"  {rest} (-v lists them)", "muted")


def _make_reading_row(hunk: HunkReport) -> ReadingRow:
    factors = hunk.risk.factors
    return ReadingRow(
        level=hunk.risk.level,
        path=hunk.path,
        place=name_hunk_place(hunk),
        words=[factor.words for factor in factors],
        codes=[factor.code for factor in factors],
    )


def _render_card(hunk: HunkReport, screen: Screen) -> Iterator[TextLine]:
    size = " ".join(part for part in (f"+{hunk.added:,}" * bool(hunk.added), f"-{hunk.removed:,}" * bool(hunk.removed)))
    yield (
        StyledText(hunk.risk.level.upper(), RISK_ROLES[hunk.risk.level]),
        "  ",
        StyledText(screen.cut_start(name_hunk_place(hunk), max(screen.columns - 20, 12)), "strong"),
        f"  {size.strip()}",
    )
    rows = [
        ("risk", " · ".join(factor.words for factor in hunk.risk.factors) or "no reason", None),
        ("author", describe_authors(hunk), _find_author_role(hunk)),
        ("prompt", describe_prompt(hunk.prompt), None if hunk.prompt.state == "shown" else "unknown"),
        ("edited", describe_calls(hunk), None),
        ("read", describe_sources(hunk), None),
        ("tested", describe_tests(hunk), TEST_ROLES[hunk.tests.state]),
        ("certainty", hunk.certainty, None),
        ("duplicate", describe_duplicates(hunk), None),
        ("read by", describe_readers(hunk), None),
    ]
    for label, text, role in rows:
        if text:
            yield from _render_row(label, text, role, screen)
    if hunk.links.why is not None:
        yield from _render_row("why", hunk.links.why, "muted", screen)


def _render_row(label: str, text: str, role: Role | None, screen: Screen) -> Iterator[TextLine]:
    room = screen.columns - LABEL_COLUMNS - len(INDENT)
    lines = wrap_text(escape_controls(text), room) if screen.is_terminal else [text]
    for at, line in enumerate(lines[:ROW_LINES_MAX]):
        end = "…" if at + 1 == ROW_LINES_MAX < len(lines) else ""
        shown = screen.cut(f"{line}{end}", room)
        yield (f"{INDENT}{label if at == 0 else '':<{LABEL_COLUMNS}}", StyledText(shown, role))


def _find_author_role(hunk: HunkReport) -> Role | None:
    kinds: Mapping[str, Role] = {"agent": "agent", "mixed": "agent", "person": "person", "none": "unknown"}
    return kinds[hunk.authors[0].kind] if hunk.authors else "unknown"


def _render_basis(report: ReviewReport, screen: Screen) -> Iterator[TextLine]:
    from custody.gate.wire.report import count_added_lines, render_added_lines, render_skipped_check

    yield render_added_lines(report.added) if count_added_lines(report.added) else "no lines added"
    if report.tested is not None:
        tested = report.tested
        yield f"{tested.tested:,} of {count_noun(tested.lines, 'agent line')} were tested after their last edit"
    if report.skipped:
        yield from _wrap(f"skipped: {', '.join(map(render_skipped_check, report.skipped))}", screen)
    yield from report.notes


def _wrap(text: str, screen: Screen) -> list[str]:
    return wrap_text(text, screen.columns) if screen.is_terminal else [text]
