"""The values of the health page: checks, chains, gaps, agents and jobs."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from custody.capture.hook.event_home import read_capture_gaps
from custody.core.errors import InputError, StoreError
from custody.core.ids import PENDING, StoreId
from custody.core.record import parse_recording_gap
from custody.core.wire.canonical import Json
from custody.core.wire.report import Chain, DoctorCheck, VerifyReport
from custody.core.wire.time import format_timestamp
from custody.intake.install.agent_status import NOT_SET_UP, SET_UP, HookStatus, read_hook_status
from custody.intake.install.doctor import run_quick_doctor_checks
from custody.intake.install.init import find_installed_agents
from custody.intake.settings.agent_table import TITLES
from custody.ledger.verify import check_ledger_integrity
from custody.server.app.jobs import list_project_jobs
from custody.server.queries import ActivityTables
from custody.server.wire.tenancy import JobLine
from custody.workspace.workspace import Workspace, has_workspace_repository

LOST_READ_MAX = 1_000
GAPS_MAX = 100
JOBS_MAX = 100
CHAINS_MAX = 200
RECORDS_VERIFIED_MAX = 200_000
"""Maximum records that a page verifies; 'custody verify' checks any number."""


class GapRow(Struct, frozen=True):
    """Work that could not be recorded, and its time if known."""

    at: str | None
    what: str


class AgentHealth(Struct, frozen=True):
    """An agent, whether it is installed on this machine, and the state of its hooks."""

    agent: str
    title: str
    here: bool
    hooks: HookStatus


class HealthPage(Struct, frozen=True, kw_only=True):
    """Everything that the health page shows at once."""

    store: str
    records: int
    checks: Sequence[DoctorCheck]
    chains: Sequence[Chain]
    checked: Mapping[StoreId, int] | None
    """How far each chain was checked; None if unknown."""
    chain_count: int
    gaps: Sequence[GapRow]
    gap_count: int
    more_gaps: bool
    """Whether there are more gaps than were counted."""
    agents: Sequence[AgentHealth] | None
    """None without a repository."""
    jobs: Sequence[JobLine]
    jobs_why_not: str | None


def read_health_page(workspace: Workspace) -> HealthPage:
    """Return the state of the store without reading every record."""
    with workspace.reading() as store, store.reading():
        own, sealed = store.own(), store.read_sealed_positions()
        heads = [head for head in store.tables.chains() if head.store != PENDING]
        lost = ActivityTables(store).list_gap_records(LOST_READ_MAX)
        texts = [_read_health_gap(payload) for payload in store.tables.payloads(lost).values()]
    chains = [Chain(head.store, int(head.seq), head.link.hex(), own=head.store == own) for head in heads]
    gaps = _list_health_gaps(workspace, [text for text in texts if text is not None])
    jobs, why_not = _list_health_jobs(workspace)
    return HealthPage(
        store=workspace.store_name,
        records=sum(chain.records for chain in chains),
        checks=run_quick_doctor_checks(workspace),
        chains=chains[:CHAINS_MAX],
        checked=sealed,
        chain_count=len(chains),
        gaps=gaps[:GAPS_MAX],
        gap_count=len(gaps),
        more_gaps=len(lost) == LOST_READ_MAX,
        agents=_list_agent_health(workspace) if has_workspace_repository(workspace) else None,
        jobs=jobs,
        jobs_why_not=why_not,
    )


def verify_store_for_page(workspace: Workspace) -> VerifyReport:
    """Verify the records that are not sealed; an ``InputError`` if there are too many for a page.

    It stores no seal.
    """
    with workspace.reading() as store, store.reading():
        sealed = store.read_sealed_positions() or {}
        left = sum(max(0, int(head.seq) - sealed.get(head.store, 0)) for head in store.tables.chains())
    if left > RECORDS_VERIFIED_MAX:
        raise InputError(f"{left:,} records to verify are too many for a page", hint="run 'custody verify'")
    return check_ledger_integrity(workspace, seals=False)


def _read_health_gap(payload: Json) -> str | None:
    what = payload.get("what") if isinstance(payload, dict) else None
    return what if isinstance(what, str) else None


def _list_health_gaps(workspace: Workspace, chained: Sequence[str]) -> list[GapRow]:
    """Return each gap of the chains and the gap files once, the latest first, those without a time last."""
    filed = (
        [line for folder in workspace.gap_folders for line in read_capture_gaps(folder)]
        if has_workspace_repository(workspace)
        else []
    )
    gaps = [parse_recording_gap(line) for line in dict.fromkeys((*chained, *filed))]
    ordered = sorted(gaps, key=lambda gap: -(gap.at_ns or 0))
    return [GapRow(None if gap.at_ns is None else format_timestamp(gap.at_ns), gap.what) for gap in ordered]


def _list_agent_health(workspace: Workspace) -> list[AgentHealth]:
    """Return recorded agents first, then those with broken hooks, then the rest."""
    here = set(find_installed_agents(workspace)) | set(find_installed_agents(workspace, user=True))
    agents = [
        AgentHealth(agent, TITLES[agent], agent in here, hooks) for agent, hooks in read_hook_status(workspace).items()
    ]
    return sorted(
        agents,
        key=lambda agent_health: (
            agent_health.hooks.state != SET_UP,
            agent_health.hooks.state == NOT_SET_UP,
            not agent_health.here,
            agent_health.title,
        ),
    )


def _list_health_jobs(workspace: Workspace) -> tuple[list[JobLine], str | None]:
    try:
        return list_project_jobs(workspace, JOBS_MAX), None
    except StoreError as error:
        return [], error.message
