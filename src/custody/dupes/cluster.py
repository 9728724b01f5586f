"""Which changes belong together: links between pairs, made into clusters that one weak link cannot glue together.

Changes that are the same change are one group, since being the same carries on from pair to pair. Linked groups form a
component, and a component is split into stars: the group with the most links is the centre, and the groups linked to it
are its star, save those that are linked more strongly beyond it. Of the others, those join that are linked to enough of
the star. What is left over is split in the same way. So in a cluster everyone is linked to the centre or to a good
share of those around it, never only to somebody at the end of a chain.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from custody.dupes.category import Category
from custody.dupes.rules import DedupeRules

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
