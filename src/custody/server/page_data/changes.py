"""Indexed changes for pages: unknown names become ``NameNotFound``, and verdicts are made one at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.dupes import ChangeRow
from custody.dupes.app.cluster import (
    MEMBERS_TOLD_MAX,
    ClusterRow,
    Groups,
    check_index_version,
    find_groups,
    read_cluster_state,
    show_group,
)
from custody.dupes.app.indexed_changes import ChangePage, dedupe_rules, format_range, read_change
from custody.dupes.app.report import report_indexed_change
from custody.dupes.app.select import UnknownChange, find_change
from custody.dupes.wire import ClusterMember, ClusterReport
from custody.gate.app.gate import GateRequest, gate
from custody.gate.wire.report import GateReport
from custody.server.app.questions import name_not_found, require_repository
from custody.server.page_data.cache import CacheKey, StateCache, Turns, chains_of, place_of
from custody.workspace.workspace import Workspace, has_repository

JUDGED_MAX = 10_000


class VerdictTurns:
    """Whose turn it is to be judged, and on which records each change was judged last."""

    def __init__(self) -> None:
        self._turns = Turns()
        self._judged: dict[CacheKey, int] = {}

    @contextmanager
    def of(self, workspace: Workspace, head: CommitSha) -> Iterator[None]:
        """One verdict at a time; but of a change that was judged on the same records, as soon as it is asked for.

        A first verdict keeps what it worked out in the store. Two that write at a time break the seal which says that
        the store was checked, and each that follows checks all of it again.
        """
        place = place_of(workspace)
        with workspace.reading() as store:
            state = hash(chains_of(store))
        if self._judged.get((*place, head)) == state:
            yield
            return
        with self._turns.at(place):
            yield
        if len(self._judged) >= JUDGED_MAX:
            self._judged.clear()
        self._judged[*place, head] = state


def find_indexed(workspace: Workspace, name: str) -> ChangeRow:
    """The indexed change of this name; a ``NameNotFound`` where there is none."""
    with name_not_found(UnknownChange):
        return find_change(workspace, name)


def read_change_page(workspace: Workspace, name: str) -> ChangePage:
    """What a change is and does, as far as a repository is here to tell."""
    row = find_indexed(workspace, name)
    if not has_repository(workspace):
        return ChangePage(change=report_indexed_change(row), unread="this service has no repository of the project")
    return read_change(workspace, row)


def change_judged(workspace: Workspace, turns: VerdictTurns, name: str) -> GateReport:
    """The verdict on an indexed change that is still open, as it would land now; one at a time of a store."""
    here = require_repository(workspace)
    row = find_indexed(workspace, name)
    if row.on_main:
        raise InputError("this change has landed", hint="only open changes are judged")
    with turns.of(workspace, row.head):
        return gate(here, GateRequest(change=format_range(here, row)))


# Clusters for pages: found once for each state of the index, read from git one by one.
# Finding them compares pairs of the whole index and takes seconds where it is large, so the last ones are remembered.
# Who descends from whom is read from git only for the cluster that somebody opens.


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
