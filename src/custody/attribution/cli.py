"""The verbs of attribution: blame and stats.

May touch the terminal. Asks use cases and renders their reports.
"""

import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import click
import msgspec

from custody import __version__
from custody.attribution.app.blame import BlameResult, Profile, blame
from custody.attribution.app.stats import stats
from custody.attribution.wire import TIER_WORDS, Attribution, BlameReport, LineShare, StatsReport
from custody.core.errors import InputError
from custody.core.paths import Lines
from custody.terminal.frame import answer, json_option, open_workspace, remote_workspace

MARKS = {"agent": "A", "mixed": "m", "person": "P", "none": "."}
_STRETCH = re.compile(r"(\d{1,9})(?:,(\+?\d{1,9}))?")


@click.command("blame")
@click.argument("file")
@click.argument("revision", required=False, metavar="[REV]")
@click.option(
    "-L", "stretches", multiple=True, metavar="A,B", help="Only lines A to B (also A or A,+COUNT); repeatable."
)
@click.option(
    "--profile", type=click.Choice(("lineage", "document")), help="Which rules of evidence; see docs/attribution.md."
)
@click.option(
    "--remote",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="Answer from a service's evidence beside our own; NAME is one of 'custody remote list'.",
)
@click.option("--porcelain", is_flag=True, help="Print one line per line with fields parted by tabs, for programs.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["sarif", "annotations"]),
    help="Agents' lines for code hosts and editors, or for a build's log.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show tier, model, share, signals and session of each stretch.")
@json_option
@click.pass_context
def blame_command(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    file: str,
    revision: str | None,
    *,
    stretches: tuple[str, ...],
    profile: Profile | None,
    remote: str | None,
    porcelain: bool,
    form: str | None,
    verbose: bool,
    as_json: bool,
) -> int:
    """Say who wrote each line of a file, how sure, and why.

    Without REV: the file as it is on disk, uncommitted lines included. Each line has one mark: A an agent's, m partly
    an agent's, P a person's whom a record names, . no evidence (which never means that a person wrote it), and how sure
    the answer is from 1 (provably certain) to 6 (suggestive).

    \b
    Examples:
      custody blame src/app.py
      custody blame src/app.py -L 10,20 -v
      custody blame src/app.py HEAD~3 --json
      custody blame src/app.py --remote
      custody blame src/app.py --format sarif > lines.sarif
    """
    if sum((as_json, porcelain, form is not None)) > 1:
        raise InputError("--json, --porcelain and --format are shapes of one answer", hint="give one of them")
    wanted = [_stretch(text) for text in stretches]
    workspace = open_workspace(ctx) if remote is None else remote_workspace(ctx, remote or None)
    blamed = blame(workspace, file, revision=revision, stretches=wanted, profile=profile)
    if form is not None:
        click.echo(_formed(blamed.report, form), nl=False)
        return 0
    if as_json:
        words = ""
    elif porcelain:
        words = "\n".join(_porcelain(blamed.report))
    else:
        words = "\n".join((*_lines(blamed, verbose=verbose), _summary(blamed.report)))
    return answer(blamed.report, words, as_json=as_json, tabs=True)


def _formed(report: BlameReport, form: str) -> bytes:
    from custody.attribution.wire import encode_blame_annotations, encode_blame_sarif

    return encode_blame_annotations(report) if form == "annotations" else encode_blame_sarif(report, __version__)


def _stretch(text: str) -> Lines:
    match = _STRETCH.fullmatch(text)
    if match is None:
        raise InputError(f"'{text}' is not a stretch of lines", hint="give -L 10,20 or -L 10,+5 or -L 10")
    first, last = int(match[1]), match[2]
    if last is None:
        return Lines(first, first)
    return Lines(first, first + int(last) - 1 if last.startswith("+") else int(last))


def _porcelain(report: BlameReport) -> Iterator[str]:
    for attribution in report.attributions:
        commit = attribution.commits[-1] if attribution.commits else None
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
            yield "\t".join((str(number), *("-" if field is None else _field(field) for field in fields)))


def _field(value: object) -> str:
    return str(value).replace("\t", " ").replace("\n", " ")


def _lines(blamed: BlameResult, *, verbose: bool) -> Iterator[str]:
    last = blamed.report.attributions[-1].end_line if blamed.report.attributions else 0
    width = len(str(last))
    for attribution in blamed.report.attributions:
        if verbose:
            yield from _about(attribution, width)
        mark = MARKS[attribution.kind] + ("" if attribution.tier is None else str(attribution.tier))
        for number in range(attribution.start_line, attribution.end_line + 1):
            yield f"{mark:<2} {number:>{width}} {blamed.texts[number - 1]}".rstrip()


def _about(attribution: Attribution, width: int) -> Iterator[str]:
    """What stands above a stretch with ``-v``."""
    pad = " " * (width + 3)
    yield from (
        f"{pad}| also claimed: {claim.agent}, {claim.model_id or 'model unknown'}, by {claim.producer or 'a trace'};"
        f" session {claim.session_id}"
        for claim in attribution.claims
    )
    if attribution.kind == "none":
        yield f"{pad}| {attribution.reason}"
        return
    sure = (
        ""
        if attribution.tier is None
        else f", {TIER_WORDS[attribution.tier - 1]} ({attribution.confidence}), {attribution.grade}"
    )
    share = f", {attribution.share:.0%} of it" if attribution.kind == "mixed" else ""
    model = attribution.model_id or "model unknown"
    yield f"{pad}| {attribution.agent}, {model}{share}{sure}; session {attribution.session_id}"
    if attribution.conversation_summary:
        yield f"{pad}| asked: {attribution.conversation_summary}"
    for signal in attribution.evidence:
        yield f"{pad}|   {signal.name} +{signal.points:g}: {signal.why}"


def _summary(report: BlameReport) -> str:
    counts = Counter[str]()
    for attribution in report.attributions:
        counts[attribution.kind] += attribution.end_line - attribution.start_line + 1
    total = sum(counts.values())
    agents = sorted({attribution.agent for attribution in report.attributions if attribution.agent is not None})
    words = ", ".join(f"{counts[kind]} {kind}" for kind in MARKS if counts[kind]) or "no lines"
    by = f" ({', '.join(agents)})" if agents else ""
    since = next(
        (attribution.searched.since for attribution in report.attributions if attribution.searched is not None), None
    )
    reach = (
        "" if not counts["none"] else "; nothing has been captured here" if since is None else f"; since {since[:10]}"
    )
    notes = "".join(f"\nnote: {note}" for note in report.notes)
    return f"{total} line(s): {words}{by}{reach}{notes}"


ROWS_SHOWN_MAX = 20
NAME_WIDTH_MAX = 40
PERCENT_WIDTH = 7
BAR_WIDTH_MIN = 10
BAR_WIDTH_MAX = 40
FULL, EMPTY = "█", "░"
PLAIN_FULL, PLAIN_EMPTY = "#", "."


@click.command("stats")
@click.argument("path", required=False, metavar="[PATH]")
@click.option("--rev", "revision", metavar="REV", help="The files as of this commit, not of HEAD.")
@click.option("--agent", metavar="NAME", help="The share, models and tiers of this agent's lines.")
@json_option
@click.pass_context
def stats_command(
    ctx: click.Context, path: str | None, *, revision: str | None, agent: str | None, as_json: bool
) -> int:
    """Count whose the lines of a file, a folder or the whole repository are.

    By class, model, agent, tier (how sure), folder and the month in which agents' lines were first committed. Only
    committed text files are counted; lines without evidence are 'none', which never means that a person wrote them.

    \b
    Examples:
      custody stats
      custody stats src --rev v1.0
      custody stats --agent cursor
      custody stats --json | jq .totals.share
    """
    report = stats(open_workspace(ctx), path, revision=revision, agent=agent)
    return answer(report, "" if as_json else "\n".join(_page(report, _signs())), as_json=as_json)


def _signs() -> tuple[str, str]:
    """What bars are drawn with: only what the terminal can show."""
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return (FULL, EMPTY) if encoding.startswith("utf") else (PLAIN_FULL, PLAIN_EMPTY)


def _page(report: StatsReport, signs: tuple[str, str]) -> Iterator[str]:
    totals = report.totals
    where = report.path or "the whole repository"
    yield f"{where} as of {report.revision[:12]}: {totals.lines:,} line(s) in {report.files:,} file(s)"
    yield f"{_format_owner(report.agent)} share {totals.share:.1%}{_reach(report)}"
    tables = (
        ("class", report.classes, False),
        ("model", report.models, False),
        ("agent", report.agents, False),
        ("tier", [_tier(row) for row in report.tiers], False),
        ("folder", report.folders, True),
        ("month", report.months, False),
    )
    for name, rows, by_share in tables:
        if rows:
            yield ""
            yield from _table(name, rows, signs, report.agent, by_share=by_share)
    yield from _left_out(report)
    yield from (f"note: {note}" for note in report.notes)


def _reach(report: StatsReport) -> str:
    return "; nothing has been captured here" if report.since is None else f"; looked since {report.since[:10]}"


def _tier(row: LineShare) -> LineShare:
    words = TIER_WORDS[int(row.name) - 1] if row.name.isdecimal() else row.name
    return msgspec.structs.replace(row, name=f"{row.name} {words}")


def _table(
    name: str, rows: Sequence[LineShare], signs: tuple[str, str], agent: str | None, *, by_share: bool
) -> Iterator[str]:
    """Rows with a bar each: their part of all lines, or where they are folders the agents' share in each."""
    shown = rows[:ROWS_SHOWN_MAX]
    wide = min(NAME_WIDTH_MAX, max(len(name), *(len(row.name) for row in shown)))
    digits = max(len("lines"), *(len(f"{row.lines:,}") for row in shown))
    what = _cut(_format_owner(agent), NAME_WIDTH_MAX) if by_share else "of all"
    percent = max(PERCENT_WIDTH, len(what))
    bar = _bar_width(wide + digits + percent + 6)
    yield f"{name:<{wide}}  {'lines':>{digits}}  {what:>{percent}}"
    for row in shown:
        value = row.share if by_share else row.part
        figures = f"{row.lines:>{digits},}  {value:>{percent}.1%}"
        # Of one agent the rows have no count, only a share.
        some = bool(row.agent + row.mixed) if agent is None else value > 0
        drawn = _bar(value, bar, signs, is_some=some if by_share else True)
        yield f"{_cut(row.name, wide):<{wide}}  {figures}  {drawn}"
    if len(rows) > len(shown):
        rest = rows[ROWS_SHOWN_MAX:]
        yield f"({len(rest):,} more with {sum(row.lines for row in rest):,} line(s); --json has them)"


def _format_owner(agent: str | None) -> str:
    return "agents'" if agent is None else f"{agent}'s"


def _bar_width(taken: int) -> int:
    return max(BAR_WIDTH_MIN, min(BAR_WIDTH_MAX, shutil.get_terminal_size().columns - taken))


def _bar(value: float, width: int, signs: tuple[str, str], *, is_some: bool) -> str:
    """A bar of which something shows whenever there is something, and which is full only when that is all."""
    full = round(value * width)
    if is_some:
        full = max(full, 1)
    if value < 1.0:
        full = min(full, width - 1)
    return signs[0] * full + signs[1] * (width - full)


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else name[: width - 2] + ".."


def _left_out(report: StatsReport) -> Iterator[str]:
    if not report.left_out_count:
        return
    yield ""
    yield f"left out: {report.left_out_count:,} file(s)"
    shown = report.left_out[:ROWS_SHOWN_MAX]
    yield from (f"  {left_out_file.why}" for left_out_file in shown)
    if report.left_out_count > len(shown):
        yield f"  ({report.left_out_count - len(shown):,} more)"
