"""Clusters for somebody who looks at all of them: found once for each state of the index, read from git one by one.

Finding them compares pairs of the whole index and takes seconds where it is large, so this process remembers the last
ones. Who descends from whom is read from git only for the cluster that somebody opens.
"""

from dataclasses import dataclass

from custody.core.errors import InputError
from custody.dupes.app.change_index import changes_by_id, count_changes, is_index_outdated, list_changes
from custody.dupes.app.change_name import indexed_change
from custody.dupes.app.cluster import cluster_told, clusters_among
from custody.dupes.app.labels import model_for
from custody.dupes.app.report import named_row
from custody.dupes.cluster import Cluster
from custody.dupes.queries.change_list import ChangeList
from custody.dupes.rules import DedupeRules
from custody.dupes.signature import SIGNATURE_VERSION
from custody.dupes.wire.report import ChangeNamed, ClusterMember, ClusterTold
from custody.server.app.questions import NotThere
from custody.server.page_data.cache import Lately, place_of
from custody.store import Store
from custody.workspace.rules_in_force import loaded
from custody.workspace.workspace import Desk, has_repository

MEMBERS_TOLD_MAX = 100
"""Of a larger cluster, only so many changes are told."""
NO_REPOSITORY = "this service has no repository of the project, so nobody can tell who descends from whom"


@dataclass(frozen=True, slots=True)
class Group:
    """A cluster as a list has it: its changes by name, in the order of indexing."""

    cluster: Cluster
    members: tuple[ChangeNamed, ...]

    @property
    def open(self) -> int:
        """How many of its changes have not landed."""
        return sum(not one.on_main for one in self.members)

    def matches(self, state: str, words: str) -> bool:
        """Whether it is of this state, and has these words in what its changes are called."""
        if state != "all" and (state == "open") != bool(self.open):
            return False
        texts = (text.lower() for one in self.members for text in (one.title, one.name, one.head))
        return not words or any(words.lower() in text for text in texts)


@dataclass(frozen=True, slots=True)
class Groups:
    """Every cluster, the largest first; among so many changes, from so many compared pairs."""

    groups: tuple[Group, ...] = ()
    changes: int = 0
    pairs: int = 0


@dataclass(frozen=True, slots=True)
class GroupsListed:
    """Some clusters of those that match, how many match, and from where there are more."""

    groups: tuple[Group, ...]
    matching: int
    next: int | None
    changes: int
    pairs: int


_KEPT: Lately[Groups] = Lately()


def clusters_listed(desk: Desk, *, state: str, words: str, start: int, limit: int) -> GroupsListed:
    """The clusters with an ``open`` change, of ``landed`` ones alone, or ``all``, whose changes have these words."""
    found = clusters_known(desk)
    matching = [group for group in found.groups if group.matches(state, words)]
    end = start + limit
    following = end if len(matching) > end else None
    return GroupsListed(tuple(matching[start:end]), len(matching), following, found.changes, found.pairs)


def clusters_known(desk: Desk) -> Groups:
    """The clusters among everything indexed, landed commits too; none where the index cannot be compared."""
    rules = loaded(desk)[0].of(DedupeRules)
    with desk.reading() as store:
        if is_index_outdated(store):
            raise InputError(
                "the index was made by another version of custody",
                hint="run 'custody dupes index', which makes it anew",
            )
        return _KEPT.get(place_of(desk), _state(store, rules), desk.now_ns(), lambda: _found(desk, store, rules))


def _state(store: Store, rules: DedupeRules) -> object:
    """What clusters follow from: the same state gives the same ones."""
    last = ChangeList(store.db).listed(before=None, limit=1, landed=None)
    return last, count_changes(store), SIGNATURE_VERSION, rules, model_for(store, rules)


def _found(desk: Desk, store: Store, rules: DedupeRules) -> Groups:
    rows = {row.id: row for row in list_changes(store)}
    clusters, pairs = clusters_among(desk, store, rows, rules)
    groups = (Group(one, tuple(named_row(rows[change]) for change in one.members)) for one in clusters)
    return Groups(tuple(groups), len(rows), pairs)


def cluster_of(desk: Desk, name: str) -> Group | None:
    """The cluster that an indexed change belongs to; None where it belongs to none."""
    with desk.reading() as store:
        try:
            wanted = indexed_change(store, name).id
        except InputError as error:
            raise NotThere(error.message, hint=error.hint) from error
    return next((group for group in clusters_known(desk).groups if wanted in group.cluster.members), None)


def cluster_seen(desk: Desk, group: Group) -> ClusterTold:
    """One cluster with its base and the change to keep, as far as a repository is here to tell."""
    some = group.cluster.members[:MEMBERS_TOLD_MAX]
    if not has_repository(desk):
        members = [
            ClusterMember(change=one, is_base=False, is_canonical=False, why="")
            for one in group.members[:MEMBERS_TOLD_MAX]
        ]
        return ClusterTold(id=group.members[0].head, members=members, edges=[], canonical_why=NO_REPOSITORY)
    rules = loaded(desk)[0].of(DedupeRules)
    with desk.reading() as store:
        rows = changes_by_id(store, some)
    here = Cluster(group.cluster.id, tuple(change for change in some if change in rows), group.cluster.centre)
    return cluster_told(desk.repository, here, rows, rules)
