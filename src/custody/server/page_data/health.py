"""How the store and its surroundings are, for a page: checks, chains, what could not be recorded, agents, jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from custody.capture.hook.event_home import gaps_in
from custody.core.errors import InputError, StoreError
from custody.core.ids import PENDING, StoreId
from custody.core.record import gap_of
from custody.core.wire.canonical import Json
from custody.core.wire.report import Chain, DoctorCheck, VerifyReport
from custody.core.wire.time import text_from
from custody.intake.install.agent_status import NOT_SET_UP, SET_UP, HookStatus, read_hook_status
from custody.intake.install.doctor import glance
from custody.intake.install.init import TITLES, find_present_agents
from custody.ledger.verify import check_integrity
from custody.server.app.jobs import jobs_of_project
from custody.server.queries import ActivityTables
from custody.server.wire.tenancy import JobLine
from custody.workspace.workspace import Workspace, has_repository

LOST_READ_MAX = 1_000
GAPS_MAX = 100
JOBS_MAX = 100
CHAINS_MAX = 200
RECORDS_VERIFIED_MAX = 200_000
"""So many records are verified while somebody waits; more is the verb's business."""


@dataclass(frozen=True, slots=True)
class GapRow:
    """Something that could not be recorded, and when, where that is known."""

    at: str | None
    what: str


@dataclass(frozen=True, slots=True)
class AgentHealth:
    """An agent that can be set up, whether it is on this machine, and what its settings come to."""

    agent: str
    title: str
    here: bool
    hooks: HookStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthPage:
    """Everything that the page about health shows at once."""

    store: str
    records: int
    checks: Sequence[DoctorCheck]
    chains: Sequence[Chain]
    checked: Mapping[StoreId, int] | None
    """How far each chain was checked; None where that is not known."""
    chain_count: int
    gaps: Sequence[GapRow]
    gap_count: int
    more_gaps: bool
    """Whether there are gaps that were not even counted."""
    agents: Sequence[AgentHealth] | None
    """None where there is no repository in which agents could work."""
    jobs: Sequence[JobLine]
    jobs_why_not: str | None


def read_health_page(workspace: Workspace) -> HealthPage:
    """How everything is, without looking at every record."""
    with workspace.reading() as store, store.reading():
        own, sealed = store.own(), store.sealed_positions()
        heads = [head for head in store.tables.chains() if head.store != PENDING]
        lost = ActivityTables(store).lost(LOST_READ_MAX)
        said = [_lost(payload) for payload in store.tables.payloads(lost).values()]
    chains = [Chain(head.store, int(head.seq), head.link.hex(), own=head.store == own) for head in heads]
    gaps = _gaps(workspace, [what for what in said if what is not None])
    jobs, why_not = _jobs(workspace)
    return HealthPage(
        store=workspace.store_name,
        records=sum(chain.records for chain in chains),
        checks=glance(workspace),
        chains=chains[:CHAINS_MAX],
        checked=sealed,
        chain_count=len(chains),
        gaps=gaps[:GAPS_MAX],
        gap_count=len(gaps),
        more_gaps=len(lost) == LOST_READ_MAX,
        agents=_agents(workspace) if has_repository(workspace) else None,
        jobs=jobs,
        jobs_why_not=why_not,
    )


def verified_now(workspace: Workspace) -> VerifyReport:
    """What verifying finds, what is sealed not again; an ``InputError`` where that would take too long to wait for.

    A page only asks: it seals nothing.
    """
    with workspace.reading() as store, store.reading():
        sealed = store.sealed_positions() or {}
        left = sum(max(0, int(head.seq) - sealed.get(head.store, 0)) for head in store.tables.chains())
    if left > RECORDS_VERIFIED_MAX:
        raise InputError(
            f"{left:,} records are to be checked, more than a page should wait for", hint="run 'custody verify'"
        )
    return check_integrity(workspace, seals=False)


def _lost(payload: Json) -> str | None:
    what = payload.get("what") if isinstance(payload, dict) else None
    return what if isinstance(what, str) else None


def _gaps(workspace: Workspace, chained: Sequence[str]) -> list[GapRow]:
    """Each gap once, whether a chain or a file tells of it; the latest first, those without a moment at the end."""
    counted = (
        [line for folder in workspace.gap_folders for line in gaps_in(folder)] if has_repository(workspace) else []
    )
    gaps = [gap_of(line) for line in dict.fromkeys((*chained, *counted))]
    ordered = sorted(gaps, key=lambda gap: -(gap.at_ns or 0))
    return [GapRow(None if gap.at_ns is None else text_from(gap.at_ns), gap.what) for gap in ordered]


def _agents(workspace: Workspace) -> list[AgentHealth]:
    """Those that are recorded first, then those that something keeps from it, then the rest."""
    here = set(find_present_agents(workspace)) | set(find_present_agents(workspace, user=True))
    seen = [
        AgentHealth(agent, TITLES[agent], agent in here, hooks) for agent, hooks in read_hook_status(workspace).items()
    ]
    return sorted(
        seen,
        key=lambda agent_health: (
            agent_health.hooks.state != SET_UP,
            agent_health.hooks.state == NOT_SET_UP,
            not agent_health.here,
            agent_health.title,
        ),
    )


def _jobs(workspace: Workspace) -> tuple[list[JobLine], str | None]:
    try:
        return jobs_of_project(workspace, JOBS_MAX), None
    except StoreError as error:
        return [], error.message
