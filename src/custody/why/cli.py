"""The command ``why``: arguments in, the chain as a tree or as SVG out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import click
from msgspec import Struct

from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.terminal.dates import format_time, format_when
from custody.terminal.frame import (
    choose_revision,
    contents_option,
    current_screen,
    json_option,
    open_command_workspace,
    print_command_report,
    rev_option,
    revision_argument,
    use_contents,
)
from custody.terminal.screen import (
    WIDE_COLUMNS_MIN,
    Piece,
    Role,
    Screen,
    StyledText,
    TextLine,
    escape_controls,
    text_columns,
    wrap_text,
)

if TYPE_CHECKING:
    from custody.attribution.wire import Attribution, LastChange
    from custody.why.report import (
        AnyLink,
        CallLink,
        ChainCommit,
        ChainLink,
        ChangeLink,
        EndLink,
        LineLink,
        SessionLink,
        SourceLine,
        SourcesLink,
        StandingLink,
        TestsLink,
        WhyReport,
    )


# The chain as SVG that loads and runs nothing: one box per link, from top to bottom.


WIDTH, LINE_HEIGHT, PADDING, BETWEEN = 760, 18, 12, 26
LINE_CHARACTERS_MAX = 96
LINES_MAX = 14
_COLORS = {
    "line": "#1f6feb",
    "commit": "#8250df",
    "call": "#1a7f37",
    "subagent": "#1a7f37",
    "prompt": "#9a6700",
    "sources": "#0a7ea4",
    "tests": "#1a7f37",
    "session": "#57606a",
    "standing": "#57606a",
    "change": "#8250df",
    "end": "#cf222e",
}
_STYLE = (
    "text{font:13px ui-monospace,monospace;fill:#1f2328}.b{fill:#fff;stroke:#d0d7de}.k{fill:#57606a;font-size:11px}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.b{fill:#161b22;stroke:#30363d}.k{fill:#9198a1}}"
)


class Box(Struct, frozen=True):
    """One box: the kind of its link, and its text."""

    kind: str
    lines: Sequence[str]


def render_why_svg(boxes: Sequence[Box]) -> str:
    """Return the boxes from top to bottom, with an arrow from each to the next; equal boxes give equal bytes."""
    elements: list[str] = []
    top = PADDING
    for index, box in enumerate(boxes):
        lines = [_fit_why_box_line(line) for line in box.lines[:LINES_MAX]]
        if len(box.lines) > LINES_MAX:
            lines.append(f"… {len(box.lines) - LINES_MAX} more")
        height = 2 * PADDING + LINE_HEIGHT * (len(lines) + 1)
        elements.extend(_draw_why_box(box.kind, lines, top, height))
        top += height
        if index < len(boxes) - 1:
            elements.append(f'<path d="M{WIDTH // 2} {top}v{BETWEEN - 6}" stroke="#8c959f" marker-end="url(#a)"/>')
            top += BETWEEN
    return "".join((*_render_why_svg_header(top + PADDING, boxes), *elements, "</svg>\n"))


def _render_why_svg_header(height: int, boxes: Sequence[Box]) -> Iterator[str]:
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    from html import escape  # only a picture needs it

    title = _fit_why_box_line(boxes[0].lines[0]) if boxes and boxes[0].lines else "nothing"
    yield f' role="img"><title>{escape(title)}</title><style>{_STYLE}</style>'
    yield '<defs><marker id="a" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    yield '<path d="M0 0L8 4L0 8z" fill="#8c959f"/></marker></defs>'


def _draw_why_box(kind: str, lines: Sequence[str], top: int, height: int) -> Iterator[str]:
    from html import escape

    left, inner = PADDING, 2 * PADDING + 4
    yield f'<rect class="b" x="{left}" y="{top}" width="{WIDTH - 2 * left}" height="{height}" rx="6"/>'
    yield f'<rect x="{left}" y="{top}" width="5" height="{height}" rx="2" fill="{_COLORS.get(kind, "#57606a")}"/>'
    yield f'<text class="k" x="{inner}" y="{top + PADDING + 9}">{escape(kind)}</text>'
    for row, line in enumerate(lines, 1):
        y = top + PADDING + 9 + LINE_HEIGHT * row
        yield f'<text x="{inner}" y="{y}" xml:space="preserve">{escape(line)}</text>'


def _fit_why_box_line(line: str) -> str:
    """Return the line without unprintable characters, cut to the width of a box."""
    plain = "".join(character if character.isprintable() else " " for character in line)
    return plain if len(plain) <= LINE_CHARACTERS_MAX else f"{plain[: LINE_CHARACTERS_MAX - 1]}…"


SUBJECT_WIDTH = 72
PROMPT_WIDTH = 200
COMMIT_DIGITS = 12
ROW_INDENT = 14
PROMPT_LINES_MAX = 12
"""Lines of a prompt shown on a terminal; elsewhere all are."""
UNKNOWN_AUTHOR = "unknown author (no evidence either way)"
READ_WORDS = frozenset(("verbatim", "excerpt", "summarised"))
"""Readings that gave the agent at least a part of the text."""
CERTAINTY_ROLES: Mapping[str, Role] = MappingProxyType(
    {"certain": "ok", "strong": "ok", "weak": "warn", "unknown": "unknown"}
)
_LOCATION = lazy_pattern(r"(.+):([1-9]\d{0,8})", re.DOTALL | re.ASCII)


@click.command("why")
@click.argument("location", metavar="FILE:LINE")
@revision_argument
@rev_option
@click.option("-v", "--verbose", is_flag=True, help="Also show the whole chain, with signals and records.")
@contents_option
@click.option("--svg", is_flag=True, help="Print the chain as an SVG image.")
@json_option
@click.pass_context
def why_command(  # noqa: PLR0913 - one for each argument and option
    ctx: click.Context,
    location: str,
    revision: str | None,
    *,
    rev: str | None,
    contents: str | None,
    verbose: bool,
    svg: bool,
    as_json: bool,
) -> int:
    """Show why a line exists: who wrote it, and for which prompt.

    Without REV, looks at the file on disk. Shows the prompt, the sources read before it, the tool call, the commit, the
    agent's trust and duplicates of the change, and how certain that is. -v adds the whole chain, and says whether it is
    complete.

    \b
    Examples:
      custody why src/app.py:12
      custody why src/app.py:12 HEAD~3 --json
      custody why src/app.py:12 --svg > why.svg
    """
    from custody.ledger.sessions import shorten_session_ids
    from custody.why.report import SessionLink
    from custody.why.why import why

    match = _LOCATION.fullmatch(location)
    if match is None:
        raise InputError(f"invalid location '{location}'", hint="pass a file and a line, such as src/app.py:12")
    if svg and as_json:
        raise InputError("--svg and --json are mutually exclusive", hint="pass one of them")
    workspace = open_command_workspace(ctx)
    if contents is not None:
        workspace = use_contents(workspace, match[1], contents, choose_revision(revision, rev))
    report = why(workspace, match[1], int(match[2]), revision=choose_revision(revision, rev))
    if svg:
        click.echo(
            render_why_svg(
                [Box(_get_chain_link_kind(link), _render_chain_link(link, verbose=False)) for link in report.chain]
            ),
            nl=False,
        )
        return 0
    ids = {} if as_json else shorten_session_ids(workspace, [link.session for link in _links(report, SessionLink)])
    lines = render_why(report, ids, current_screen(workspace), workspace.now_ns(), verbose=verbose)
    return print_command_report(report, lines, as_json=as_json)


L = TypeVar("L", bound="ChainLink")


def _links(report: WhyReport, kind: type[L]) -> list[L]:
    return [link for link in report.chain if isinstance(link, kind)]


def render_why(
    report: WhyReport, ids: Mapping[str, str], screen: Screen, now_ns: int, *, verbose: bool
) -> Iterator[TextLine]:
    """Yield the line, the prompt behind it, what is known of its way, and how certain that is.

    ``ids`` are the short ids of sessions. With ``verbose`` the whole chain follows.
    """
    from custody.why.report import LineLink

    (line,) = _links(report, LineLink)
    yield screen.link_file(f"{line.path}:{line.line}", line.path, "strong")
    yield f"    {screen.cut(escape_controls(line.text.strip()), screen.columns - 4)}"
    yield ""
    yield from _render_why_author(report, line.attribution, screen, now_ns)
    rows = list(_list_why_rows(report, screen, now_ns))
    if rows:
        yield ""
    for label, text in rows:
        cut = screen.cut(escape_controls(text), screen.columns - ROW_INDENT)
        yield ("  ", StyledText(f"{label:<{ROW_INDENT - 2}}", "muted"), cut)
    yield ""
    yield from _render_why_certainty(report, line.attribution, screen)
    yield from (f"note: {note}" for note in report.notes)
    if verbose:
        yield ""
        yield from _render_why_tree(report)
    yield StyledText(screen.cut(_choose_why_hint(report, ids, verbose=verbose), screen.columns), "muted")


def _render_why_author(report: WhyReport, attribution: Attribution, screen: Screen, now_ns: int) -> Iterator[TextLine]:
    """Yield one sentence about who wrote the line, and the prompt in quotes."""
    from custody.why.report import EndLink, PromptLink, SessionLink
    from custody.why.why import WHOLE

    if attribution.kind == "none":
        yield StyledText(UNKNOWN_AUTHOR, "unknown")
        return
    author = _format_why_author(report, attribution, now_ns)
    prompt = next((link for link in _links(report, PromptLink) if link.text is not None), None)
    if prompt is None:
        gaps = "; ".join(link.why for link in _links(report, EndLink) if link.why != WHOLE)
        yield from _wrap_why_sentence((*author, f"; {gaps}." if gaps else "."), screen)
        return
    operator = next((link.operator for link in _links(report, SessionLink)), None)
    reason: tuple[Piece, ...] = (" for this prompt:",)
    if operator is not None:
        reason = (" because ", StyledText(operator, "person"), " asked:")
    yield from _wrap_why_sentence((*author, *reason), screen)
    yield ""
    yield from _quote_why_prompt(prompt.text or "", screen)


def _format_why_author(report: WhyReport, attribution: Attribution, now_ns: int) -> tuple[Piece, ...]:
    from custody.why.report import CallLink

    agent = StyledText(_get_agent_title(attribution.agent or "an agent"), "agent")
    call = next(iter(_links(report, CallLink)), None)
    when = "" if call is None else f" {_format_day(call.started, now_ns)}"
    if attribution.kind == "person" and attribution.agent is None:
        person = attribution.said_by[0].person if attribution.said_by else "A person"
        return (StyledText(person, "person"), " says that they wrote this line (self-reported)")
    if attribution.kind == "person":
        return (StyledText("A person", "person"), " changed this line, which ", agent, f" wrote{when}")
    part = "this line" if attribution.kind == "agent" else f"{attribution.share:.0%} of this line"
    return (agent, f" wrote {part}{when}")


def _get_agent_title(agent: str) -> str:
    from custody.core.agent_titles import get_agent_title

    return get_agent_title(agent).partition(" (")[0]


def _format_day(at: str, now_ns: int) -> str:
    """Return ``5 minutes ago``, or ``on`` and the date."""
    when = format_when(at, now_ns)
    return when if when.endswith((" ago", "just now")) else f"on {when}"


def _wrap_why_sentence(pieces: Sequence[Piece], screen: Screen) -> Iterator[TextLine]:
    """Yield the pieces as one line; where they do not fit in several, styled only at the start."""
    text = escape_controls("".join(piece if isinstance(piece, str) else piece.text for piece in pieces))
    if not screen.is_terminal or text_columns(text) <= screen.columns:
        yield pieces
        return
    first, *rest = (screen.cut(line, screen.columns) for line in wrap_text(text, screen.columns))
    start = pieces[0]
    if isinstance(start, StyledText) and first.startswith(start.text):
        yield (start, first.removeprefix(start.text))
    else:
        yield first
    yield from rest


def _quote_why_prompt(prompt: str, screen: Screen) -> Iterator[TextLine]:
    opening, closing = ("“", "”") if screen.has_unicode else ('"', '"')
    width = min(screen.columns, WIDE_COLUMNS_MIN) - 4
    lines = wrap_text(f"{opening}{escape_controls(' '.join(prompt.split()))}{closing}", width)
    if screen.is_terminal and len(lines) > PROMPT_LINES_MAX:
        mark = "…" if screen.has_unicode else "..."
        lines = [*lines[: PROMPT_LINES_MAX - 1], f"{lines[PROMPT_LINES_MAX - 1][: width - 4]}{mark}{closing}"]
    yield from (f"  {screen.cut(line, screen.columns - 2)}" for line in lines)


def _list_why_rows(report: WhyReport, screen: Screen, now_ns: int) -> Iterator[tuple[str, str]]:
    """Yield the known steps in the history of the line, each row with its label."""
    from custody.attribution.cli import describe_last_change
    from custody.runs.cli import describe_tests
    from custody.why.report import CallLink, ChainCommit, ChangeLink, LineLink, SourcesLink, StandingLink, TestsLink

    for sources in _links(report, SourcesLink):
        read = _join_why_sources(sources, screen)
        if read:
            yield "read", read
    calls = _links(report, CallLink)
    if calls:
        yield "wrote", ", ".join(_list_why_call_facts(report, calls[0]))
    for link in _links(report, TestsLink):
        if link.tests.state == "none":
            continue  # these rows are the known steps; -v says that no test run was recorded
        mark = "✓ " if link.tests.state == "after-edit" and screen.has_unicode else ""
        yield "tested", mark + describe_tests(link.tests)
    for line in _links(report, LineLink):
        yield from (("removed", text) for text in map(describe_last_change, line.attribution.last_changes) if text)
    commits = _links(report, ChainCommit)
    if commits:
        yield "committed", _describe_why_commits(commits, screen, now_ns)
    for score in _links(report, StandingLink):
        yield "trust", _render_why_score(score).replace(": trust ", " ", 1)
    for change in _links(report, ChangeLink):
        yield from zip(chain(("duplicates",), repeat("")), _list_why_duplicates(change), strict=False)


def _join_why_sources(link: SourcesLink, screen: Screen) -> str:
    """Return the sources that were read, as many as fit, and the number of the others."""
    names = [source.locator for source in link.sources if source.reading in READ_WORDS]
    for count in range(len(names), 0, -1):
        others = len(names) - count + link.more
        text = ", ".join((*names[:count], *([f"{others:,} more"] if others else ())))
        if not screen.is_terminal or text_columns(escape_controls(text)) <= screen.columns - ROW_INDENT:
            return text
    return names[0] if names else ""


def _list_why_call_facts(report: WhyReport, call: CallLink) -> Iterator[str]:
    from custody.why.report import SessionLink, SubagentLink

    yield f"{call.name or 'unnamed call'} at {format_time(call.started)}"
    if call.status != "ok":
        yield call.status
    model = next((link.model for link in _links(report, SessionLink)), None) or call.model
    if model is not None:
        yield model
    yield from (f"in subagent {subagent.id}" for subagent in _links(report, SubagentLink)[:1])


def _describe_why_commits(commits: Sequence[ChainCommit], screen: Screen, now_ns: int) -> str:
    """Return the commit that added the line, and how many changed or moved it later."""
    from custody.attribution.cli import SHA_DIGITS

    committed = [commit for commit in commits if commit.commit is not None]
    if not committed:
        return "not yet"
    first = committed[-1]
    text = f"{(first.commit or '')[:SHA_DIGITS]} {' '.join((first.subject or '').split())}".rstrip()
    if first.author is not None:
        text += f", by {first.author}"
    if first.at is not None and screen.is_wide:
        text += f" {_format_day(first.at, now_ns)}"
    later = [count_noun(len(committed) - 1, "later commit")] if len(committed) > 1 else []
    later += ["uncommitted changes"] if len(committed) < len(commits) else []
    return f"{text}; {', '.join(later)}" if later else text


def _list_why_duplicates(link: ChangeLink) -> Iterator[str]:
    from custody.attribution.cli import SHA_DIGITS

    if link.likes is None:
        yield f"not checked (run custody dupes check {link.head[:COMMIT_DIGITS]})"
        return
    for similar in link.likes:
        yield f"{similar.head[:SHA_DIGITS]} {' '.join(similar.title.split())}: {similar.says}"


def _render_why_certainty(report: WhyReport, attribution: Attribution, screen: Screen) -> Iterator[TextLine]:
    from custody.why.report import EndLink, PromptLink
    from custody.why.why import WHOLE

    gaps = "; ".join(link.why for link in _links(report, EndLink) if link.why != WHOLE)
    reason = gaps if attribution.kind == "none" else ", ".join(_list_certainty_reasons(report, attribution))
    word = StyledText(attribution.certainty.capitalize(), CERTAINTY_ROLES.get(attribution.certainty))
    yield from _wrap_why_sentence((word, f": {reason}."), screen)
    if gaps and attribution.kind != "none" and _links(report, PromptLink):
        yield from _wrap_why_sentence((f"Incomplete: {gaps}.",), screen)


def _list_certainty_reasons(report: WhyReport, attribution: Attribution) -> Iterator[str]:
    """Yield how the line was recorded, and the strongest signals."""
    from custody.why.certainty import list_certainty_reasons
    from custody.why.report import PromptLink

    if attribution.kind == "person" and attribution.agent is None:
        yield "only the person's own statement says so"
        return
    if attribution.kind == "person":
        yield f"a person changed what {attribution.agent or 'an agent'} had written"
    points = {signal.name: signal.points for signal in attribution.evidence}
    is_named = "named_by_commit" in attribution.signals
    yield from list_certainty_reasons(points, attribution.grade, is_named_by_commit=is_named)
    if any(not prompt.named for prompt in _links(report, PromptLink)):
        yield "the prompt is the last one before the call"


def _choose_why_hint(report: WhyReport, ids: Mapping[str, str], *, verbose: bool) -> str:
    from custody.why.report import SessionLink

    session = next((link.session for link in _links(report, SessionLink) if link.started is not None), None)
    if session is None:
        second = "custody import adds past sessions of agents"
    else:
        second = f"custody log {ids.get(session, session)} shows the session"
    return f"hint: {second}" if verbose else f"hint: -v shows all evidence; {second}"


def _get_chain_link_kind(link: AnyLink) -> str:
    return str(link.__struct_config__.tag)


def _render_why_tree(report: WhyReport) -> Iterator[str]:
    """Yield the chain as a trunk with one branch per link; the last branch shows where it ends."""
    from custody.why.report import LineLink

    for link in report.chain:
        first, *more = _render_chain_link(link, verbose=True)
        if isinstance(link, LineLink):
            yield first
            yield from (f"|  {line}" for line in more)
            continue
        yield f"{'`-' if link is report.chain[-1] else '|-'} {first}"
        bar = " " if link is report.chain[-1] else "|"
        yield from (f"{bar}  {line}" for line in (*more, *_render_link_records(link)))


def _render_link_records(link: AnyLink) -> Iterator[str]:
    yield from (f"  record {record}" for record in link.records)


def _render_chain_link(link: AnyLink, *, verbose: bool) -> list[str]:
    """Return a link as text; its first line goes beside the branch."""
    from custody.why.report import CallLink, ChainCommit, LineLink, PromptLink, SubagentLink

    match link:
        case LineLink():
            return [*_render_why_line(link), *_render_why_signals(link.attribution, verbose=verbose)]
        case ChainCommit(commit=None):
            return ["not committed"]
        case ChainCommit():
            who = (
                (link.commit or "")[:COMMIT_DIGITS],
                "unknown date" if link.at is None else link.at[:10],
                link.author or "unknown",
            )
            return [f"commit {'  '.join(who)}  {_shorten_why_text(link.subject, SUBJECT_WIDTH)}".rstrip()]
        case CallLink():
            return [f"call {link.name or 'unnamed'} ({link.id}), {link.status}, {_format_call_link_time(link)}"]
        case SubagentLink():
            return [f"inside subagent {link.id}"]
        case PromptLink():
            note = "" if link.named else ", the last captured before the call"
            return [
                f"prompt, {_format_why_timestamp(link.at)}{note}",
                f"  > {_shorten_why_text(link.text, PROMPT_WIDTH)}",
            ]
        case _:
            return list(_render_chain_context_link(link))


def _render_chain_context_link(
    link: SourcesLink | TestsLink | SessionLink | StandingLink | ChangeLink | EndLink,
) -> Iterator[str]:
    """Yield the text of a link beside the line's own path."""
    from custody.runs.cli import describe_tests
    from custody.why.report import ChangeLink, EndLink, SessionLink, SourcesLink, StandingLink, TestsLink
    from custody.why.why import WHOLE

    match link:
        case TestsLink():
            yield f"tests: {describe_tests(link.tests)}"
        case SourcesLink():
            yield from _render_why_sources(link)
        case SessionLink():
            since = "" if link.started is None else f", since {_format_why_timestamp(link.started)}"
            by = "" if link.operator is None else f", run by {link.operator}"
            yield f"session {link.session} of {link.agent}, {link.model or 'model unknown'}{by}{since}"
        case StandingLink():
            yield _render_why_score(link)
        case ChangeLink():
            yield from _render_why_change(link)
        case EndLink():
            yield link.why if link.why == WHOLE else f"incomplete: {link.why}"


def _render_why_score(link: StandingLink) -> str:
    if link.score is None:
        return f"{link.agent}: no reviews yet"
    return f"{link.agent}: trust {link.score:.2f} ({link.tier}), {count_noun(link.decisions, 'review')}"


def _render_why_change(link: ChangeLink) -> Iterator[str]:
    name = f"change {link.head[:COMMIT_DIGITS]}"
    if link.likes is None:
        yield f"{name}: not checked for duplicates (run `custody dupes check {link.head[:COMMIT_DIGITS]}`)"
        return
    yield f"{name} is similar to"
    for similar in link.likes:
        relation = ", ".join((similar.says, *similar.relations))
        yield f"  {similar.head[:COMMIT_DIGITS]}  {relation}  {_shorten_why_text(similar.title, SUBJECT_WIDTH)}"


def _render_why_sources(link: SourcesLink) -> Iterator[str]:
    if not link.sources:
        yield "no captured sources before it"
        return
    yield "sources read before it, latest first"
    yield from map(_render_why_source, link.sources)
    if link.more:
        yield f"  and {link.more:,} earlier"


def _render_why_source(line: SourceLine) -> str:
    name = "" if line.id is None else f"{line.id} "
    title = "" if not line.title else f"  {_shorten_why_text(line.title, SUBJECT_WIDTH)}"
    return f"  {name}{line.locator}  {line.reading}, {_format_why_timestamp(line.at)}{title}"


def _render_why_line(link: LineLink) -> Iterator[str]:
    from custody.attribution.cli import MARKS

    attribution = link.attribution
    mark = MARKS[attribution.kind] + ("" if attribution.tier is None else str(attribution.tier))
    yield f"{link.path}:{link.line}  {mark}  {link.text.strip()}".rstrip()
    if attribution.kind == "none":
        yield UNKNOWN_AUTHOR
        return
    from custody.attribution.cli import describe_author_statements

    yield from describe_author_statements(attribution)
    if attribution.kind == "person" and attribution.agent is None:
        return
    if attribution.kind == "person":
        yield f"person, who changed what {attribution.agent} had written"
        return
    author = "agent" if attribution.kind == "agent" else f"agent, {attribution.share:.0%} of the line"
    certainty = (
        ""
        if attribution.tier is None
        else f": {attribution.certainty} (tier {attribution.tier}, {attribution.confidence:.2f}), {attribution.grade}"
    )
    yield f"{author}{certainty}"


def _render_why_signals(attribution: Attribution, *, verbose: bool) -> Iterator[str]:
    for signal in attribution.evidence if verbose else ():
        yield f"  {signal.name} +{signal.points:g}: {signal.why}"
        yield from (f"    record {record}" for record in signal.records)
    for change in attribution.last_changes if verbose else ():
        yield f"  {_describe_why_last_change(change)}"


def _describe_why_last_change(change: LastChange) -> str:
    """Return who changed the line last, and how many words that added and removed."""
    who = f"commit {change.commit[:COMMIT_DIGITS]}" if change.commit else "an uncommitted change"
    who = who if change.tool_call_id is None else f"call {change.tool_call_id}"
    if change.words_added is None or change.words_removed is None:
        return f"last change: {who}"
    removed = f" ({' '.join(change.removed)})" if change.removed else ""
    return f"last change: {who}, +{change.words_added:,} -{count_noun(change.words_removed, 'word')}{removed}"


def _format_call_link_time(call: CallLink) -> str:
    ended = "" if call.ended is None or call.ended == call.started else f" to {call.ended[11:19]}"
    return f"{call.started[:10]} {call.started[11:19]}{ended} UTC"


def _format_why_timestamp(text: str) -> str:
    return f"{text[:10]} {text[11:19]} UTC"


def _shorten_why_text(text: str | None, width: int) -> str:
    return " ".join((text or "").split())[:width]
