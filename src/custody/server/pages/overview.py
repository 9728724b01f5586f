"""Overview: health, the share of agents' lines, open changes and the last sessions."""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution.wire import LineShare, StatsPeriod, StatsReport
from custody.core.errors import InputError
from custody.core.ids import PENDING
from custody.core.wire.report import DoctorCheck
from custody.core.wire.time import format_timestamp
from custody.dupes.app.indexed_changes import list_change_page
from custody.intake.install.doctor import run_quick_doctor_checks
from custody.people.read_share import count_read_lines
from custody.people.wire import ReadShareReport
from custody.server.app.questions import answer_stats_request, require_project_repository
from custody.server.page_data.cache import make_page_cache_key
from custody.server.page_data.late import LateAnswer, answer_late
from custody.server.page_data.sessions import read_session_list_page
from custody.server.page_data.site import read_repository_row
from custody.server.pages.changes import list_open_verdicts, sort_by_action
from custody.server.pages.charts import BarPart, Series
from custody.server.pages.page import Page, PageParams, PageView, attempt_page_part
from custody.server.queries import ActivityTables
from custody.share.chain_exchange import list_chain_states
from custody.trust.app.account import list_trust_agents
from custody.workspace.workspace import Workspace, has_workspace_repository


class Capability(Struct, frozen=True):
    """A question that custody answers: from which tables, on which page, and the command to run without data."""

    name: str
    tables: tuple[str, ...]
    page: str
    next: str
    command: str
    in_repository: bool = False
    """Whether it needs the repository too."""


ABILITIES: tuple[Capability, ...] = (
    Capability(
        "Who wrote which line",
        ("file_edit", "file_state", "traced_file"),
        "blame",
        "no edits recorded: record agents, or import their sessions",
        "custody init",
        in_repository=True,
    ),
    Capability(
        "What agents were prompted to do, and what they did",
        ("prompt", "tool_call"),
        "sessions",
        "no sessions recorded",
        "custody import",
    ),
    Capability(
        "Which changes duplicate each other",
        ("dupe_change",),
        "changes",
        "no changes indexed",
        "custody dupes index",
    ),
    Capability(
        "How far to trust an agent",
        ("decision",),
        "trust",
        "no reviews recorded",
        "custody trust reverts",
    ),
    Capability(
        "Which sources statements cite", ("registry_source",), "sources", "no sources recorded", "custody cite add"
    ),
    Capability(
        "Which tools call which, and in what order",
        ("tool_call", "span"),
        "graph",
        "no calls recorded",
        "custody import",
    ),
)


class CapabilityState(Struct, frozen=True):
    """A capability and the reason why it cannot answer yet."""

    ability: Capability
    why_not: str | None
    """None if it can answer."""


class OverviewPage(Struct, frozen=True, kw_only=True):
    """Counts, checks and capabilities; ``since`` is the earliest time in a record."""

    records: int
    chains: int
    since: str | None
    checks: Sequence[DoctorCheck]
    capabilities: Sequence[CapabilityState]

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of checks by state."""
        return MappingProxyType(
            {state: sum(c.state == state for c in self.checks) for state in ("ill", "note", "well")}
        )

    @property
    def worst(self) -> DoctorCheck | None:
        """The first problem, else the first warning."""
        return next((check for state in ("ill", "note") for check in self.checks if check.state == state), None)


def read_overview_page(workspace: Workspace) -> OverviewPage:
    """Return the overview without reading every record."""
    with workspace.reading() as store, store.reading():
        activity = ActivityTables(store)
        heads = [head for head in store.tables.chains() if head.store != PENDING]
        first = activity.first_ns()
        filled = activity.holds(sorted({name for ability in ABILITIES for name in ability.tables}))
    return OverviewPage(
        records=sum(int(head.seq) for head in heads),
        chains=len(heads),
        since=None if first is None else format_timestamp(first),
        checks=run_quick_doctor_checks(workspace),
        capabilities=[
            _read_capability_state(ability, filled, lambda: has_workspace_repository(workspace))
            for ability in ABILITIES
        ],
    )


def _read_capability_state(ability: Capability, filled: frozenset[str], here: Callable[[], bool]) -> CapabilityState:
    if not filled.intersection(ability.tables):
        return CapabilityState(ability, ability.next)
    if ability.in_repository and not here():
        return CapabilityState(ability, "this service has no repository of the project")
    return CapabilityState(ability, None)


def encode_page_refresh_state(workspace: Workspace) -> bytes:
    """Encode the number of records and a digest that changes with every new record.

    Every open page polls it every few seconds, so it reads only the heads of the chains.
    """
    chains = list_chain_states(workspace).chains
    digest = sha256("\n".join(f"{chain.store} {chain.seq} {chain.link}" for chain in chains).encode()).hexdigest()
    return json.dumps({"records": sum(chain.seq for chain in chains), "head": digest}).encode()


CHANGES_SHOWN = 10
SESSIONS_SHOWN = 8
AGENTS_SHOWN = 6
FOLDERS_SHOWN = 5
SHORT_COMMIT = 8
MODELS_SHOWN = 5
"""Models with their own color; the others share one."""
PERIODS_SHOWN = 60
BEFORE, UNKNOWN = "before", "unknown"
OTHERS, PEOPLE, NO_AUTHOR = "other models", "people", "unknown"


class OwnershipChart(Struct, frozen=True, kw_only=True):
    """Lines by author, for charts: ``curve`` is the agents' share of all lines up to each period, in percent."""

    report: StatsReport
    bar: Sequence[BarPart]
    periods: Sequence[str]
    models: Sequence[Series]
    curve: Sequence[float]
    undated: int


def view_overview(workspace: Workspace, params: PageParams) -> PageView:
    """Show what is known at once; counts are loaded later."""
    changes = list_change_page(workspace, state="open", text="", before=None, limit=CHANGES_SHOWN)
    verdicts = list_open_verdicts(workspace, params, changes.items)
    return PageView(
        title="Overview",
        template="overview.html",
        fields={
            "overview": read_overview_page(workspace),
            "sessions": read_session_list_page(workspace, limit=SESSIONS_SHOWN).items,
            "changes": changes,
            "rows": sort_by_action(changes.items, verdicts),
            "verdicts": verdicts,
            "has_repository": has_workspace_repository(workspace),
            "agents": attempt_page_part(lambda: list_trust_agents(workspace, after=None, limit=AGENTS_SHOWN)),
            **_read_head_names(workspace),
        },
    )


def view_repositories(workspace: Workspace, params: PageParams) -> PageView:
    """Show the repositories of this service that the reader may read."""
    own = read_repository_row(workspace, workspace.project, params.memory.site)
    fields = {"own": own, "others": params.others}
    return PageView(title="Repositories", template="overview_repositories.html", fields=fields)


def _read_head_names(workspace: Workspace) -> dict[str, str | None]:
    """Return the names of HEAD's branch and commit; None for what is missing."""
    head = workspace.repository.head() if has_workspace_repository(workspace) else None
    branch = None if head is None or head.branch is None else head.branch.decode("utf-8", "replace")
    return {
        "branch": None if branch is None else branch.removeprefix("refs/heads/"),
        "commit": None if head is None or head.commit is None else head.commit[:SHORT_COMMIT],
    }


def view_ownership_share(workspace: Workspace, params: PageParams) -> PageView:
    """Show the lines by author."""
    count = attempt_page_part(lambda: count_lines_for_page(workspace, params))
    report = None if isinstance(count, str) else count.answer
    fields = {"count": count, "chart": None if report is None else make_ownership_chart(report)}
    return PageView(title="Lines by author", template="overview_share.html", fields=fields)


def view_read_share(workspace: Workspace, params: PageParams) -> PageView:
    """Show how many of the agents' merged lines a person read."""
    count = attempt_page_part(lambda: count_read_lines_for_page(workspace, params))
    return PageView(title="Read by a person", template="overview_read.html", fields={"count": count})


def count_read_lines_for_page(workspace: Workspace, params: PageParams) -> LateAnswer[ReadShareReport]:
    """Return the count of read lines, or the last one while the queue computes it."""
    here = require_project_repository(workspace)
    return answer_late(
        params.memory.work,
        params.memory.reads,
        make_page_cache_key(workspace),
        (here.repository.head().commit, encode_page_refresh_state(workspace)),
        workspace.now_ns(),
        lambda progress: count_read_lines(replace(here, progress=progress)),
    )


def view_ownership_growth(workspace: Workspace, params: PageParams) -> PageView:
    """Show the lines by author over time, and the folders where evidence is missing."""
    count = attempt_page_part(lambda: count_lines_for_page(workspace, params))
    report = None if isinstance(count, str) else count.answer
    fields = {
        "count": count,
        "chart": None if report is None else make_ownership_chart(report),
        "unknown": [] if report is None else list_unknown_folders(report),
    }
    return PageView(title="Lines over time", template="overview_growth.html", fields=fields)


def list_unknown_folders(report: StatsReport) -> list[LineShare]:
    """Return the folders with the most lines of unknown authors."""
    folders = [folder for folder in report.folders if folder.none]
    return sorted(folders, key=lambda folder: (-folder.none, folder.name))[:FOLDERS_SHOWN]


def count_lines_for_page(workspace: Workspace, params: PageParams) -> LateAnswer[StatsReport]:
    """Return the line count of the last commit, or the last count while the queue computes it."""
    commit = workspace.repository.head().commit if has_workspace_repository(workspace) else None
    if has_workspace_repository(workspace) and commit is None:
        raise InputError("this repository has no commits yet", hint="custody counts committed lines")
    return answer_late(
        params.memory.work,
        params.memory.shares,
        make_page_cache_key(workspace),
        (commit, encode_page_refresh_state(workspace)),
        workspace.now_ns(),
        lambda progress: answer_stats_request(replace(workspace, progress=progress), None, revision=commit),
    )


def make_ownership_chart(report: StatsReport) -> OwnershipChart:
    """Return a count as charts; periods before the shown ones count as earlier."""
    dated = [period for period in report.growth if period.name not in (BEFORE, UNKNOWN)]
    shown = dated[-PERIODS_SHOWN:]
    earlier = [period for period in report.growth if period.name == BEFORE] + dated[:-PERIODS_SHOWN]
    named = [share.name for share in report.models[:MODELS_SHOWN]]
    total = report.totals
    return OwnershipChart(
        report=report,
        bar=[
            BarPart("agents", total.agent, "k-agent"),
            BarPart("both", total.mixed, "k-mixed"),
            BarPart(PEOPLE, total.person, "k-person"),
            BarPart(NO_AUTHOR, total.none, "k-none"),
        ],
        periods=[period.name for period in shown],
        models=_make_model_chart_series(shown, named, has_others=len(report.models) > MODELS_SHOWN),
        curve=_make_ownership_curve(earlier, shown),
        undated=sum(period.lines for period in report.growth if period.name == UNKNOWN),
    )


def _make_model_chart_series(periods: Sequence[StatsPeriod], named: Sequence[str], *, has_others: bool) -> list[Series]:
    """Return a series for each model, for people and for unknown authors, without empty ones."""
    series = [Series(name, [period.models.get(name, 0) for period in periods]) for name in named]
    if has_others:
        rest = [sum(lines for name, lines in period.models.items() if name not in named) for period in periods]
        series.append(Series(OTHERS, rest))
    series.append(Series(PEOPLE, [period.person for period in periods], "s7"))
    series.append(Series(NO_AUTHOR, [period.none for period in periods], "k-none"))
    return [data_series for data_series in series if any(data_series.values)]


def _make_ownership_curve(earlier: Sequence[StatsPeriod], periods: Sequence[StatsPeriod]) -> list[float]:
    """Return the agents' share of all lines committed up to the end of each period, in percent."""
    lines = sum(period.lines for period in earlier)
    agents = sum(period.lines * period.share for period in earlier)
    curve = []
    for period in periods:
        lines, agents = lines + period.lines, agents + period.lines * period.share
        curve.append(round(100 * agents / lines, 1) if lines else 0.0)
    return curve


PAGES = (
    Page(name="overview", label="Overview", view=view_overview),
    Page(name="overview-share", view=view_ownership_share, part=True),
    Page(name="overview-read", view=view_read_share, part=True),
    Page(name="overview-growth", view=view_ownership_growth, part=True),
    Page(name="overview-repositories", view=view_repositories, part=True, across=True),
)
