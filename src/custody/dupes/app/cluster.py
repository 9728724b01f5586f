"""Clusters of duplicate changes: their descent, and the change to keep."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise, product

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import digest_rule_tables
from custody.dupes.app.change_reader import ChangeRef, ReadChange, read_changes
from custody.dupes.app.indexed_changes import (
    count_indexed_changes,
    find_changes_by_id,
    is_change_index_outdated,
    is_open_change,
    list_indexed_changes,
    load_dedupe_rules,
)
from custody.dupes.app.labels import load_duplicate_model, load_pair_answers
from custody.dupes.app.pairs import ComparedChange, ComparedPair, PairAnswers, PairJudge, compare_row
from custody.dupes.app.report import report_indexed_change
from custody.dupes.app.select import find_indexed_change
from custody.dupes.chance import compute_duplicate_probability
from custody.dupes.cluster import (
    CanonicalChange,
    CanonicalEvidence,
    Cluster,
    NoCanonicalChange,
    PairLink,
    choose_canonical_change,
    clusters_from_links,
    measure_exclusive_scopes,
)
from custody.dupes.decision import EVIDENCE_TERMS_MIN, PairDecision, PairEvidence, decide_pair
from custody.dupes.descent import Descent, build_change_descent, make_change_set
from custody.dupes.exact_hash import KINDS
from custody.dupes.facts.model import Channel
from custody.dupes.model import ChangeDescription, ChangeRow, DuplicateVerdict, ExactKind
from custody.dupes.packing import unpack_signature
from custody.dupes.queries import ChangeList, DupesTables
from custody.dupes.rules import DedupeRules
from custody.dupes.score import measure_similarities, score_pair
from custody.dupes.signature import SIGNATURE_VERSION
from custody.dupes.wire import ChangeRefReport, ClusterMember, ClusterReport, DescentEdge, DupesClusterReport
from custody.git import Repository
from custody.store import Store
from custody.workspace.rules_in_force import load_workspace_rules
from custody.workspace.workspace import Workspace

LINKED = (DuplicateVerdict.DUPLICATE, DuplicateVerdict.COMPETING)
EQUAL_CHANGES_MAX = 40
"""Changes with the same diff whose pairs are all compared; of more, one is compared with all others."""
TERM_CHANGES_MAX = 48
"""Changes per term: more common terms make no pairs, since pairs grow with the square of this."""
SHARED_TERMS_MIN = 3
"""Terms that two changes share to be compared, unless they share a whole diff."""
MEMBERS_READ_MAX = 60
"""Changes per cluster that are read to find their descent."""

ChangeRows = Mapping[int, ChangeRow]


def dupes_cluster(workspace: Workspace, changes: Sequence[str], *, with_landed: bool) -> DupesClusterReport:
    """Compare all indexed changes that share rare terms, and cluster the duplicates."""
    rules = load_workspace_rules(workspace)[0].of(DedupeRules)
    with workspace.reading() as store:
        selected = {find_indexed_change(store, name).id for name in changes}
        every = DupesTables(store).iterate_changes()
        rows = {row.id: row for row in every if with_landed or is_open_change(row) or row.id in selected}
        clusters, pairs = cluster_changes(workspace, store, rows, rules)
    shown = [cluster for cluster in clusters if not selected or selected.intersection(cluster.members)]
    return DupesClusterReport(
        clusters=[report_cluster(workspace.repository, cluster, rows, rules) for cluster in shown],
        changes=len(rows),
        pairs=pairs,
        rules_digest=format_digest(digest_rule_tables({"dedupe": rules})),
    )


def cluster_changes(
    workspace: Workspace, store: Store, rows: ChangeRows, rules: DedupeRules
) -> tuple[list[Cluster], int]:
    """Return the clusters, largest first, and the number of compared pairs; needs no git."""
    current = {id_: row for id_, row in rows.items() if not row.superseded_by}
    answers = load_pair_answers(store)
    pairs = _find_candidate_pairs(store, current, answers)
    workspace.progress.start("comparing pairs", len(pairs))
    compared = list(_compare_pairs(pairs, current, store, rules, workspace))
    judge = PairJudge(workspace.repository, store, rules, answers, _collect_reverters(current))
    decisions = zip(compared, judge.decide([pair for _, pair in compared]), strict=True)
    links = [_link_pair(ids, pair, decision) for (ids, pair), decision in decisions if decision.verdict in LINKED]
    clusters = clusters_from_links(links, rules).clusters
    return sorted(clusters, key=lambda cluster: (-len(cluster.members), cluster.id)), len(pairs)


class CandidatePair(Struct):
    """What two changes share: the number of rare terms, the kinds of exact hashes."""

    terms: int = 0
    exact: frozenset[ExactKind] = frozenset()
    is_certain: bool = False
    """Whether the pair is compared in any case: ``check`` reported it, or a person answered."""


def _find_candidate_pairs(store: Store, rows: ChangeRows, answers: PairAnswers) -> dict[tuple[int, int], CandidatePair]:
    """Return the pairs to compare: they share rare terms or a diff, a check reported them, or a person answered."""
    shared: Counter[tuple[int, int]] = Counter()
    tables = DupesTables(store)
    for group in tables.pairs_by_terms(TERM_CHANGES_MAX):
        shared.update(combinations([change for change in group if change in rows], 2))
    pairs = {pair: CandidatePair(count) for pair, count in shared.items() if count >= SHARED_TERMS_MIN}
    for kind, group in tables.groups_by_exact():
        present = [change for change in group if change in rows]
        for pair in _pair_equal_changes(present):
            candidate = pairs.setdefault(pair, CandidatePair(shared[pair]))
            candidate.exact |= {KINDS[kind]}
    heads: dict[str, list[int]] = {}
    for row in rows.values():
        heads.setdefault(row.head, []).append(row.id)
    for head, other_head in (*tables.list_evidence_pairs(), *map(_to_head_pair, answers)):
        for a, b in product(heads.get(head, ()), heads.get(other_head, ())):
            pairs.setdefault((min(a, b), max(a, b)), CandidatePair(shared[min(a, b), max(a, b)])).is_certain = True
    return {(a, b): pair for (a, b), pair in pairs.items() if rows[a].head != rows[b].head}


def _to_head_pair(pair: frozenset[str]) -> tuple[str, str]:
    return min(pair), max(pair)


def _pair_equal_changes(changes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield all pairs of a group with the same diff; of a large group, the pairs with its first and its neighbors."""
    if len(changes) <= EQUAL_CHANGES_MAX:
        yield from combinations(changes, 2)
        return
    yield from ((changes[0], other) for other in changes[1:])
    yield from pairwise(changes[1:])


def _compare_pairs(
    pairs: Mapping[tuple[int, int], CandidatePair],
    rows: ChangeRows,
    store: Store,
    rules: DedupeRules,
    workspace: Workspace,
) -> Iterator[tuple[tuple[int, int], ComparedPair]]:
    """Yield the pairs that their content alone links, or that a person answered; only those need git."""
    model = load_duplicate_model(store)
    answered = {head for pair in load_pair_answers(store) for head in pair}
    names = DupesTables(store).list_names_of({change for pair in pairs for change in pair})
    sides: dict[int, ComparedChange] = {}
    for (a, b), candidate in sorted(pairs.items()):
        for change in (a, b):
            if change not in sides:
                signature = unpack_signature(rows[change].signature)
                sides[change] = compare_row(rows[change], signature, names.get(change, ()))
        signature, other_signature = sides[a].signature, sides[b].signature
        signals = measure_similarities(signature, other_signature)
        terms = EVIDENCE_TERMS_MIN if candidate.is_certain else candidate.terms
        pair = ComparedPair(
            this=sides[a],
            other=sides[b],
            score=score_pair(signature, other_signature, signals, rules, candidate.exact),
            chance=compute_duplicate_probability(signals, model),
            exact=candidate.exact,
            terms=terms,
        )
        by_content = decide_pair(
            PairEvidence(score=pair.score, chance=pair.chance, exact=pair.exact, terms=terms), rules
        )
        if by_content.verdict in LINKED or (sides[a].head in answered and sides[b].head in answered):
            yield (a, b), pair
        workspace.progress.step(1)


def _link_pair(ids: tuple[int, int], pair: ComparedPair, decision: PairDecision) -> PairLink:
    strength = max(decision.probability, float(bool(pair.exact)))
    return PairLink(*ids, decision.category, strength, decision.is_duplicate)


def _collect_reverters(rows: ChangeRows) -> list[ComparedChange]:
    """Return the commits of main that name a commit as reverted."""
    read = ((row, unpack_signature(row.signature)) for row in rows.values() if row.on_main)
    return [compare_row(row, signature) for row, signature in read if signature.reverted]


def report_cluster(repository: Repository, cluster: Cluster, rows: ChangeRows, rules: DedupeRules) -> ClusterReport:
    """Return a cluster with its descent and the change to keep; reads its changes from git."""
    descriptions = _read_cluster_members(repository, cluster.members[:MEMBERS_READ_MAX], rows, rules)
    descent = build_change_descent(
        {change: make_change_set(description, rules) for change, description in descriptions.items()}, rules
    )
    chosen = choose_canonical_change(_collect_canonical_evidence(descriptions))
    bases = {base.change: base.reasons for base in descent.bases} if descent.edges else {}
    return ClusterReport(
        id=rows[cluster.id].head,
        members=[_make_cluster_member(rows[change], bases.get(change), chosen) for change in cluster.members],
        edges=list(_make_descent_edges(descent, rows)),
        canonical_why=_explain_canonical_choice(chosen, rows),
    )


def _read_cluster_members(
    repository: Repository, members: Sequence[int], rows: ChangeRows, rules: DedupeRules
) -> dict[int, ChangeDescription]:
    refs = [
        ChangeRef(base=rows[member].base, head=rows[member].head, opened_ns=rows[member].opened_ns)
        for member in members
    ]
    pairs = zip(members, read_changes(repository, refs, rules), strict=True)
    return {member: change.description for member, change in pairs if isinstance(change, ReadChange)}


def _collect_canonical_evidence(descriptions: Mapping[int, ChangeDescription]) -> Iterable[CanonicalEvidence]:
    scopes = measure_exclusive_scopes(descriptions)
    return [
        CanonicalEvidence(
            change=change,
            opened_ns=description.opened_ns,
            scope=scopes[change],
            has_tests=bool(description.select_channels(Channel.TESTS)),
        )
        for change, description in descriptions.items()
    ]


def _make_cluster_member(
    row: ChangeRow, base: tuple[str, ...] | None, chosen: CanonicalChange | NoCanonicalChange
) -> ClusterMember:
    is_canonical = isinstance(chosen, CanonicalChange) and chosen.change == row.id
    return ClusterMember(
        change=report_indexed_change(row),
        is_base=base is not None,
        is_canonical=is_canonical,
        why="; ".join(base or ()),
    )


def _make_descent_edges(descent: Descent, rows: ChangeRows) -> Iterator[DescentEdge]:
    for edge in descent.edges:
        yield DescentEdge(
            part=rows[edge.part].head,
            whole=rows[edge.whole].head,
            mode=edge.mode.value,
            contained=edge.contained,
            against_time=edge.is_against_time,
        )


def _explain_canonical_choice(chosen: CanonicalChange | NoCanonicalChange, rows: ChangeRows) -> str:
    if isinstance(chosen, NoCanonicalChange):
        return f"no change to keep: {chosen.reason}"
    return f"keep {rows[chosen.change].head[:12]}: {chosen.decided_by} ({'; '.join(chosen.reasons)})"


# Clusters among all indexed changes; git reads only the changes of the cluster that is shown.


MEMBERS_SHOWN_MAX = 100
"""Changes reported per cluster."""


class ClusterRow(Struct, frozen=True):
    """A cluster in a list, with its changes in the order of indexing."""

    cluster: Cluster
    members: tuple[ChangeRefReport, ...]

    @property
    def open(self) -> int:
        """The number of its changes that are open."""
        return sum(not member.on_main and member.state == "open" for member in self.members)

    def matches(self, state: str, query: str) -> bool:
        """Return whether it has this state, and ``query`` in the title, name or head of a change."""
        if state != "all" and (state == "open") != bool(self.open):
            return False
        texts = (text.lower() for member in self.members for text in (member.title, member.name, member.head))
        return not query or any(query.lower() in text for text in texts)


class Groups(Struct, frozen=True):
    """Every cluster, largest first, and the number of changes and of compared pairs."""

    groups: tuple[ClusterRow, ...] = ()
    changes: int = 0
    pairs: int = 0


def check_change_index_version(store: Store) -> None:
    """Raise ``InputError`` if another version of custody made the index."""
    if is_change_index_outdated(store):
        raise InputError(
            "another version of custody made the index of changes",
            hint="run 'custody dupes index' to rebuild it",
        )


def read_cluster_state(store: Store, rules: DedupeRules) -> object:
    """Return a value that changes whenever the clusters may change."""
    last = ChangeList(store).list_page(before=None, limit=1, landed=None)
    return last, count_indexed_changes(store), SIGNATURE_VERSION, rules, load_duplicate_model(store)


def find_clusters(workspace: Workspace, store: Store, rules: DedupeRules) -> Groups:
    """Return every cluster, including commits of main."""
    rows = {row.id: row for row in list_indexed_changes(store)}
    clusters, pairs = cluster_changes(workspace, store, rows, rules)
    groups = (
        ClusterRow(cluster, tuple(report_indexed_change(rows[change]) for change in cluster.members))
        for cluster in clusters
    )
    return Groups(tuple(groups), len(rows), pairs)


def show_cluster(workspace: Workspace, group: ClusterRow) -> ClusterReport:
    """Return a cluster with its descent and the change to keep."""
    members = group.cluster.members[:MEMBERS_SHOWN_MAX]
    with workspace.reading() as store:
        rows = find_changes_by_id(store, members)
    present = tuple(change for change in members if change in rows)
    cluster = Cluster(group.cluster.id, present, group.cluster.center)
    return report_cluster(workspace.repository, cluster, rows, load_dedupe_rules(workspace))
