"""Descent of changes in three modes, without cycles, and the bases of a cluster."""

import random
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.dupes.descent import (
    ChangeSet,
    Descent,
    DescentLink,
    Mode,
    build_change_descent,
    choose_comparison_mode,
    find_descent_links,
)
from custody.dupes.rules import DedupeRules
from tests.unit.dupes.changes import a_set, sets

RULES = DedupeRules()
NO_GROWTH = DedupeRules(contain_growth_min=0.0, contain_min=0.5)
TEN = "abcdefghij"


def edges(a: ChangeSet, b: ChangeSet, rules: DedupeRules = RULES) -> list[DescentLink]:
    return list(find_descent_links(1, a, 2, b, rules))


# Conformance: 002-052
def test_a_change_is_part_of_a_larger_one_that_contains_it() -> None:
    (edge,) = edges(a_set(TEN), a_set(TEN + "kl", opened_ns=2_000))
    assert (edge.part, edge.whole, edge.mode) == (1, 2, Mode.PATCH)
    assert edge.contained == 1.0
    assert edge.growth == pytest.approx(0.2)
    assert edge.reason == "they share 100% of the smaller one's code"
    assert not edge.is_against_time


# Conformance: 002-052
def test_more_than_nine_tenths_must_be_contained() -> None:
    assert edges(a_set(TEN), a_set(TEN[:9] + "klmnop")) == []
    assert edges(a_set(TEN + "0"), a_set(TEN + "klmnop")) != []


# Conformance: 002-053
def test_the_whole_must_be_larger_by_a_tenth() -> None:
    assert edges(a_set(TEN), a_set(TEN)) == []
    assert edges(a_set(TEN), a_set(TEN + "k")) != []
    assert edges(a_set(TEN + TEN.upper()), a_set(TEN + TEN.upper() + "k")) == []


# Conformance: 002-054
def test_time_is_a_soft_constraint() -> None:
    (edge,) = edges(a_set(TEN, opened_ns=2_000), a_set(TEN + "kl", opened_ns=1_000))
    assert (edge.part, edge.whole) == (1, 2)
    assert edge.is_against_time


def test_if_two_changes_contain_each_other_the_earlier_is_the_part() -> None:
    descent = build_change_descent({1: a_set(TEN, opened_ns=9), 2: a_set(TEN, opened_ns=5)}, NO_GROWTH)
    assert [(edge.part, edge.whole) for edge in descent.edges] == [(2, 1)]
    assert [(edge.part, edge.whole, edge.is_against_time) for edge in descent.dropped] == [(1, 2, True)]
    same_time = build_change_descent({1: a_set(TEN), 2: a_set(TEN)}, NO_GROWTH)
    assert [(edge.part, edge.whole) for edge in same_time.edges] == [(1, 2)]


def test_the_empty_set_is_part_of_nothing_and_contains_nothing() -> None:
    assert edges(a_set(), a_set(TEN)) == []
    assert edges(a_set(), a_set(), NO_GROWTH) == []


# Conformance: 002-060
def test_rewrites_are_compared_by_fingerprints() -> None:
    small = a_set(TEN, prints=range(10), lines=2_001)
    large = a_set("XYZ", prints=range(12))
    (edge,) = edges(small, large)
    assert (edge.part, edge.mode) == (1, Mode.REWRITE)
    assert edge.reason == "one changes 2,001 lines, more than 2,000"


def test_rewrites_without_fingerprints_are_compared_by_lines() -> None:
    (edge,) = edges(a_set(TEN, lines=2_001), a_set(TEN + "kl"))
    assert edge.mode is Mode.PATCH


def test_the_same_names_written_differently_are_compared_by_names() -> None:
    (edge,) = edges(a_set(TEN, symbols="pqr"), a_set("XYZ", symbols="pqrs"))
    assert (edge.part, edge.mode) == (1, Mode.SYMBOLS)
    assert edge.reason == "they share only 0% of the smaller one's code"


def test_few_names_are_not_compared() -> None:
    assert choose_comparison_mode(a_set(TEN, symbols="pq"), a_set("XYZ", symbols="pqrs"), RULES) == (
        Mode.PATCH,
        "they share 0% of the smaller one's code",
    )
    assert choose_comparison_mode(a_set(symbols="pq"), a_set("XYZ", symbols="pqrs"), RULES) is None


def test_names_are_compared_without_lines() -> None:
    choice = choose_comparison_mode(a_set(symbols="pqr"), a_set("XYZ", symbols="pqr"), RULES)
    assert choice == (Mode.SYMBOLS, "one has no lines to compare, but both have names")


# Conformance: 002-055
def test_a_chain_begins_with_its_smallest() -> None:
    small, middle, large = a_set("abcd", opened_ns=1), a_set("abcdef", opened_ns=2), a_set("abcdefgh", opened_ns=3)
    descent = build_change_descent({7: large, 5: middle, 9: small}, RULES)
    assert [(edge.part, edge.whole) for edge in descent.edges] == [(9, 7), (9, 5), (5, 7)]
    (base,) = descent.bases
    assert base.change == 9
    assert base.reasons == (
        "contains no other change",
        "contained in 2 of 2 others",
        "opened first",
    )


def test_the_base_contained_in_most_changes_comes_first() -> None:
    changes = {1: a_set("xyz", opened_ns=0), 2: a_set("abc"), 3: a_set("abcdef", opened_ns=2_000)}
    descent = build_change_descent(changes, RULES)
    assert [base.change for base in descent.bases] == [2, 1]
    assert descent.bases[1].reasons == ("contains no other change", "opened first")


def test_a_change_alone_is_its_own_base() -> None:
    assert [base.reasons for base in build_change_descent({1: a_set("abc")}, RULES).bases] == [
        ("contains no other change",)
    ]
    assert build_change_descent({}, RULES) == Descent((), (), ())


CLUSTERS = st.dictionaries(st.integers(1, 9), sets(), max_size=7)
LOOSE = st.sampled_from([RULES, NO_GROWTH, DedupeRules(contain_growth_min=0.0, contain_min=0.0)])


def has_cycle(descent: list[DescentLink]) -> bool:
    """Return whether removing edges without predecessors leaves a cycle."""
    left = list(descent)
    while left:
        wholes = {edge.whole for edge in left}
        further = [edge for edge in left if edge.part in wholes]
        if len(further) == len(left):
            return True
        left = further
    return False


@given(CLUSTERS, LOOSE)
def test_descent_is_acyclic(changes: Mapping[int, ChangeSet], rules: DedupeRules) -> None:
    descent = build_change_descent(changes, rules)
    assert not has_cycle(list(descent.edges))
    for edge in descent.dropped:
        assert has_cycle([*descent.edges, edge])
    assert bool(descent.bases) == bool(changes)


@given(CLUSTERS, LOOSE)
def test_edges_fulfill_the_rules(changes: Mapping[int, ChangeSet], rules: DedupeRules) -> None:
    descent = build_change_descent(changes, rules)
    for edge in (*descent.edges, *descent.dropped):
        less, more = changes[edge.part].elements(edge.mode), changes[edge.whole].elements(edge.mode)
        assert less and more
        assert rules.contain_min < edge.contained <= 1
        assert edge.contained == len(set(less) & set(more)) / len(less)
        assert edge.growth >= rules.contain_growth_min or edge.growth == pytest.approx(rules.contain_growth_min)
        assert edge.is_against_time == (changes[edge.whole].opened_ns < changes[edge.part].opened_ns)


@given(CLUSTERS, LOOSE, st.randoms())
def test_the_order_of_changes_does_not_matter(
    changes: Mapping[int, ChangeSet], rules: DedupeRules, chance: random.Random
) -> None:
    mixed = list(changes.items())
    chance.shuffle(mixed)
    assert build_change_descent(dict(mixed), rules) == build_change_descent(changes, rules)


@given(CLUSTERS, LOOSE)
def test_an_unrelated_change_only_adds_a_base(changes: Mapping[int, ChangeSet], rules: DedupeRules) -> None:
    before = build_change_descent(changes, rules)
    after = build_change_descent({**changes, 99: a_set("Z", opened_ns=9)}, rules)
    assert (after.edges, after.dropped) == (before.edges, before.dropped)
    assert [base.change for base in after.bases if base.change != 99] == [base.change for base in before.bases]
