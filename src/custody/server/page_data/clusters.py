"""Clusters for pages: found once for each state of the index, read from git one by one.

Finding them compares pairs of the whole index and takes seconds where it is large, so the last ones are remembered.
Who descends from whom is read from git only for the cluster that somebody opens.
"""

from dataclasses import dataclass

from custody.dupes.app.cluster_groups import (
    MEMBERS_TOLD_MAX,
    ClusterRow,
    Groups,
    check_index_version,
    find_groups,
    read_cluster_state,
    show_group,
)
from custody.dupes.app.indexed_changes import dedupe_rules
from custody.dupes.wire.report import ClusterMember, ClusterReport
from custody.server.page_data.cache import StateCache, place_of
from custody.server.page_data.changes import find_indexed
from custody.workspace.workspace import Workspace, has_repository

NO_REPOSITORY = "this service has no repository of the project, so nobody can tell who descends from whom"


@dataclass(frozen=True, slots=True)
class ClusterListPage:
    """Some clusters of those that match, how many match, and from where there are more."""

    groups: tuple[ClusterRow, ...]
    matching: int
    next: int | None
    changes: int
    pairs: int


ClusterMemory = StateCache[Groups]


def clusters_listed(
    workspace: Workspace, memory: ClusterMemory, *, state: str, words: str, start: int, limit: int
) -> ClusterListPage:
    """The clusters with an ``open`` change, of ``landed`` ones alone, or ``all``, whose changes have these words."""
    found = clusters_known(workspace, memory)
    matching = [group for group in found.groups if group.matches(state, words)]
    end = start + limit
    following = end if len(matching) > end else None
    return ClusterListPage(tuple(matching[start:end]), len(matching), following, found.changes, found.pairs)


def clusters_known(workspace: Workspace, memory: ClusterMemory) -> Groups:
    """The clusters among everything indexed, landed commits too; none where the index cannot be compared."""
    rules = dedupe_rules(workspace)
    with workspace.reading() as store:
        check_index_version(store)
        return memory.get(
            place_of(workspace),
            read_cluster_state(store, rules),
            workspace.now_ns(),
            lambda: find_groups(workspace, store, rules),
        )


def cluster_of(workspace: Workspace, memory: ClusterMemory, name: str) -> ClusterRow | None:
    """The cluster that an indexed change belongs to; None where it belongs to none."""
    wanted = find_indexed(workspace, name).id
    return next((group for group in clusters_known(workspace, memory).groups if wanted in group.cluster.members), None)


def read_cluster_page(workspace: Workspace, group: ClusterRow) -> ClusterReport:
    """One cluster with its base and the change to keep, as far as a repository is here to tell."""
    if has_repository(workspace):
        return show_group(workspace, group)
    members = [
        ClusterMember(change=change, is_base=False, is_canonical=False, why="")
        for change in group.members[:MEMBERS_TOLD_MAX]
    ]
    return ClusterReport(id=group.members[0].head, members=members, edges=[], canonical_why=NO_REPOSITORY)
