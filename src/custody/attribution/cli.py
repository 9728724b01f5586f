"""The commands ``blame`` and ``stats``: arguments in, rendered reports out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from custody import __version__
from custody.core.errors import InputError
from custody.core.plural import count_noun
from custody.terminal.dates import format_when
from custody.terminal.frame import (
    choose_revision,
    contents_option,
    current_screen,
    json_option,
    open_command_workspace,
    open_remote_command_workspace,
    print_command_report,
    rev_option,
    revision_argument,
    use_contents,
)
from custody.terminal.screen import Piece, Role, Screen, StyledText, TextLine, table_lines, text_columns

if TYPE_CHECKING:
    from custody.attribution.app.blame import BlameResult, Profile
    from custody.attribution.wire import (
        Attribution,
        BlameReport,
        LastChange,
        LineShare,
        RemovedLine,
        RemovedReport,
        StatsReport,
    )
    from custody.core.paths import Lines


MARKS: Mapping[str, str] = MappingProxyType({"agent": "A", "mixed": "M", "person": "P", "none": "?"})
ROLES: Mapping[str, Role] = MappingProxyType({"A": "agent", "M": "agent", "P": "person", "?": "unknown"})
CLASS_WORDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "agent": ("agent", "agents"),
        "mixed": ("both", "both"),
        "person": ("person", "people"),
        "none": ("unknown", "unknown"),
    }
)
SHA_DIGITS = 7
SUBJECT_COLUMNS_MIN = 8
TAB_COLUMNS = 4


@click.command("blame")
@click.argument("file")
@revision_argument
@rev_option
@click.option(
    "-L",
    "line_ranges",
    multiple=True,
    metavar="RANGE",
    help="Show only these lines: 10,20 · 10,+5 · /pattern/,+3 · :function; repeatable.",
)
@click.option(
    "--profile", type=click.Choice(("lineage", "document")), help="Use these rules of evidence (docs/attribution.md)."
)
@click.option(
    "--remote",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="Also use the evidence of a service; 'custody remote list' lists names.",
)
@click.option("--porcelain", is_flag=True, help="Machine-readable output: one tab-separated row per line.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["sarif", "annotations"]),
    help="Print agents' lines for code hosts and editors, or for a build log.",
)
@contents_option
@click.option("--removed", metavar="REV", help="List what was removed from the file since REV instead.")
@click.option("-v", "--verbose", is_flag=True, help="Show tier, model, share, signals and session of each block.")
@json_option
@click.pass_context
def blame_command(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    file: str,
    revision: str | None,
    *,
    rev: str | None,
    line_ranges: tuple[str, ...],
    profile: Profile | None,
    remote: str | None,
    porcelain: bool,
    form: str | None,
    contents: str | None,
    removed: str | None,
    verbose: bool,
    as_json: bool,
) -> int:
    """Show who wrote each line of a file, and how certain that is.

    Without REV, shows the file on disk, uncommitted lines included. Marks: A agent, P person, M both, ? unknown (no
    evidence either way). Certainty: certain, strong, likely, weak; -v shows the evidence.

    \b
    Examples:
      custody blame src/app.py
      custody blame src/app.py -L :total -v
      custody blame src/app.py HEAD~3 --json
      custody blame src/app.py --removed v1.0
      custody blame src/app.py --remote
      custody blame src/app.py --contents - < unsaved.txt
      custody blame src/app.py --format sarif > lines.sarif
    """
    from custody.attribution.app.blame import LineSpec, blame, list_removed_lines

    if sum((as_json, porcelain, form is not None)) > 1:
        raise InputError("--json, --porcelain and --format are mutually exclusive", hint="pass one of them")
    workspace = open_command_workspace(ctx) if remote is None else open_remote_command_workspace(ctx, remote or None)
    if contents is not None:
        workspace = use_contents(workspace, file, contents, choose_revision(revision, rev))
    if removed is not None:
        if line_ranges or porcelain or form is not None or profile == "document":
            hint = "--removed takes --json and -v, and compares the whole file"
            raise InputError("--removed cannot be combined with -L, --porcelain, --format or --profile", hint=hint)
        report = list_removed_lines(workspace, file, removed, revision=choose_revision(revision, rev))
        return print_command_report(report, render_removed_lines(report, current_screen(workspace)), as_json=as_json)
    ranges = [LineSpec(text) for text in line_ranges]
    result = blame(
        workspace,
        file,
        revision=choose_revision(revision, rev),
        line_ranges=ranges,
        profile=profile,
        with_commits=not (as_json or form),
        with_changes=as_json or verbose,
        is_brief=not (as_json or verbose),
    )
    if form is not None:
        click.echo(_encode_blame_report(result.report, form), nl=False)
        return 0
    if porcelain:
        return print_command_report(
            result.report, "\n".join(_render_blame_porcelain(result.blocks)), as_json=False, tabs=True
        )
    lines = render_blame(result, current_screen(workspace), workspace.now_ns(), verbose=verbose)
    return print_command_report(result.report, lines, as_json=as_json)


def _encode_blame_report(report: BlameReport, form: str) -> bytes:
    from custody.attribution.wire import encode_blame_annotations, encode_blame_sarif

    return encode_blame_annotations(report) if form == "annotations" else encode_blame_sarif(report, __version__)


def _render_blame_porcelain(blocks: Sequence[Attribution]) -> Iterator[str]:
    for attribution in blocks:
        commit = (attribution.commits[-1] if attribution.commits else None) or None
        facts = (
            attribution.kind,
            attribution.share,
            attribution.tier,
            attribution.confidence,
            attribution.grade,
            attribution.agent,
            attribution.model_id,
            attribution.session_id,
        )
        fields = [*facts, attribution.tool_call_id, commit]
        for number in range(attribution.start_line, attribution.end_line + 1):
            yield "\t".join((str(number), *("-" if field is None else _format_blame_field(field) for field in fields)))


def _format_blame_field(value: object) -> str:
    return str(value).replace("\t", " ").replace("\n", " ")


class BlockLabel(Struct, frozen=True):
    """Facts shown once for neighboring lines: their author, how certain that is, and their commit."""

    mark: str
    who: str
    certainty: str
    commit: str
    when: str
    subject: str


def render_blame(result: BlameResult, screen: Screen, now_ns: int, *, verbose: bool) -> Iterator[TextLine]:
    """Yield the lines of a file with who wrote them: in columns beside the code, or above each block."""
    report = result.report
    if not report.attributions:
        yield f"{report.path}: no lines"
        return
    labels = [_label_block(block, result, now_ns) for block in result.blocks]
    layout = _BlameLayout(screen, len(str(report.attributions[-1].end_line)), labels)
    explained = {attribution.start_line for attribution in report.attributions}
    yield _render_blame_title(result, screen)
    yield ""
    before: BlockLabel | None = None
    for block, label in zip(result.blocks, labels, strict=True):
        if not screen.is_wide and label != before:
            yield layout.heading(label)
        if verbose and block.start_line in explained:
            yield from _render_attribution_details(block, layout.indent)
        for number in range(block.start_line, block.end_line + 1):
            yield layout.line(label, number, result.texts[number - 1], is_first=label != before)
            before = label
    yield ""
    yield _summarize_blame_report(report)
    yield (StyledText("A agent  P person  M both  ? unknown (may be either)", "muted"),)
    yield from (f"note: {note}" for note in report.notes)


def _render_blame_title(result: BlameResult, screen: Screen) -> TextLine:
    from custody.core.paths import Lines, format_lines

    report = result.report
    shown = _join_blame_ranges(report.attributions)
    part = "" if shown == [Lines(1, len(result.texts))] else f" {format_lines(shown)}"
    at = " (work tree)" if report.revision is None else f" at {report.revision[:SHA_DIGITS]}"
    return (screen.link_file(report.path, report.path, "strong"), part, at)


def _join_blame_ranges(blocks: Sequence[Attribution]) -> list[Lines]:
    """Return the lines of the blocks; adjacent blocks are joined."""
    from custody.core.paths import Lines

    joined: list[Lines] = []
    for block in blocks:
        is_adjacent = bool(joined) and joined[-1].last + 1 == block.start_line
        first = joined.pop().first if is_adjacent else block.start_line
        joined.append(Lines(first, block.end_line))
    return joined


def _label_block(attribution: Attribution, result: BlameResult, now_ns: int) -> BlockLabel:
    sha = attribution.commits[-1] if attribution.commits else None
    commit = None if sha is None else result.commits.get(sha)
    return BlockLabel(
        mark=MARKS[attribution.kind],
        who=_name_author(attribution),
        certainty=_name_certainty(attribution),
        commit="uncommitted" if sha is None else sha[:SHA_DIGITS],  # empty: committed, but git cannot tell where
        when="" if commit is None or commit.at is None else format_when(commit.at, now_ns),
        subject="" if commit is None else commit.subject,
    )


def _name_author(attribution: Attribution) -> str:
    if attribution.kind == "person" and attribution.said_by:
        return attribution.said_by[0].person
    return "unknown" if attribution.kind == "none" else attribution.agent or attribution.kind


def _name_certainty(attribution: Attribution) -> str:
    """Return how certain the author is; a person whom only self-reports name is marked."""
    if attribution.kind == "none":
        return ""
    is_self_reported = attribution.kind == "person" and attribution.grade == "claimed"
    return f"{attribution.certainty}, self-reported" if is_self_reported else attribution.certainty


class _BlameLayout:
    """Where the parts of a line stand on a screen."""

    def __init__(self, screen: Screen, digits: int, labels: Sequence[BlockLabel]) -> None:
        self._screen, self._digits = screen, digits
        columns = [(label.who, label.certainty, label.commit, label.when) for label in labels]
        self._widths = [max(map(text_columns, column)) for column in zip(*columns, strict=True)]

    @property
    def indent(self) -> str:
        """The space before the details of a block."""
        return " " * (2 + self._digits + 1)

    def heading(self, label: BlockLabel) -> TextLine:
        """Return the line above a block on a narrow screen."""
        facts = [fact for fact in (label.certainty, label.commit, label.when) if fact]
        room = self._screen.columns - text_columns(" · ".join((f"{label.mark} {label.who}", *facts))) - 1
        if label.subject and room > SUBJECT_COLUMNS_MIN:
            facts[facts.index(label.commit)] = f"{label.commit} {self._screen.cut(label.subject, room)}"
        who = self._screen.cut(f"{label.mark} {label.who}", self._screen.columns)
        rest = self._screen.cut("".join(f" · {fact}" for fact in facts), self._screen.columns - text_columns(who))
        return (StyledText(who, ROLES[label.mark]), StyledText(rest, "muted"))

    def line(self, label: BlockLabel, number: int, text: str, *, is_first: bool) -> TextLine:
        """Return one line of code, with its facts beside it where the screen is wide."""
        facts: list[Piece] = [StyledText(label.mark, ROLES[label.mark]), " "]
        used = 2
        if self._screen.is_wide:
            values = (label.who, label.certainty, label.commit, label.when) if is_first else ("", "", "", "")
            roles: tuple[Role | None, ...] = (ROLES[label.mark], None, "muted", "muted")
            for value, width, role in zip(values, self._widths, roles, strict=True):
                facts += [StyledText(value, role), " " * (width - text_columns(value) + 1)]
                used += width + 1
        shown = text.expandtabs(TAB_COLUMNS) if self._screen.is_terminal else text
        shown = self._screen.cut(shown, self._screen.columns - used - self._digits - 2)
        return (*facts, StyledText(f"{number:>{self._digits}}", "muted"), "  ", shown)


def describe_author_statements(attribution: Attribution) -> Iterator[str]:
    """Yield what people say about lines, and where that contradicts the evidence of an agent."""
    for statement in attribution.said_by or ():
        but = f"; recorded evidence names {attribution.agent}" if attribution.agent is not None else ""
        message = f": {statement.message}" if statement.message else ""
        yield f"{statement.person} says that they wrote this by hand (self-reported){message}{but}"


def _render_attribution_details(attribution: Attribution, pad: str) -> Iterator[str]:
    """Yield the details that ``-v`` prints above a block."""
    yield from (
        f"{pad}| also claimed: {claim.agent}, {claim.model_id or 'model unknown'}, by {claim.producer or 'a trace'};"
        f" session {claim.session_id}"
        for claim in attribution.claims
    )
    yield from (f"{pad}| {sentence}" for sentence in describe_author_statements(attribution))
    if attribution.kind == "none":
        yield f"{pad}| {attribution.reason}"
        return
    if attribution.kind == "person" and attribution.agent is None:
        return
    certainty = (
        ""
        if attribution.tier is None
        else f", {attribution.certainty} (tier {attribution.tier}, {attribution.confidence:.2f}), {attribution.grade}"
    )
    share = f", {attribution.share:.0%} of each line" if attribution.kind == "mixed" else ""
    model = attribution.model_id or "model unknown"
    yield f"{pad}| {attribution.agent}, {model}{share}{certainty}; session {attribution.session_id}"
    if attribution.conversation_summary:
        yield f"{pad}| prompt: {attribution.conversation_summary}"
    for signal in attribution.evidence:
        yield f"{pad}|   {signal.name} +{signal.points:g}: {signal.why}"
    for change in attribution.last_changes:
        if removed := describe_last_change(change):
            yield f"{pad}|   line {change.start_line}: {removed}"


def describe_last_change(change: LastChange) -> str:
    """Return what the last change of lines removed; empty if it removed nothing."""
    if not change.removed:
        return ""
    commit = f"commit {change.commit[:SHA_DIGITS]}" if change.commit else "an uncommitted change"
    who = commit if change.tool_call_id is None else f"call {change.tool_call_id}"
    added = f" and added {count_noun(change.words_added, 'word')}" if change.words_added else ""
    return f"{who} removed {count_noun(len(change.removed), 'word')}{added}: {' '.join(change.removed)}"


def render_removed_lines(report: RemovedReport, screen: Screen) -> Iterator[TextLine]:
    """Yield the removed lines and words in the order of the older file, each run below who removed it."""
    at = "the work tree" if report.revision is None else report.revision[:SHA_DIGITS]
    where = f" removed since {report.since[:SHA_DIGITS]}, at {at}"
    yield (screen.link_file(report.path, report.path, "strong"), where)
    before: str | None = None
    digits = len(str(report.removed[-1].line)) if report.removed else 1
    for row in report.removed:
        by = _describe_remover(row)
        if by != before:
            yield ""
            yield StyledText(by, "unknown" if row.agent is None else "agent")
            before = by
        text = row.text.expandtabs(TAB_COLUMNS) if screen.is_terminal else row.text
        yield (StyledText(f"- {row.line:>{digits}}", "muted"), "  ", screen.cut(text, screen.columns - digits - 5))
        if row.words:
            yield StyledText(f"  {'':>{digits}}  lost {' '.join(row.words)}; now line {row.now}", "muted")
    yield ""
    gone = sum(not row.words for row in report.removed)
    shortened = len(report.removed) - gone
    parts = [
        count_noun(gone, "line") + " removed",
        *([f"{count_noun(shortened, 'line')} shortened"] if shortened else []),
    ]
    yield ", ".join(parts)
    yield from (f"note: {note}" for note in report.notes)


def _describe_remover(row: RemovedLine) -> str:
    commit = "uncommitted" if row.commit is None else row.commit[:SHA_DIGITS]
    if row.agent is None:
        return f"unknown author, {commit} (no captured call removed this text)"
    return (
        f"{row.agent}, {row.model_id or 'model unknown'}, call {row.tool_call_id}, {commit}; session {row.session_id}"
    )


def _summarize_blame_report(report: BlameReport) -> str:
    counts, agents = Counter[str](), Counter[str]()
    for attribution in report.attributions:
        lines = attribution.end_line - attribution.start_line + 1
        counts[attribution.kind] += lines
        if attribution.agent is not None and attribution.kind in ("agent", "mixed"):
            agents[attribution.agent] += lines
    owners = [count_noun(counts[kind], *words) for kind, words in CLASS_WORDS.items() if counts[kind]]
    if agents:
        by = ", ".join(f"{agent} {lines:,}" for agent, lines in sorted(agents.items()))
        owners[sum(counts[kind] > 0 for kind in ("agent", "mixed")) - 1] += f" ({by})"
    since = next(
        (attribution.searched.since for attribution in report.attributions if attribution.searched is not None), None
    )
    reach = ""
    if counts["none"]:
        reach = "; nothing has been captured here" if since is None else f"; searched since {since[:10]}"
    return f"{count_noun(sum(counts.values()), 'line')}{': ' if owners else ''}{', '.join(owners)}{reach}"


ROWS_SHOWN_MAX = 20
NAME_COLUMNS_MAX = 40
LABEL_COLUMNS_MAX = 20
MODEL_COLUMNS_MIN = 8
BAR_COLUMNS_MIN = 10
BAR_COLUMNS_MAX = 52
BESIDE_BAR_COLUMNS = 50
"""Columns beside a bar, for its label, lines, percentage and remark."""


@click.command("stats")
@click.argument("path", required=False, metavar="[PATH]")
@revision_argument
@rev_option
@click.option("--agent", metavar="NAME", help="Show the share and models of this agent only.")
@click.option("--unknown", is_flag=True, help="List the files with unknown lines instead.")
@click.option("-v", "--verbose", is_flag=True, help="Also show certainty, folders, months and skipped files.")
@json_option
@click.pass_context
def stats_command(  # noqa: PLR0913 - one for each argument and option
    ctx: click.Context,
    path: str | None,
    revision: str | None,
    *,
    rev: str | None,
    agent: str | None,
    unknown: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Show how many lines agents wrote.

    Counts the committed text files of a folder or of the whole repository, as of REV or HEAD, or only the lines that
    a change BASE..HEAD adds. Lines without evidence are 'unknown': a person or an agent may have written them.

    \b
    Examples:
      custody stats
      custody stats main..HEAD
      custody stats src v1.0 -v
      custody stats --unknown
      custody stats --agent cursor
      custody stats --json | jq .totals.share
    """
    from custody.attribution.app.stats import compute_line_stats

    if unknown and (agent is not None or verbose):
        option = "--verbose" if agent is None else "--agent"
        raise InputError(f"--unknown and {option} are mutually exclusive", hint="pass one of them")
    workspace, screen = open_command_workspace(ctx), current_screen()
    revision = choose_revision(revision, rev)
    if path is not None and revision is None and is_change_range(path):
        path, revision = None, path
    report = compute_line_stats(workspace, path, revision=revision, agent=agent, with_unknown=unknown)
    lines = render_unknown_files(report, screen) if unknown else render_line_stats(report, screen, verbose=verbose)
    return print_command_report(report, lines, as_json=as_json)


def is_change_range(text: str) -> bool:
    """Return whether an argument is a range of commits rather than a path.

    >>> [is_change_range(text) for text in ("main..HEAD", "v1.0...", "../src", "src/../docs", "src")]
    [True, True, False, False, False]
    """
    return ".." in text and ".." not in text.split("/")


def render_unknown_files(report: StatsReport, screen: Screen) -> Iterator[TextLine]:
    """Yield the files with unknown lines, those with the most first, and what their share of each file is."""
    files = report.unknown_files or []
    unknown, total = count_noun(report.totals.none, "unknown line"), count_noun(report.totals.lines, "line")
    where = f" at {report.revision[:SHA_DIGITS]}: {unknown} of {total}"
    yield (StyledText(report.path or "whole repository", "strong"), where)
    shown = files[:ROWS_SHOWN_MAX]
    if shown:
        digits = max(len("UNKNOWN"), *(len(f"{file.lines:,}") for file in shown))
        room = max(screen.columns - digits - len("100.0 %") - 2 * 2, MODEL_COLUMNS_MIN)
        places = [screen.link_file(screen.cut_start(file.path, room), file.path) for file in shown]
        rows = [(place, f"{file.lines:,}", format_share(file.share)) for place, file in zip(places, shown, strict=True)]
        yield ""
        yield from table_lines(rows, screen, header=("FILE", "UNKNOWN", "OF FILE"), right=(1, 2))
        yield from _render_lines_left([file.lines for file in files])
    yield ""
    yield from _render_uncounted_files(report, verbose=False)
    yield StyledText(_describe_stats_reach(report), "muted")
    if shown:
        yield StyledText("hint: custody import reads past sessions of agents", "muted")


def render_line_stats(report: StatsReport, screen: Screen, *, verbose: bool) -> Iterator[TextLine]:
    """Yield the share of agents, a bar for each kind of author, and the agents; ``verbose`` adds the other tables."""
    yield _render_stats_title(report)
    if report.totals.lines:
        yield ""
        yield from _render_author_bars(report, screen)
    tables = [
        _render_agent_table(report, screen),
        _render_share_table("EVIDENCE", report.evidence, report, screen),
    ]
    if verbose:
        tables += [
            _render_share_table("CERTAINTY", report.certainties, report, screen),
            _render_share_table("FOLDER", report.folders, report, screen, is_by_author=True),
            _render_share_table("MONTH", report.months, report, screen),
        ]
    for table in tables:
        if lines := list(table):
            yield from ("", *lines)
    yield ""
    yield from _render_uncounted_files(report, verbose=verbose)
    yield from (f"note: {note}" for note in report.notes)
    yield StyledText(_describe_stats_reach(report), "muted")
    if report.totals.none:
        sentence = "Unknown means no evidence, not people. hint: custody stats --unknown lists where"
        yield StyledText(sentence, "muted")


def _describe_stats_reach(report: StatsReport) -> str:
    return "Nothing has been captured here." if report.since is None else f"Searched since {report.since[:10]}."


def _render_stats_title(report: StatsReport) -> TextLine:
    totals = report.totals
    is_bound = bool(totals.none) or report.at_least < totals.share
    least = "at least " if is_bound else ""
    noun = "line" if report.base is None else "added line"
    share = f"{format_percent_down(min(report.at_least, totals.share))} of {count_noun(totals.lines, noun)}"
    base = "" if report.base is None else f"{report.base[:SHA_DIGITS]}.."
    at = f" at {base}{report.revision[:SHA_DIGITS]}: {report.agent or 'agents'} wrote {least}"
    more = totals.share - report.at_least
    named = f"; commits name agents for {format_percent_down(more)} more" if more > 0 else ""
    covered = f"; evidence covers {format_percent_down(report.coverage)}" if totals.none else ""
    return (StyledText(report.path or "whole repository", "strong"), at, StyledText(share, "strong"), named + covered)


def format_percent_down(value: float) -> str:
    """Return a share as a percentage that is never more than the share; one decimal below 1 %.

    >>> format_percent_down(0.7099), format_percent_down(0.29), format_percent_down(0.0049), format_percent_down(0)
    ('70 %', '29 %', '0.4 %', '0 %')
    """
    # Shares have four decimals: rounding first keeps 0.29 from becoming 28.999….
    tenths = int(round(value * 1000, 4))
    return f"{tenths / 10:.1f} %" if 0 < tenths < 10 else f"{tenths // 10} %"


def format_percent_up(value: float) -> str:
    """Return a share as a percentage that is never less than the share, and never above 100 %.

    >>> format_percent_up(0.8501), format_percent_up(0.29), format_percent_up(1.0001)
    ('86 %', '29 %', '100 %')
    """
    return f"{min(100, -int(-round(value * 100, 4) // 1))} %"


class AuthorBar(Struct, frozen=True):
    """One kind of author: its lines, its share of all lines, and a remark beside them."""

    label: str
    lines: int
    share: float
    role: Role
    remark: str = ""


def _render_author_bars(report: StatsReport, screen: Screen) -> Iterator[TextLine]:
    bars = _list_author_bars(report, screen)
    width = min(BAR_COLUMNS_MAX, screen.columns - BESIDE_BAR_COLUMNS)
    labels = max(text_columns(bar.label) for bar in bars)
    digits = max(len(f"{bar.lines:,}") for bar in bars)
    for bar in bars:
        label = f"  {bar.label}{' ' * (labels - text_columns(bar.label))}  "
        drawn = f"{_draw_share_bar(bar, width, screen):<{width}}  " if width >= BAR_COLUMNS_MIN else ""
        remark = f"   {bar.remark}" if bar.remark else ""
        percent = format_percent_down(bar.share) if bar.role == "agent" else f"{bar.share * 100:.0f} %"
        figures = f"{bar.lines:>{digits},}  {percent:>5}"
        yield (StyledText(label, bar.role), StyledText(drawn, bar.role), figures, StyledText(remark, "muted"))


def _list_author_bars(report: StatsReport, screen: Screen) -> list[AuthorBar]:
    totals = report.totals
    written = totals.agent + totals.mixed
    partly = [f"{totals.mixed:,} only in part"] if totals.mixed else []
    named = [f"{report.named_by_commit:,} only named by commits"] if report.named_by_commit else []
    if report.agent is None:
        bars = [AuthorBar("agents", written, totals.share, "agent", ", ".join((*partly, *named)))]
    else:
        own = next((row.lines for row in report.agents if row.name == report.agent), 0)
        others = written - own
        bars = [
            AuthorBar(screen.cut(report.agent, LABEL_COLUMNS_MAX), own, totals.share, "agent", ", ".join(named)),
            AuthorBar("other agents", others, others / totals.lines, "agent"),
        ]
    self_reported = f"{report.self_reported:,} self-reported" if report.self_reported else ""
    unknown = totals.none / totals.lines
    most = f"so at most {format_percent_up(totals.share + unknown)}" if totals.none else ""
    return [
        *bars,
        AuthorBar("people", totals.person, totals.person / totals.lines, "person", self_reported),
        AuthorBar("unknown", totals.none, unknown, "unknown", most),
    ]


def _draw_share_bar(bar: AuthorBar, columns: int, screen: Screen) -> str:
    """Return a bar that is empty only without lines and full only at 1."""
    marks = ("░" if screen.has_unicode else ".") if bar.role == "unknown" else ("█" if screen.has_unicode else "#")
    full = max(round(bar.share * columns), 1 if bar.lines else 0)
    return marks * (full if bar.share >= 1 else min(full, columns - 1))


def _render_agent_table(report: StatsReport, screen: Screen) -> Iterator[TextLine]:
    """Yield a row for each model of each agent; the agent is named once."""
    shown = report.agent_models[:ROWS_SHOWN_MAX]
    if not shown:
        return
    agents = [screen.cut(row.name, LABEL_COLUMNS_MAX) for row in shown]
    digits = max(len("LINES"), *(len(f"{row.lines:,}") for row in shown))
    room = screen.columns - max(map(text_columns, agents)) - digits - len("100.0 %") - 3 * 2
    rows: list[Sequence[Piece]] = []
    for at, (agent, row) in enumerate(zip(agents, shown, strict=True)):
        is_first = at == 0 or row.name != shown[at - 1].name
        model = screen.cut(row.model, max(room, MODEL_COLUMNS_MIN))
        share = format_share(row.part * row.share)
        rows.append((StyledText(agent if is_first else "", "agent"), model, f"{row.lines:,}", share))
    yield from table_lines(rows, screen, header=("AGENT", "MODEL", "LINES", "SHARE"), right=(2, 3))
    yield from _render_rows_left(report.agent_models)


def _render_share_table(
    title: str, counts: Sequence[LineShare], report: StatsReport, screen: Screen, *, is_by_author: bool = False
) -> Iterator[TextLine]:
    """Yield rows with their part of all lines, or (``is_by_author``) with the share that agents wrote of each row."""
    if not counts:
        return
    heading = screen.cut((report.agent or "agents").upper(), LABEL_COLUMNS_MAX) if is_by_author else "SHARE"
    rows = [
        (
            screen.cut(row.name, NAME_COLUMNS_MAX),
            f"{row.lines:,}",
            format_share(row.share if is_by_author else row.part),
        )
        for row in counts[:ROWS_SHOWN_MAX]
    ]
    yield from table_lines(rows, screen, header=(title, "LINES", heading), right=(1, 2))
    yield from _render_rows_left(counts)


def format_share(value: float) -> str:
    """Return a share with one decimal.

    >>> format_share(0.485)
    '48.5 %'
    """
    return f"{value * 100:.1f} %"


def _render_rows_left(counts: Sequence[LineShare]) -> Iterator[TextLine]:
    yield from _render_lines_left([row.lines for row in counts])


def _render_lines_left(counts: Sequence[int]) -> Iterator[TextLine]:
    if rest := counts[ROWS_SHOWN_MAX:]:
        lines = count_noun(sum(rest), "line")
        yield StyledText(f"{len(rest):,} more with {lines}; --json lists them", "muted")


def _render_uncounted_files(report: StatsReport, *, verbose: bool) -> Iterator[TextLine]:
    if not report.left_out_count:
        return
    skipped = f"skipped {count_noun(report.left_out_count, 'file')}"
    if not verbose:
        yield f"{skipped} (-v lists them)"
        return
    yield skipped
    shown = report.left_out[:ROWS_SHOWN_MAX]
    yield from (f"  {file.why}" for file in shown)
    if report.left_out_count > len(shown):
        yield f"  {report.left_out_count - len(shown):,} more; --json lists them"
