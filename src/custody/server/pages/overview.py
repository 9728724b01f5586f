"""Overview: how much of this is agents', what is open, what happened last, whether all is well."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from types import MappingProxyType

from custody.attribution.wire import StatsPeriod, StatsReport
from custody.core.errors import InputError
from custody.core.ids import PENDING
from custody.core.wire.report import DoctorCheck
from custody.core.wire.time import text_from
from custody.dupes.app.indexed_changes import changes_listed
from custody.intake.install.doctor import glance
from custody.server.app.questions import lines_counted
from custody.server.page_data.cache import place_of
from custody.server.page_data.sessions import sessions_listed
from custody.server.pages.attempt import attempt_question
from custody.server.pages.charts import BarPart, Series
from custody.server.pages.page import Page, PageParams, PageView
from custody.server.queries import ActivityTables
from custody.share.chain_exchange import held_chains
from custody.workspace.workspace import Workspace, has_repository

# What the first page says at once: how much there is, whether all is well, and what custody can tell here.


@dataclass(frozen=True, slots=True)
class Capability:
    """Something that custody tells: from which tables, on which page, and what to run while there is nothing yet."""

    name: str
    tables: tuple[str, ...]
    page: str
    next: str
    command: str
    in_repository: bool = False
    """Whether the repository has to be here as well."""


ABILITIES: tuple[Capability, ...] = (
    Capability(
        "Who wrote which line",
        ("file_edit", "file_state", "traced_file"),
        "blame",
        "no edit was captured: have agents recorded, or bring in what they left on disk",
        "custody init",
        in_repository=True,
    ),
    Capability(
        "What agents were asked, and what they did",
        ("prompt", "tool_call"),
        "sessions",
        "no session was captured",
        "custody import",
    ),
    Capability(
        "Which change does what another one does",
        ("dupe_change",),
        "changes",
        "no change is indexed",
        "custody dupes index",
    ),
    Capability(
        "How far an agent's record carries",
        ("decision",),
        "trust",
        "nobody recorded a decision about an agent's change",
        "custody trust reverts",
    ),
    Capability(
        "What statements rest on", ("registry_source",), "sources", "no source is registered", "custody cite add"
    ),
    Capability(
        "What calls what, and in which order",
        ("tool_call", "span"),
        "graph",
        "no call was captured",
        "custody import",
    ),
)


@dataclass(frozen=True, slots=True)
class CapabilityState:
    """An ability and whether there is anything that it can tell from."""

    ability: Capability
    why_not: str | None
    """None where it can be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewPage:
    """What there is at a glance; ``since`` is the earliest moment that a record claims."""

    records: int
    chains: int
    since: str | None
    checks: Sequence[DoctorCheck]
    standing: Sequence[CapabilityState]

    @property
    def counts(self) -> Mapping[str, int]:
        """How many checks came out how."""
        return MappingProxyType(
            {state: sum(c.state == state for c in self.checks) for state in ("ill", "note", "well")}
        )

    @property
    def worst(self) -> DoctorCheck | None:
        """What most needs somebody."""
        return next((check for state in ("ill", "note") for check in self.checks if check.state == state), None)


def read_overview_page(workspace: Workspace) -> OverviewPage:
    """What there is, without looking at every record."""
    with workspace.reading() as store, store.reading():
        looked = ActivityTables(store)
        heads = [head for head in store.tables.chains() if head.store != PENDING]
        first = looked.first_ns()
        held = looked.holds(sorted({name for ability in ABILITIES for name in ability.tables}))
    return OverviewPage(
        records=sum(int(head.seq) for head in heads),
        chains=len(heads),
        since=None if first is None else text_from(first),
        checks=glance(workspace),
        standing=[_standing(ability, held, lambda: has_repository(workspace)) for ability in ABILITIES],
    )


def _standing(ability: Capability, held: frozenset[str], here: Callable[[], bool]) -> CapabilityState:
    if not held.intersection(ability.tables):
        return CapabilityState(ability, ability.next)
    if ability.in_repository and not here():
        return CapabilityState(ability, "this service has no repository of the project")
    return CapabilityState(ability, None)


# Whether anything is new: asked every few seconds by every page that is looked at, so it reads next to nothing.


def head_of(workspace: Workspace) -> bytes:
    """How many records there are, and a word that is another one whenever any is new."""
    chains = held_chains(workspace).chains
    word = sha256("\n".join(f"{chain.store} {chain.seq} {chain.link}" for chain in chains).encode()).hexdigest()
    return json.dumps({"records": sum(chain.seq for chain in chains), "head": word}).encode()


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
