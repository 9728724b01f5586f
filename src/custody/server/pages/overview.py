"""Overview: how much of this is agents', what is open, what happened last, whether all is well."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from custody.attribution.wire.stats import StatsPeriod, StatsReport
from custody.core.errors import InputError
from custody.dupes.app.indexed_changes import changes_listed
from custody.server.app.questions import lines_counted
from custody.server.page_data.cache import place_of
from custody.server.page_data.overview import read_overview_page
from custody.server.page_data.sessions import sessions_listed
from custody.server.pages.attempt import attempt_question
from custody.server.pages.charts import BarPart, Series
from custody.server.pages.live import head_of
from custody.server.pages.page import Page, PageParams, PageView
from custody.workspace.workspace import Workspace, has_repository

CHANGES_SHOWN = 10
SESSIONS_SHOWN = 8
MODELS_SHOWN = 5
"""Models with a colour of their own; the rest are one."""
PERIODS_SHOWN = 60
BEFORE, UNKNOWN = "before", "unknown"
OTHERS, PEOPLE, NOBODY = "other models", "people, by a record", "no agent known"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnershipChart:
    """Whose lines there are, as pictures have it: ``curve`` is the agents' part of all lines up to each period."""

    report: StatsReport
    bar: Sequence[BarPart]
    periods: Sequence[str]
    models: Sequence[Series]
    curve: Sequence[float]
    undated: int


def overview(workspace: Workspace, _asked: PageParams) -> PageView:
    """What can be said at once; what has to be counted comes later."""
    return PageView(
        title="Overview",
        template="overview.html",
        fields={
            "seen": read_overview_page(workspace),
            "sessions": sessions_listed(workspace, limit=SESSIONS_SHOWN).items,
            "changes": changes_listed(workspace, state="open", words="", before=None, limit=CHANGES_SHOWN),
            "has_repository": has_repository(workspace),
        },
    )


def overview_share(workspace: Workspace, asked: PageParams) -> PageView:
    """Whose the lines are, counted."""
    found = attempt_question(lambda: chart_ownership(_counted(workspace, asked)))
    return PageView(title="Whose lines", template="overview_share.html", fields={"found": found})


def _counted(workspace: Workspace, asked: PageParams) -> StatsReport:
    commit = workspace.repository.head().commit if has_repository(workspace) else None
    if has_repository(workspace) and commit is None:
        raise InputError("nothing is committed here yet", hint="lines are counted from the first commit on")
    make = partial(lines_counted, workspace, None, revision=commit)
    return asked.memory.shares.get(place_of(workspace), (commit, head_of(workspace)), workspace.now_ns(), make)


def chart_ownership(report: StatsReport) -> OwnershipChart:
    """A count as pictures: what is older than the periods shown is before them."""
    dated = [period for period in report.growth if period.name not in (BEFORE, UNKNOWN)]
    shown = dated[-PERIODS_SHOWN:]
    earlier = [period for period in report.growth if period.name == BEFORE] + dated[:-PERIODS_SHOWN]
    named = [share.name for share in report.models[:MODELS_SHOWN]]
    total = report.totals
    return OwnershipChart(
        report=report,
        bar=[
            BarPart("agents", total.agent, "k-agent"),
            BarPart("mixed", total.mixed, "k-mixed"),
            BarPart("people, by a record", total.person, "k-person"),
            BarPart("no agent known", total.none, "k-none"),
        ],
        periods=[period.name for period in shown],
        models=_by_model(shown, named, has_others=len(report.models) > MODELS_SHOWN),
        curve=_curve(earlier, shown),
        undated=sum(period.lines for period in report.growth if period.name == UNKNOWN),
    )


def _by_model(periods: Sequence[StatsPeriod], named: Sequence[str], *, has_others: bool) -> list[Series]:
    """A series for each model, then for what no model wrote; none that is empty."""
    series = [Series(name, [period.models.get(name, 0) for period in periods]) for name in named]
    if has_others:
        rest = [sum(lines for name, lines in period.models.items() if name not in named) for period in periods]
        series.append(Series(OTHERS, rest))
    series.append(Series(PEOPLE, [period.person for period in periods], "s7"))
    series.append(Series(NOBODY, [period.none for period in periods], "k-none"))
    return [data_series for data_series in series if any(data_series.values)]


def _curve(earlier: Sequence[StatsPeriod], periods: Sequence[StatsPeriod]) -> list[float]:
    """Of all lines committed up to the end of each period, the part that is agents', in hundredths."""
    lines = sum(period.lines for period in earlier)
    agents = sum(period.lines * period.share for period in earlier)
    found = []
    for period in periods:
        lines, agents = lines + period.lines, agents + period.lines * period.share
        found.append(round(100 * agents / lines, 1) if lines else 0.0)
    return found


PAGES = (
    Page(name="overview", label="Overview", view=overview),
    Page(name="overview-share", view=overview_share, part=True, long=True),
)
