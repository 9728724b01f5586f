"""Clusters among everything indexed, with the names of their changes; git is asked only for the cluster shown."""

from dataclasses import dataclass

from custody.core.errors import InputError
from custody.dupes.app.change_index import changes_by_id, count_changes, is_index_outdated, list_changes
from custody.dupes.app.cluster import clusters_among, report_cluster
from custody.dupes.app.indexed_changes import dedupe_rules
from custody.dupes.app.labels import model_for
from custody.dupes.app.report import report_indexed_change
from custody.dupes.cluster import Cluster
from custody.dupes.queries.change_list import ChangeList
from custody.dupes.rules import DedupeRules
from custody.dupes.signature import SIGNATURE_VERSION
from custody.dupes.wire.report import ChangeRefReport, ClusterReport
from custody.store import Store
from custody.workspace.workspace import Workspace

MEMBERS_TOLD_MAX = 100
"""Changes that are reported of a larger cluster."""


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A cluster as a list has it: its changes by name, in the order of indexing."""

    cluster: Cluster
    members: tuple[ChangeRefReport, ...]

    @property
    def open(self) -> int:
        """How many of its changes have not landed."""
        return sum(not member.on_main for member in self.members)

    def matches(self, state: str, words: str) -> bool:
        """Whether it is of this state, and has these words in what its changes are called."""
        if state != "all" and (state == "open") != bool(self.open):
            return False
        texts = (text.lower() for member in self.members for text in (member.title, member.name, member.head))
        return not words or any(words.lower() in text for text in texts)


@dataclass(frozen=True, slots=True)
class Groups:
    """Every cluster, the largest first; among so many changes, from so many compared pairs."""

    groups: tuple[ClusterRow, ...] = ()
    changes: int = 0
    pairs: int = 0


def check_index_version(store: Store) -> None:
    """Raise an ``InputError`` where another version of custody made the index: it cannot be compared."""
    if is_index_outdated(store):
        raise InputError(
            "the index was made by another version of custody",
            hint="run 'custody dupes index', which makes it anew",
        )


def read_cluster_state(store: Store, rules: DedupeRules) -> object:
    """What clusters follow from: the same state gives the same ones."""
    last = ChangeList(store).listed(before=None, limit=1, landed=None)
    return last, count_changes(store), SIGNATURE_VERSION, rules, model_for(store, rules)


def find_groups(workspace: Workspace, store: Store, rules: DedupeRules) -> Groups:
    """Every cluster, landed commits too."""
    rows = {row.id: row for row in list_changes(store)}
    clusters, pairs = clusters_among(workspace, store, rows, rules)
    groups = (
        ClusterRow(cluster, tuple(report_indexed_change(rows[change]) for change in cluster.members))
        for cluster in clusters
    )
    return Groups(tuple(groups), len(rows), pairs)


def show_group(workspace: Workspace, group: ClusterRow) -> ClusterReport:
    """One cluster with its base and the change to keep."""
    some = group.cluster.members[:MEMBERS_TOLD_MAX]
    with workspace.reading() as store:
        rows = changes_by_id(store, some)
    here = Cluster(group.cluster.id, tuple(change for change in some if change in rows), group.cluster.centre)
    return report_cluster(workspace.repository, here, rows, dedupe_rules(workspace))
