"""Which changes belong together: links between pairs, made into clusters that one weak link cannot glue together.

Changes that are the same change are one group, since being the same carries on from pair to pair. Linked groups form a
component, and a component is split into stars: the group with the most links is the centre, and the groups linked to it
are its star, save those that are linked more strongly beyond it. Of the others, those join that are linked to enough of
the star. What is left over is split in the same way. So in a cluster everyone is linked to the centre or to a good
share of those around it, never only to somebody at the end of a chain.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from custody.dupes.model import Category, ChangeDescription
from custody.dupes.rules import DedupeRules
from custody.dupes.signature import SCORED

LINKS_SHARE_MIN = 0.5
"""A change not linked to its cluster's centre is linked to at least this share of the rest."""


@dataclass(frozen=True, slots=True)
class PairLink:
    """What two changes are to each other, and how strongly: their final score or their chance, from 0 to 1."""

    a: int
    b: int
    category: Category
    strength: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """Changes that belong together, ascending; its id is the smallest of them, its centre has the most links."""

    id: int
    members: tuple[int, ...]
    centre: int


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters, of two changes and more, by id; and the links that reach out of one, too weak to widen it."""

    clusters: tuple[Cluster, ...]
    cut: tuple[PairLink, ...]


def clusters_of(links: Iterable[PairLink], rules: DedupeRules) -> Clusters:
    """The clusters that the links of duplicates make; the same whatever their order."""
    wanted = [link for link in links if link.category.value in rules.cluster_categories and link.a != link.b]
    groups = _Groups(link for link in wanted if link.category is Category.SAME_CHANGE)
    for link in wanted:
        groups.know(link.a, link.b)
    strengths = _strengths(wanted, groups)
    clusters = sorted(_clusters(groups, strengths), key=lambda cluster: cluster.id)
    home = {member: cluster.id for cluster in clusters for member in cluster.members}
    cut = [link for link in wanted if home.get(link.a, link.a) != home.get(link.b, link.b)]
    return Clusters(tuple(clusters), tuple(sorted(cut, key=_as_key)))


class _Groups:
    """Changes that are the same change (union-find); a group goes by its smallest."""

    def __init__(self, same: Iterable[PairLink]) -> None:
        self._above: dict[int, int] = {}
        for link in same:
            first, second = sorted((self.of(link.a), self.of(link.b)))
            self._above[second] = first

    def of(self, change: int) -> int:
        """The group of a change."""
        above = self._above.setdefault(change, change)
        while above != change:
            # Halve the way for the next who asks.
            self._above[change] = self._above[above]
            change, above = above, self._above[above]
        return change

    def know(self, *changes: int) -> None:
        """Count changes in that no other is the same as."""
        for change in changes:
            self._above.setdefault(change, change)

    def members(self) -> dict[int, list[int]]:
        """Every group with its changes, ascending."""
        members: dict[int, list[int]] = {}
        for change in sorted(self._above):
            members.setdefault(self.of(change), []).append(change)
        return members


Strengths = Mapping[int, Mapping[int, float]]
"""Groups that are linked, both ways, with their strongest link."""


def _strengths(links: Iterable[PairLink], groups: _Groups) -> Strengths:
    strengths: dict[int, dict[int, float]] = {}
    for link in links:
        a, b = groups.of(link.a), groups.of(link.b)
        if a != b:
            strength = max(link.strength, strengths.get(a, {}).get(b, 0.0))
            strengths.setdefault(a, {})[b] = strength
            strengths.setdefault(b, {})[a] = strength
    return strengths


def _clusters(groups: _Groups, strengths: Strengths) -> Iterator[Cluster]:
    members = groups.members()
    for component in _components(members, strengths):
        for centre, joined in _stars(component, strengths):
            changes = sorted(change for group in joined for change in members[group])
            if len(changes) > 1:
                yield Cluster(changes[0], tuple(changes), centre)


def _components(groups: Iterable[int], strengths: Strengths) -> Iterator[set[int]]:
    left = set(groups)
    while left:
        component: set[int] = set()
        todo = {left.pop()}
        while todo:
            component |= todo
            todo = {other for group in todo for other in strengths.get(group, ())} - component
        left -= component
        yield component


def _stars(component: Collection[int], strengths: Strengths) -> Iterator[tuple[int, set[int]]]:
    """Centres with their groups, until every group of the component has a place."""
    rest = set(component)
    while rest:
        links = {
            group: {other: to for other, to in strengths.get(group, {}).items() if other in rest} for group in rest
        }
        centre = min(rest, key=lambda group: (-len(links[group]), -math.fsum(links[group].values()), group))
        near = {centre, *links[centre]}
        star = {group for group in near if group == centre or _belongs(links[group], near)}
        enough = LINKS_SHARE_MIN * len(star)
        joined = star | {group for group in rest - near if len(star & links[group].keys()) >= enough}
        yield centre, joined
        rest -= joined


def _belongs(links: Mapping[int, float], near: Collection[int]) -> bool:
    inside = math.fsum(strength for other, strength in links.items() if other in near)
    return 2 * inside >= math.fsum(links.values())


def _as_key(link: PairLink) -> tuple[int, int, str, float]:
    return link.a, link.b, link.category.value, link.strength


# Which change of a cluster to keep (document 002, section 8): advice, chosen apart from where the cluster began.
# Only a change that could be merged is chosen. What is not known of a change never speaks for it: it counts as less
# than the good answer, and the advice says that nobody looked.


class Checks(Enum):
    """How a change's automatic checks came out."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ExclusiveScope:
    """What of a change lies outside the files that it shares with others of its cluster."""

    files: int
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalEvidence:
    """What speaks for keeping a change; None is what nobody knows."""

    change: int
    opened_ns: int
    checks: Checks = Checks.UNKNOWN
    approvals: int | None = None
    conflicts: bool | None = None
    scope: ExclusiveScope
    has_tests: bool


@dataclass(frozen=True, slots=True)
class RejectedCandidate:
    """A change that is not chosen because it cannot be merged as it is, and why."""

    change: int
    reason: str


@dataclass(frozen=True, slots=True)
class CanonicalChange:
    """The change to keep; ``reasons`` is how it stands in each respect, ``decided_by`` the first it is ahead in."""

    change: int
    reasons: tuple[str, ...]
    decided_by: str
    refused: tuple[RejectedCandidate, ...]


@dataclass(frozen=True, slots=True)
class NoCanonicalChange:
    """No change of the cluster can be advised."""

    reason: str
    refused: tuple[RejectedCandidate, ...]


def canonical_of(cluster: Iterable[CanonicalEvidence]) -> CanonicalChange | NoCanonicalChange:
    """The change of a cluster to keep, or why there is none; the same whatever their order."""
    standings = sorted(cluster, key=lambda standing: standing.change)
    refused = tuple(
        RejectedCandidate(standing.change, reason)
        for standing in standings
        if (reason := why_not_viable(standing)) is not None
    )
    viable = sorted((standing for standing in standings if why_not_viable(standing) is None), key=_rank)
    if not viable:
        return NoCanonicalChange(
            "no change of it can be merged as it is" if standings else "it has no changes", refused
        )
    best = viable[0]
    return CanonicalChange(best.change, tuple(_reasons(best)), _decided_by(best, viable[1:], len(standings)), refused)


def why_not_viable(standing: CanonicalEvidence) -> str | None:
    """Why a change cannot be merged as it is; None if nothing known stands against it."""
    if standing.checks is Checks.FAILED:
        return "its checks failed"
    return "it conflicts with its base" if standing.conflicts else None


def scopes_of(cluster: Mapping[int, ChangeDescription]) -> dict[int, ExclusiveScope]:
    """What each change does in files that no other of the cluster touches."""
    paths = {change: {piece.path for piece in described.of(*SCORED)} for change, described in cluster.items()}
    touched = Counter(path for those in paths.values() for path in those)
    return {change: _scope(described, touched) for change, described in cluster.items()}


def _scope(change: ChangeDescription, touched: Mapping[str, int]) -> ExclusiveScope:
    outside = [piece for piece in change.of(*SCORED) if touched[piece.path] == 1]
    return ExclusiveScope(len({piece.path for piece in outside}), sum(piece.added + piece.removed for piece in outside))


RESPECTS: MappingProxyType[str, Callable[[CanonicalEvidence], tuple[int, ...]]] = MappingProxyType(
    {
        "checks": lambda evidence: (evidence.checks is not Checks.PASSED,),
        "approvals": lambda evidence: (-(evidence.approvals or 0),),
        "conflicts": lambda evidence: (evidence.conflicts is None,),
        "scope": lambda evidence: (evidence.scope.files, evidence.scope.lines),
        "tests": lambda evidence: (not evidence.has_tests,),
        "time": lambda evidence: (evidence.opened_ns,),
    }
)
"""In which respects changes are compared, the weightiest first; smaller is better."""


def _rank(standing: CanonicalEvidence) -> tuple[tuple[int, ...], ...]:
    return (*(rank(standing) for rank in RESPECTS.values()), (standing.change,))


def _decided_by(best: CanonicalEvidence, others: list[CanonicalEvidence], of: int) -> str:
    if not others:
        return "it is the only one" if of == 1 else "no other can be merged as it is"
    return next((name for name, rank in RESPECTS.items() if rank(best) != rank(others[0])), "id")


def _reasons(standing: CanonicalEvidence) -> Iterator[str]:
    yield "its checks passed" if standing.checks is Checks.PASSED else "nobody knows how its checks came out"
    if standing.approvals is None:
        yield "nobody knows whether it was approved"
    else:
        yield f"it has {standing.approvals} approval{'s' * (standing.approvals != 1)}"
    yield "it merges cleanly" if standing.conflicts is False else "nobody knows whether it conflicts"
    yield f"it changes {standing.scope.files} files, {standing.scope.lines} lines, that no other of them touches"
    yield "it has tests" if standing.has_tests else "it has no tests"
