"""Indexed changes for pages: unknown names become ``NameNotFound``; verdicts come from the queue of long work."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from custody.core.errors import InputError
from custody.dupes import ChangeRow
from custody.dupes.app.cluster import (
    MEMBERS_SHOWN_MAX,
    ClusterRow,
    Groups,
    check_change_index_version,
    find_clusters,
    read_cluster_state,
    show_cluster,
)
from custody.dupes.app.indexed_changes import ChangePage, format_change_range, load_change_page, load_dedupe_rules
from custody.dupes.app.report import report_indexed_change
from custody.dupes.app.select import UnknownChange, find_change_by_name
from custody.dupes.wire import ClusterMember, ClusterReport
from custody.gate.app.gate import GateRequest, gate
from custody.gate.wire.report import GateReport
from custody.server.app.questions import map_errors_to_404, require_project_repository
from custody.server.page_data.cache import NS, CacheKey, StateCache, Turns, make_page_cache_key, read_page_cache_state
from custody.server.page_data.late import LateAnswer, answer_late
from custody.server.page_data.work import WorkJob, WorkProgress, WorkQueue
from custody.workspace.workspace import Workspace, has_workspace_repository

VERDICTS_MAX = 1_000
"""Verdicts of changes that are stored for the pages."""


class VerdictMemory:
    """The last verdict of each change, and the lock for verdicts of a store.

    A first verdict stores its results. Two writers at a time would break the seal of the store, and every later
    verdict would check the whole store again.
    """

    def __init__(self) -> None:
        self.verdicts: StateCache[GateReport] = StateCache(most=VERDICTS_MAX)
        self.failures: StateCache[str] = StateCache(most=VERDICTS_MAX)
        """Why a change of a list could not be checked."""
        self._turns = Turns()

    @contextmanager
    def hold_turn(self, workspace: Workspace) -> Iterator[None]:
        """Hold the lock for a verdict on the store of a workspace."""
        with self._turns.hold_turn(make_page_cache_key(workspace)):
            yield


class LastVerdict(Struct, frozen=True):
    """The last verdict on a change or why there is none, and how long ago it was made."""

    report: GateReport | str
    age_seconds: float


class VerdictList(Struct, frozen=True):
    """The last verdicts by the heads of their changes, and how far the check of the others is."""

    found: Mapping[str, LastVerdict]
    progress: WorkProgress | None


def find_change_for_page(workspace: Workspace, name: str) -> ChangeRow:
    """Return the indexed change of this name; a ``NameNotFound`` if there is none."""
    with map_errors_to_404(UnknownChange):
        return find_change_by_name(workspace, name)


def read_change_page(workspace: Workspace, name: str) -> ChangePage:
    """Return a change with its files; without a repository, only what is indexed."""
    row = find_change_for_page(workspace, name)
    if not has_workspace_repository(workspace):
        return ChangePage(change=report_indexed_change(row), unread="this service has no repository of the project")
    return load_change_page(workspace, row)


def judge_change_for_page(
    workspace: Workspace, memory: VerdictMemory, queue: WorkQueue | None, name: str
) -> LateAnswer[GateReport]:
    """Return the verdict on an open indexed change, or the last one while the queue computes it."""
    here = require_project_repository(workspace)
    row = find_change_for_page(workspace, name)
    if row.on_main:
        raise InputError("this change is already merged", hint="only open changes are checked")
    key = _make_verdict_key(workspace, row.head)
    return answer_late(
        queue,
        memory.verdicts,
        key,
        _read_verdict_state(workspace),
        workspace.now_ns(),
        lambda progress: _judge_change(replace(here, progress=progress), memory, row),
    )


def list_last_verdicts(
    workspace: Workspace, memory: VerdictMemory, queue: WorkQueue | None, heads: Sequence[str]
) -> VerdictList:
    """Return the last verdicts of open changes, and check those without a current one in one job of the queue."""
    now_ns, state = workspace.now_ns(), _read_verdict_state(workspace)
    found: dict[str, LastVerdict] = {}
    due: list[str] = []
    for head in heads:
        key = _make_verdict_key(workspace, head)
        entry = memory.verdicts.find_last(key) or memory.failures.find_last(key)
        if entry is not None:
            found[head] = LastVerdict(entry.answer, max(now_ns - entry.made_ns, 0) / NS)
        if entry is None or entry.is_due(state, now_ns):
            due.append(head)
    if queue is None or not due or not has_workspace_repository(workspace):
        return VerdictList(found, None)
    job = queue.ask(
        ("verdicts", *make_page_cache_key(workspace), *heads),
        lambda work: _judge_changes(workspace, memory, due, work),
        is_background=True,
    )
    return VerdictList(found, queue.measure(job))


def _judge_changes(workspace: Workspace, memory: VerdictMemory, heads: Sequence[str], work: WorkJob) -> None:
    """Check changes one after another, while a page waits for them."""
    here, state = require_project_repository(workspace), _read_verdict_state(workspace)
    work.start_step("checking changes", len(heads))
    for head in heads:
        if not work.is_wanted():
            return
        key, now_ns = _make_verdict_key(workspace, head), workspace.now_ns()
        try:
            row = find_change_for_page(workspace, head)
            memory.verdicts.get(key, state, now_ns, partial(_judge_change, here, memory, row), work.clock)
        except InputError as error:
            memory.failures.get(key, state, now_ns, partial(str, error.message))
        work.advance(1)


def _judge_change(here: Workspace, memory: VerdictMemory, row: ChangeRow) -> GateReport:
    with memory.hold_turn(here):
        return gate(here, GateRequest(change=format_change_range(here, row)))


def _make_verdict_key(workspace: Workspace, head: str) -> CacheKey:
    return (*make_page_cache_key(workspace), head)


def _read_verdict_state(workspace: Workspace) -> object:
    """Return what a verdict depends on: the records, and the commit that changes are compared with."""
    with workspace.reading() as store:
        heads = read_page_cache_state(store)
    return heads, workspace.repository.head().commit if has_workspace_repository(workspace) else None


# Finding clusters compares pairs of the whole index, which takes seconds, so the result is cached.
# Git is read only for the cluster that is shown.


NO_REPOSITORY = "which change to keep is unknown: this service has no repository of the project"


class ClusterListPage(Struct, frozen=True):
    """A page of the matching clusters, their number, and the start of the next page."""

    shown: tuple[ClusterRow, ...]
    matching: int
    next: int | None
    every: Groups


ClusterMemory = StateCache[Groups]


def read_cluster_list_page(
    workspace: Workspace, memory: ClusterMemory, *, state: str, words: str, start: int, limit: int
) -> ClusterListPage:
    """Return the clusters with an ``open`` change, with merged (``landed``) ones only, or ``all``, that match."""
    clusters = find_clusters_for_page(workspace, memory)
    matching = [group for group in clusters.groups if group.matches(state, words)]
    end = start + limit
    following = end if len(matching) > end else None
    return ClusterListPage(tuple(matching[start:end]), len(matching), following, clusters)


def find_clusters_for_page(workspace: Workspace, memory: ClusterMemory) -> Groups:
    """Return the clusters of all indexed changes, merged commits included."""
    rules = load_dedupe_rules(workspace)
    with workspace.reading() as store:
        check_change_index_version(store)
        return memory.get(
            make_page_cache_key(workspace),
            read_cluster_state(store, rules),
            workspace.now_ns(),
            lambda: find_clusters(workspace, store, rules),
        )


def find_cluster_for_page(workspace: Workspace, memory: ClusterMemory, name: str) -> ClusterRow | None:
    """Return the cluster of an indexed change; None if it is in none."""
    change_id = find_change_for_page(workspace, name).id
    return next(
        (group for group in find_clusters_for_page(workspace, memory).groups if change_id in group.cluster.members),
        None,
    )


def read_cluster_page(workspace: Workspace, group: ClusterRow) -> ClusterReport:
    """Return a cluster with its base and the change to keep; both need a repository."""
    if has_workspace_repository(workspace):
        return show_cluster(workspace, group)
    members = [
        ClusterMember(change=change, is_base=False, is_canonical=False, why="")
        for change in group.members[:MEMBERS_SHOWN_MAX]
    ]
    return ClusterReport(id=group.members[0].head, members=members, edges=[], canonical_why=NO_REPOSITORY)
