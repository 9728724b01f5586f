"""Clusters of changes, made from links between pairs so that one weak link cannot join two clusters.

Changes that are called duplicates form a group, so that a cluster has every duplicate of its changes. Linked groups
form a component, and a component is split into stars. The group with the most links is the center. Its star has the
groups linked to it, except those that are linked more strongly to others. Further groups join if they are linked to
enough of the star. The rest is split in the same way. So every group of a cluster is linked to the center or to a good
share of the star, never only to the end of a chain.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType

from msgspec import Struct

from custody.core.plural import count_noun
from custody.dupes.model import Category, ChangeDescription
from custody.dupes.rules import DedupeRules
from custody.dupes.signature import SCORED

LINKS_SHARE_MIN = 0.5
"""Share of the star that a change without a link to the center must be linked to."""


class PairLink(Struct, frozen=True):
    """The category of two changes, the strength of the link from 0 to 1, and whether they are called duplicates."""

    a: int
    b: int
    category: Category
    strength: float
    is_duplicate: bool = False


class Cluster(Struct, frozen=True):
    """Changes that belong together, ascending; ``id`` is the smallest, ``center`` has the most links."""

    id: int
    members: tuple[int, ...]
    center: int


class Clusters(Struct, frozen=True):
    """Clusters of at least two changes, by id; ``cut`` holds the links between different clusters."""

    clusters: tuple[Cluster, ...]
    cut: tuple[PairLink, ...]


def clusters_from_links(links: Iterable[PairLink], rules: DedupeRules) -> Clusters:
    """Make clusters from links; their order does not matter."""
    used = [link for link in links if link.category.value in rules.cluster_categories and link.a != link.b]
    groups = _Groups(link for link in used if link.is_duplicate or link.category is Category.SAME_CHANGE)
    for link in used:
        groups.add_changes(link.a, link.b)
    strengths = _collect_link_strengths(used, groups)
    clusters = sorted(_split_into_clusters(groups, strengths), key=lambda cluster: cluster.id)
    home = {member: cluster.id for cluster in clusters for member in cluster.members}
    cut = [link for link in used if home.get(link.a, link.a) != home.get(link.b, link.b)]
    return Clusters(tuple(clusters), tuple(sorted(cut, key=_to_link_sort_key)))


class _Groups:
    """Groups of changes that are called duplicates (union-find); the smallest change names the group."""

    def __init__(self, same: Iterable[PairLink]) -> None:
        self._above: dict[int, int] = {}
        for link in same:
            first, second = sorted((self.find_group(link.a), self.find_group(link.b)))
            self._above[second] = first

    def find_group(self, change: int) -> int:
        """Return the group of a change."""
        above = self._above.setdefault(change, change)
        while above != change:
            # Halve the path for the next call.
            self._above[change] = self._above[above]
            change, above = above, self._above[above]
        return change

    def add_changes(self, *changes: int) -> None:
        """Add changes, each as its own group if it has none."""
        for change in changes:
            self._above.setdefault(change, change)

    def members(self) -> dict[int, list[int]]:
        """Return every group with its changes, ascending."""
        members: dict[int, list[int]] = {}
        for change in sorted(self._above):
            members.setdefault(self.find_group(change), []).append(change)
        return members


Strengths = Mapping[int, Mapping[int, float]]
"""Linked groups in both directions, with the strength of their strongest link."""


def _collect_link_strengths(links: Iterable[PairLink], groups: _Groups) -> Strengths:
    strengths: dict[int, dict[int, float]] = {}
    for link in links:
        a, b = groups.find_group(link.a), groups.find_group(link.b)
        if a != b:
            strength = max(link.strength, strengths.get(a, {}).get(b, 0.0))
            strengths.setdefault(a, {})[b] = strength
            strengths.setdefault(b, {})[a] = strength
    return strengths


def _split_into_clusters(groups: _Groups, strengths: Strengths) -> Iterator[Cluster]:
    members = groups.members()
    for component in _find_cluster_components(members, strengths):
        for center, joined in _split_component_stars(component, strengths):
            changes = sorted(change for group in joined for change in members[group])
            if len(changes) > 1:
                yield Cluster(changes[0], tuple(changes), center)


def _find_cluster_components(groups: Iterable[int], strengths: Strengths) -> Iterator[set[int]]:
    left = set(groups)
    while left:
        component: set[int] = set()
        todo = {left.pop()}
        while todo:
            component |= todo
            todo = {other for group in todo for other in strengths.get(group, ())} - component
        left -= component
        yield component


def _split_component_stars(component: Collection[int], strengths: Strengths) -> Iterator[tuple[int, set[int]]]:
    """Yield centers with their groups until every group of the component has a cluster."""
    rest = set(component)
    while rest:
        links = {
            group: {other: to for other, to in strengths.get(group, {}).items() if other in rest} for group in rest
        }
        center = min(rest, key=lambda group: (-len(links[group]), -math.fsum(links[group].values()), group))
        near = {center, *links[center]}
        star = {group for group in near if group == center or _is_star_member(links[group], near)}
        enough = LINKS_SHARE_MIN * len(star)
        joined = star | {group for group in rest - near if len(star & links[group].keys()) >= enough}
        yield center, joined
        rest -= joined


def _is_star_member(links: Mapping[int, float], near: Collection[int]) -> bool:
    inside = math.fsum(strength for other, strength in links.items() if other in near)
    return 2 * inside >= math.fsum(links.values())


def _to_link_sort_key(link: PairLink) -> tuple[int, int, str, float]:
    return link.a, link.b, link.category.value, link.strength


# Which change of a cluster to keep (document 002, section 8), chosen independently of the cluster's base.
# Only a change that could be merged is chosen. Unknown facts never help a change: they rank below the good answer, and
# the reasons name them.


class Checks(Enum):
    """The result of a change's CI checks."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


class ExclusiveScope(Struct, frozen=True):
    """The part of a change in files that no other change of its cluster touches."""

    files: int
    lines: int


class CanonicalEvidence(Struct, frozen=True, kw_only=True):
    """Facts for and against keeping a change; None means unknown."""

    change: int
    opened_ns: int
    checks: Checks = Checks.UNKNOWN
    approvals: int | None = None
    conflicts: bool | None = None
    scope: ExclusiveScope
    has_tests: bool


class RejectedCandidate(Struct, frozen=True):
    """A change that cannot be merged as it is, and why."""

    change: int
    reason: str


class CanonicalChange(Struct, frozen=True):
    """The change to keep; ``reasons`` lists its facts, ``decided_by`` names the first advantage over the next best."""

    change: int
    reasons: tuple[str, ...]
    decided_by: str
    refused: tuple[RejectedCandidate, ...]


class NoCanonicalChange(Struct, frozen=True):
    """No change of the cluster can be kept as it is."""

    reason: str
    refused: tuple[RejectedCandidate, ...]


def choose_canonical_change(cluster: Iterable[CanonicalEvidence]) -> CanonicalChange | NoCanonicalChange:
    """Choose the change of a cluster to keep, or say why there is none; the order does not matter."""
    candidates = sorted(cluster, key=lambda candidate: candidate.change)
    refused = tuple(
        RejectedCandidate(candidate.change, reason)
        for candidate in candidates
        if (reason := find_merge_obstacle(candidate)) is not None
    )
    viable = sorted(
        (candidate for candidate in candidates if find_merge_obstacle(candidate) is None), key=_rank_candidate_change
    )
    if not viable:
        return NoCanonicalChange("none can be merged as it is" if candidates else "the cluster is empty", refused)
    best = viable[0]
    return CanonicalChange(
        best.change,
        tuple(_explain_canonical_evidence(best)),
        _name_deciding_criterion(best, viable[1:], len(candidates)),
        refused,
    )


def find_merge_obstacle(candidate: CanonicalEvidence) -> str | None:
    """Return why a change cannot be merged as it is; None without a known obstacle."""
    if candidate.checks is Checks.FAILED:
        return "its checks failed"
    return "it conflicts with its base" if candidate.conflicts else None


def measure_exclusive_scopes(cluster: Mapping[int, ChangeDescription]) -> dict[int, ExclusiveScope]:
    """Measure what each change does in files that no other change of the cluster touches."""
    paths = [{piece.path for piece in change.select_channels(*SCORED)} for change in cluster.values()]
    touched = Counter(path for change_paths in paths for path in change_paths)
    return {id_: _measure_exclusive_scope(change, touched) for id_, change in cluster.items()}


def _measure_exclusive_scope(change: ChangeDescription, touched: Mapping[str, int]) -> ExclusiveScope:
    outside = [piece for piece in change.select_channels(*SCORED) if touched[piece.path] == 1]
    return ExclusiveScope(len({piece.path for piece in outside}), sum(piece.added + piece.removed for piece in outside))


CRITERIA: MappingProxyType[str, Callable[[CanonicalEvidence], tuple[int, ...]]] = MappingProxyType(
    {
        "its checks passed": lambda evidence: (evidence.checks is not Checks.PASSED,),
        "most approvals": lambda evidence: (-(evidence.approvals or 0),),
        "merges cleanly": lambda evidence: (evidence.conflicts is None,),
        "smallest scope": lambda evidence: (evidence.scope.files, evidence.scope.lines),
        "has tests": lambda evidence: (not evidence.has_tests,),
        "opened first": lambda evidence: (evidence.opened_ns,),
    }
)
"""The criteria by which changes are compared, the most important first; smaller is better."""


def _rank_candidate_change(candidate: CanonicalEvidence) -> tuple[tuple[int, ...], ...]:
    return (*(rank(candidate) for rank in CRITERIA.values()), (candidate.change,))


def _name_deciding_criterion(best: CanonicalEvidence, others: list[CanonicalEvidence], candidates: int) -> str:
    if not others:
        return "the only change" if candidates == 1 else "no other change can be merged as it is"
    return next((name for name, rank in CRITERIA.items() if rank(best) != rank(others[0])), "indexed first")


def _explain_canonical_evidence(candidate: CanonicalEvidence) -> Iterator[str]:
    if candidate.checks is Checks.PASSED:
        yield "checks passed"
    if candidate.approvals is not None:
        yield count_noun(candidate.approvals, "approval")
    if candidate.conflicts is False:
        yield "merges cleanly"
    files, lines = count_noun(candidate.scope.files, "file"), count_noun(candidate.scope.lines, "line")
    if candidate.scope.files:
        yield f"{files} ({lines}) that no other change touches"
    yield "has tests" if candidate.has_tests else "no tests"
    unknown = [
        name
        for name, is_unknown in (
            ("CI", candidate.checks is Checks.UNKNOWN),
            ("review", candidate.approvals is None),
            ("conflict", candidate.conflicts is None),
        )
        if is_unknown
    ]
    if unknown:
        yield f"{_join_words(unknown)} status unknown"


def _join_words(words: Sequence[str]) -> str:
    """Join words as a sentence does.

    >>> _join_words(["CI"]), _join_words(["CI", "review", "conflict"])
    ('CI', 'CI, review and conflict')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
