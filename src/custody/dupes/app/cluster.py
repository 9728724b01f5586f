"""Clusters of changes that should not all land: who descends from whom, and which one to keep."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from custody.core.errors import InputError
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import rules_digest
from custody.dupes.app.change_reader import ChangeRef, ReadChange, read_changes
from custody.dupes.app.indexed_changes import (
    changes_by_id,
    count_changes,
    dedupe_rules,
    is_index_outdated,
    list_changes,
)
from custody.dupes.app.labels import model_for
from custody.dupes.app.report import report_indexed_change
from custody.dupes.app.select import find_indexed_change
from custody.dupes.chance import Model, chance_of
from custody.dupes.cluster import (
    CanonicalChange,
    CanonicalEvidence,
    Cluster,
    NoCanonicalChange,
    PairLink,
    canonical_of,
    clusters_of,
    scopes_of,
)
from custody.dupes.descent import Descent, change_set, descent_of
from custody.dupes.facts.model import Channel
from custody.dupes.model import ChangeDescription, ChangeRow, DuplicateVerdict, ExactKind, HashVariant, Signature
from custody.dupes.packing import unpack_signature
from custody.dupes.queries import ChangeList, DupesTables
from custody.dupes.rules import DedupeRules
from custody.dupes.score import score_pair, similarities, verdict
from custody.dupes.signature import SIGNATURE_VERSION
from custody.dupes.wire import ChangeRefReport, ClusterMember, ClusterReport, DescentEdge, DupesClusterReport
from custody.git import Repository
from custody.store import Store
from custody.workspace.rules_in_force import load_rules
from custody.workspace.workspace import Workspace

FLAGS = (DuplicateVerdict.DUPLICATE, DuplicateVerdict.COMPETING)
TERM_CHANGES_MAX = 12
"""Terms of more changes bring no two of them together: pairs grow with the square of this."""
SHARED_TERMS_MIN = 3
"""Two changes are compared when they share so many such terms, or a whole diff."""
MEMBERS_READ_MAX = 60
"""Of a larger cluster, only so many changes are read to find out who descends from whom."""

ChangeRows = Mapping[int, ChangeRow]


def dupes_cluster(workspace: Workspace, changes: Sequence[str], *, with_landed: bool) -> DupesClusterReport:
    """Compare all indexed changes that share something rare, and put those into clusters that are duplicates."""
    rules = load_rules(workspace)[0].of(DedupeRules)
    with workspace.reading() as store:
        wanted = {find_indexed_change(store, typed).id for typed in changes}
        every = DupesTables(store).all_changes()
        rows = {row.id: row for row in every if with_landed or not row.on_main or row.id in wanted}
        clusters, pairs = clusters_among(workspace, store, rows, rules)
    shown = [cluster for cluster in clusters if not wanted or wanted.intersection(cluster.members)]
    return DupesClusterReport(
        clusters=[report_cluster(workspace.repository, cluster, rows, rules) for cluster in shown],
        changes=len(rows),
        pairs=pairs,
        rules_digest=digest_text(rules_digest({"dedupe": rules})),
    )


def clusters_among(
    workspace: Workspace, store: Store, rows: ChangeRows, rules: DedupeRules
) -> tuple[list[Cluster], int]:
    """The clusters of these changes, the largest first, and how many pairs were compared; git is not asked."""
    pairs = _pairs(store, rows)
    workspace.progress.start("comparing pairs", len(pairs))
    links = list(_links(pairs, rows, model_for(store, rules), rules, workspace))
    clusters = clusters_of(links, rules).clusters
    return sorted(clusters, key=lambda cluster: (-len(cluster.members), cluster.id)), len(pairs)


def _pairs(store: Store, rows: ChangeRows) -> dict[tuple[int, int], int]:
    """The pairs worth comparing, with how many rare terms both have; an exact hash is worth all of them."""
    shared: Counter[tuple[int, int]] = Counter()
    tables = DupesTables(store)
    for together in tables.pairs_by_terms(TERM_CHANGES_MAX):
        shared.update(combinations([change for change in together if change in rows], 2))
    enough = {pair: count for pair, count in shared.items() if count >= SHARED_TERMS_MIN}
    for together in tables.pairs_by_exact():
        # One representative is enough: what is exactly alike is alike to all of them.
        here = [change for change in together if change in rows]
        enough.update(((here[0], other), shared[here[0], other]) for other in here[1:])
    return enough


def _links(
    pairs: Mapping[tuple[int, int], int], rows: ChangeRows, model: Model, rules: DedupeRules, workspace: Workspace
) -> Iterator[PairLink]:
    signatures: dict[int, Signature] = {}
    for (a, b), terms in sorted(pairs.items()):
        for change in (a, b):
            if change not in signatures:
                signatures[change] = unpack_signature(rows[change].signature)
        signals = similarities(signatures[a], signatures[b])
        exact = _exact(signatures[a], signatures[b])
        rated = score_pair(signatures[a], signatures[b], signals, rules, exact)
        chance = chance_of(signals, model)
        if verdict(rated, chance, exact, terms, rules) in FLAGS:
            yield PairLink(a, b, rated.category, max(chance.probability, float(bool(exact))))
        workspace.progress.step(1)


def _exact(a: Signature, b: Signature) -> frozenset[ExactKind]:
    """As far as signatures tell."""
    found = set()
    if a.whole_hash is not None and a.whole_hash == b.whole_hash:
        found.add(ExactKind(None, HashVariant.PLAIN))
    if a.prod_hash is not None and a.prod_hash == b.prod_hash:
        found.add(ExactKind(Channel.PRODUCTION, HashVariant.PLAIN))
    return frozenset(found)


def report_cluster(repository: Repository, cluster: Cluster, rows: ChangeRows, rules: DedupeRules) -> ClusterReport:
    """One cluster with who descends from whom and which one to keep, for which its changes are read from git."""
    described = _described(repository, cluster.members[:MEMBERS_READ_MAX], rows, rules)
    descent = descent_of({change: change_set(description, rules) for change, description in described.items()}, rules)
    chosen = canonical_of(_standings(described))
    bases = {base.change: base.reasons for base in descent.bases} if descent.edges else {}
    return ClusterReport(
        id=rows[cluster.id].head,
        members=[_member(rows[change], bases.get(change), chosen) for change in cluster.members],
        edges=list(_edges(descent, rows)),
        canonical_why=_why(chosen, rows),
    )


def _described(
    repository: Repository, members: Sequence[int], rows: ChangeRows, rules: DedupeRules
) -> dict[int, ChangeDescription]:
    asked = [
        ChangeRef(base=rows[member].base, head=rows[member].head, opened_ns=rows[member].opened_ns)
        for member in members
    ]
    read = zip(members, read_changes(repository, asked, rules), strict=True)
    return {change: result.described for change, result in read if isinstance(result, ReadChange)}


def _standings(described: Mapping[int, ChangeDescription]) -> Iterable[CanonicalEvidence]:
    scopes = scopes_of(described)
    return [
        CanonicalEvidence(
            change=change,
            opened_ns=description.opened_ns,
            scope=scopes[change],
            has_tests=bool(description.of(Channel.TESTS)),
        )
        for change, description in described.items()
    ]


def _member(row: ChangeRow, base: tuple[str, ...] | None, chosen: CanonicalChange | NoCanonicalChange) -> ClusterMember:
    is_canonical = isinstance(chosen, CanonicalChange) and chosen.change == row.id
    return ClusterMember(
        change=report_indexed_change(row),
        is_base=base is not None,
        is_canonical=is_canonical,
        why="; ".join(base or ()),
    )


def _edges(descent: Descent, rows: ChangeRows) -> Iterator[DescentEdge]:
    for edge in descent.edges:
        yield DescentEdge(
            part=rows[edge.part].head,
            whole=rows[edge.whole].head,
            mode=edge.mode.value,
            contained=edge.contained,
            against_time=edge.is_against_time,
        )


def _why(chosen: CanonicalChange | NoCanonicalChange, rows: ChangeRows) -> str:
    if isinstance(chosen, NoCanonicalChange):
        return f"none is advised: {chosen.reason}"
    return f"keep {rows[chosen.change].head[:12]}, decided by {chosen.decided_by}: {'; '.join(chosen.reasons)}"


# Clusters among everything indexed, with the names of their changes; git is asked only for the cluster shown.


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
