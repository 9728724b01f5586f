"""Indexed changes for pages: unknown names become ``NameNotFound``, and verdicts are computed one at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import CommitSha
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
from custody.server.page_data.cache import CacheKey, StateCache, Turns, make_page_cache_key, read_page_cache_state
from custody.workspace.workspace import Workspace, has_workspace_repository

JUDGED_MAX = 10_000


class VerdictTurns:
    """The lock for verdicts, and the state of the records at the last verdict of each change."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._judged: dict[CacheKey, int] = {}

    @contextmanager
    def hold_turn(self, workspace: Workspace, head: CommitSha) -> Iterator[None]:
        """Hold the lock for a verdict; no lock for a change that was checked on the same records before.

        A first verdict stores its results. Two writers at a time would break the seal of the store, and every later
        verdict would check the whole store again.
        """
        key = make_page_cache_key(workspace)
        with workspace.reading() as store:
            state = hash(read_page_cache_state(store))
        if self._judged.get((*key, head)) == state:
            yield
            return
        with self._turns.hold_turn(key):
            yield
        if len(self._judged) >= JUDGED_MAX:
            self._judged.clear()
        self._judged[*key, head] = state


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


def judge_change_for_page(workspace: Workspace, turns: VerdictTurns, name: str) -> GateReport:
    """Return the verdict on an open indexed change."""
    here = require_project_repository(workspace)
    row = find_change_for_page(workspace, name)
    if row.on_main:
        raise InputError("this change is already merged", hint="only open changes are checked")
    with turns.hold_turn(workspace, row.head):
        return gate(here, GateRequest(change=format_change_range(here, row)))


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
