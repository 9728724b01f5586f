"""Clusters: linked changes belong together, but one weak link joins nothing."""

import random
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.errors import RulesError
from custody.dupes import cluster as cluster_module
from custody.dupes.cluster import PairLink, clusters_from_links
from custody.dupes.model import Category
from custody.dupes.rules import DedupeRules

RULES = DedupeRules()
SAME, FEATURE, COMPETING = Category.SAME_CHANGE, Category.SAME_FEATURE, Category.COMPETING_IMPLEMENTATION


def linked(*pairs: tuple[int, int], category: Category = FEATURE, strength: float = 0.8) -> list[PairLink]:
    return [PairLink(a, b, category, strength) for a, b in pairs]


def members(links: list[PairLink], rules: DedupeRules = RULES) -> list[tuple[int, ...]]:
    return [cluster.members for cluster in clusters_from_links(links, rules).clusters]


def test_linked_changes_are_a_cluster_named_after_the_smallest() -> None:
    (cluster,) = clusters_from_links(linked((7, 3), (7, 5)), RULES).clusters
    assert (cluster.id, cluster.members, cluster.center) == (3, (3, 5, 7), 7)


@pytest.mark.parametrize(
    ("category", "is_linked"),
    [(SAME, True), (FEATURE, True), (COMPETING, True), (Category.RELATED, False), (Category.NOT_RELATED, False)],
)
def test_which_categories_link_is_a_rule(category: Category, is_linked: bool) -> None:
    assert members(linked((1, 2), category=category)) == ([(1, 2)] if is_linked else [])
    alone = DedupeRules(cluster_categories=(category.value,)) if category is not Category.NOT_RELATED else None
    assert alone is None or members(linked((1, 2), category=category), alone) == [(1, 2)]


def test_not_related_cannot_be_made_to_link() -> None:
    with pytest.raises(RulesError, match="dedupe.cluster_categories"):
        DedupeRules(cluster_categories=("NOT_RELATED",))


def test_one_link_does_not_join_two_clusters() -> None:
    left, right = list(combinations((1, 2, 3, 4), 2)), list(combinations((5, 6, 7, 8), 2))
    result = clusters_from_links(linked(*left, *right, (4, 5)), RULES)
    assert [cluster.members for cluster in result.clusters] == [(1, 2, 3, 4), (5, 6, 7, 8)]
    assert result.cut == (PairLink(4, 5, FEATURE, 0.8),)


def test_a_change_with_a_link_into_many_clusters_joins_none() -> None:
    cliques = [list(combinations(range(10 * n, 10 * n + 4), 2)) for n in range(1, 7)]
    bridges = [(10 * n, 99) for n in range(1, 7)]
    result = clusters_from_links(linked(*chain(*cliques), *bridges), RULES)
    assert [cluster.members for cluster in result.clusters] == [tuple(range(10 * n, 10 * n + 4)) for n in range(1, 7)]
    assert len(result.cut) == 6


def test_a_chain_is_split() -> None:
    result = clusters_from_links(linked((1, 2), (2, 3), (3, 4), (4, 5), (5, 6)), RULES)
    assert [cluster.members for cluster in result.clusters] == [(1, 2, 3), (4, 5, 6)]
    assert result.cut == (PairLink(3, 4, FEATURE, 0.8),)


def test_a_change_linked_to_enough_of_the_star_joins_it(monkeypatch: pytest.MonkeyPatch) -> None:
    links = linked((1, 2), (1, 3), (1, 4), (2, 5), (3, 5))
    assert members(links) == [(1, 2, 3, 4, 5)]
    monkeypatch.setattr(cluster_module, "LINKS_SHARE_MIN", 0.6)
    assert members(links) == [(1, 2, 3, 4)]


def test_same_change_is_transitive() -> None:
    row = linked(*((n, n + 1) for n in range(1, 50)), category=SAME)
    assert members(row) == [tuple(range(1, 51))]


def test_a_group_of_the_same_change_is_linked_as_one() -> None:
    links = linked((1, 2), (2, 3), category=SAME) + linked((3, 9), (9, 8))
    (cluster,) = clusters_from_links(links, RULES).clusters
    assert (cluster.id, cluster.members, cluster.center) == (1, (1, 2, 3, 8, 9), 9)


def test_of_equally_linked_changes_the_more_strongly_linked_is_the_center() -> None:
    row = linked((1, 2), (2, 3)) + linked((3, 4), strength=0.9)
    assert members(row) == [(2, 3, 4)]
    assert clusters_from_links(row, RULES).cut == (PairLink(1, 2, FEATURE, 0.8),)


def test_self_links_and_no_links_make_no_cluster() -> None:
    assert members(linked((1, 1))) == []
    assert members([]) == []


LINKS = st.lists(
    st.builds(
        PairLink,
        st.integers(1, 12),
        st.integers(1, 12),
        st.sampled_from(Category),
        st.sampled_from([0.2, 0.5, 0.8, 1.0]),
    ),
    max_size=30,
)


@given(LINKS, st.randoms())
def test_neither_the_order_of_links_nor_of_ends_matters(links: list[PairLink], chance: random.Random) -> None:
    mixed = [
        link if chance.random() < 0.5 else PairLink(link.b, link.a, link.category, link.strength) for link in links
    ]
    chance.shuffle(mixed)
    assert clusters_from_links(mixed, RULES).clusters == clusters_from_links(links, RULES).clusters
    shuffled = chance.sample(links, len(links))
    assert clusters_from_links(shuffled, RULES) == clusters_from_links(links, RULES)


@given(LINKS, LINKS)
def test_changes_that_are_not_linked_do_not_alter_clusters(links: list[PairLink], others: list[PairLink]) -> None:
    apart = [PairLink(link.a + 100, link.b + 100, link.category, link.strength) for link in others]
    result = clusters_from_links(links + apart, RULES).clusters
    assert result == clusters_from_links(links, RULES).clusters + clusters_from_links(apart, RULES).clusters


@given(LINKS)
def test_a_change_is_in_one_cluster_with_all_that_are_the_same(links: list[PairLink]) -> None:
    result = clusters_from_links(links, RULES).clusters
    everyone = [member for cluster in result for member in cluster.members]
    assert len(everyone) == len(set(everyone))
    for cluster in result:
        assert cluster.id == min(cluster.members) and cluster.members == tuple(sorted(cluster.members))
        assert cluster.center in cluster.members and len(cluster.members) > 1
    for link in links:
        if link.category is SAME and link.a != link.b:
            assert any({link.a, link.b} <= {*cluster.members} for cluster in result)


@given(LINKS, st.sampled_from([0.3, 0.5, 1.0]))
def test_every_member_is_linked_to_the_center_or_to_enough_of_its_star(links: list[PairLink], share: float) -> None:
    features = [PairLink(link.a, link.b, FEATURE, link.strength) for link in links]
    pairs = {pair for link in links for pair in ((link.a, link.b), (link.b, link.a))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_module, "LINKS_SHARE_MIN", share)
        result = clusters_from_links(features, RULES).clusters
    for cluster in result:
        star = [change for change in cluster.members if change == cluster.center or (change, cluster.center) in pairs]
        for member in set(cluster.members) - set(star):
            assert sum((member, change) in pairs for change in star) >= share * len(star)


@given(LINKS)
def test_links_are_inside_a_cluster_or_cut(links: list[PairLink]) -> None:
    result = clusters_from_links(links, RULES)
    for link in links:
        inside = any({link.a, link.b} <= {*cluster.members} for cluster in result.clusters)
        is_used = link.category.value in RULES.cluster_categories and link.a != link.b
        assert (link in result.cut) == (is_used and not inside)


def test_what_is_called_a_duplicate_is_always_in_the_cluster_of_its_duplicates() -> None:
    left, right = list(combinations((1, 2, 3, 4), 2)), list(combinations((5, 6, 7, 8), 2))
    bridge = PairLink(4, 5, FEATURE, 0.95, is_duplicate=True)
    assert members([*linked(*left, *right), bridge]) != [(1, 2, 3, 4), (5, 6, 7, 8)]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9), st.booleans()), max_size=20))
def test_no_link_of_duplicates_is_ever_cut(pairs: list[tuple[int, int, bool]]) -> None:
    links = [PairLink(a, b, FEATURE, 0.9, is_duplicate=is_duplicate) for a, b, is_duplicate in pairs]
    assert not any(link.is_duplicate for link in clusters_from_links(links, RULES).cut)
