"""``custody stats``."""

import shutil
import sys
from collections.abc import Iterator, Sequence

import click
import msgspec

from custody.attribution.app.stats import stats
from custody.attribution.wire.blame import TIER_WORDS
from custody.attribution.wire.stats import LineShare, StatsReport
from custody.terminal.frame import answer, json_option, open_workspace

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
