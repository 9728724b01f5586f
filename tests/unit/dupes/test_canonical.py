"""The change to keep: one that can be merged, the best by what is known; advice with its reasons."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.dupes.cluster import (
    CanonicalChange,
    CanonicalEvidence,
    Checks,
    ExclusiveScope,
    NoCanonicalChange,
    RejectedCandidate,
    canonical_of,
    scopes_of,
    why_not_viable,
)
from custody.dupes.facts.model import Channel
from tests.unit.dupes.changes import a_described, a_piece


def a_standing(change: int = 1, **known: object) -> CanonicalEvidence:
    usual: dict[str, object] = {"opened_ns": 1_000, "scope": ExclusiveScope(0, 0), "has_tests": True}
    return CanonicalEvidence(change=change, **(usual | known))  # type: ignore[arg-type]


def kept(*cluster: CanonicalEvidence) -> tuple[int, str]:
    found = canonical_of(cluster)
    assert isinstance(found, CanonicalChange)
    return found.change, found.decided_by


# Conformance: 002-056
@pytest.mark.parametrize(
    ("better", "worse", "respect"),
    [
        ({"checks": Checks.PASSED}, {"approvals": 5, "conflicts": False}, "checks"),
        ({"approvals": 2}, {"approvals": 1, "conflicts": False}, "approvals"),
        ({"approvals": 1}, {"approvals": None, "conflicts": False}, "approvals"),
        ({"conflicts": False, "scope": ExclusiveScope(9, 90)}, {"conflicts": None}, "conflicts"),
        ({"scope": ExclusiveScope(1, 90), "has_tests": False}, {"scope": ExclusiveScope(2, 5)}, "scope"),
        ({"scope": ExclusiveScope(1, 4), "has_tests": False}, {"scope": ExclusiveScope(1, 5)}, "scope"),
        ({"has_tests": True, "opened_ns": 9_000}, {"has_tests": False}, "tests"),
        ({"opened_ns": 999}, {}, "time"),
    ],
)
def test_respects_count_in_their_order(better: dict[str, object], worse: dict[str, object], respect: str) -> None:
    assert kept(a_standing(2, **better), a_standing(1, **worse)) == (2, respect)
    assert kept(a_standing(1, **worse), a_standing(2, **better)) == (2, respect)


def test_all_alike_the_smallest_id_is_kept() -> None:
    assert kept(a_standing(2), a_standing(1)) == (1, "id")


# Conformance: 002-056
def test_failed_checks_and_conflicts_are_not_viable() -> None:
    failed = a_standing(1, checks=Checks.FAILED, approvals=9)
    conflicting = a_standing(2, conflicts=True, checks=Checks.PASSED)
    assert canonical_of([failed, conflicting]) == NoCanonicalChange(
        "no change of it can be merged as it is",
        (RejectedCandidate(1, "its checks failed"), RejectedCandidate(2, "it conflicts with its base")),
    )
    found = canonical_of([failed, a_standing(3)])
    assert isinstance(found, CanonicalChange)
    assert (found.change, found.decided_by) == (3, "no other can be merged as it is")
    assert found.refused == (RejectedCandidate(1, "its checks failed"),)


def test_nothing_known_is_viable_and_says_so() -> None:
    found = canonical_of([a_standing(scope=ExclusiveScope(2, 30), has_tests=False)])
    assert isinstance(found, CanonicalChange)
    assert found.reasons == (
        "nobody knows how its checks came out",
        "nobody knows whether it was approved",
        "nobody knows whether it conflicts",
        "it changes 2 files, 30 lines, that no other of them touches",
        "it has no tests",
    )
    assert found.decided_by == "it is the only one"


def test_reasons_say_what_is_known() -> None:
    found = canonical_of([a_standing(checks=Checks.PASSED, approvals=1, conflicts=False)])
    assert isinstance(found, CanonicalChange)
    assert found.reasons == (
        "its checks passed",
        "it has 1 approval",
        "it merges cleanly",
        "it changes 0 files, 0 lines, that no other of them touches",
        "it has tests",
    )


def test_an_empty_cluster_has_no_canonical_change() -> None:
    assert canonical_of([]) == NoCanonicalChange("it has no changes", ())


def test_scope_is_what_no_other_of_the_cluster_touches() -> None:
    shared = a_piece("src/shared.ts", ["a", "b"])
    changes = {
        1: a_described(
            shared, a_piece("src/only.ts", ["a", "b"], removed=["c"]), a_piece("README.md", ["x"], channel=Channel.DOCS)
        ),
        2: a_described(shared, a_piece("trace.log", ["a"] * 50, channel=Channel.META)),
    }
    assert scopes_of(changes) == {1: ExclusiveScope(2, 4), 2: ExclusiveScope(0, 0)}


STANDINGS = st.lists(
    st.builds(
        CanonicalEvidence,
        change=st.integers(1, 99),
        opened_ns=st.integers(0, 3),
        checks=st.sampled_from(Checks),
        approvals=st.none() | st.integers(0, 2),
        conflicts=st.none() | st.booleans(),
        scope=st.builds(ExclusiveScope, st.integers(0, 2), st.integers(0, 2)),
        has_tests=st.booleans(),
    ),
    max_size=6,
    unique_by=lambda standing: standing.change,
)


@given(STANDINGS, st.randoms())
def test_the_order_of_changes_does_not_matter(cluster: list[CanonicalEvidence], chance: random.Random) -> None:
    assert canonical_of(chance.sample(cluster, len(cluster))) == canonical_of(cluster)


@given(STANDINGS)
def test_only_viable_changes_are_kept(cluster: list[CanonicalEvidence]) -> None:
    found = canonical_of(cluster)
    by_id = {standing.change: standing for standing in cluster}
    assert {refused.change for refused in found.refused} == {
        change for change, standing in by_id.items() if why_not_viable(standing) is not None
    }
    if isinstance(found, CanonicalChange):
        assert why_not_viable(by_id[found.change]) is None
    else:
        assert len(found.refused) == len(cluster)


FORGETTING: list[Callable[[CanonicalEvidence], CanonicalEvidence]] = [
    lambda one: replace(one, checks=Checks.UNKNOWN),
    lambda one: replace(one, approvals=None),
    lambda one: replace(one, conflicts=None),
]


@given(STANDINGS, st.sampled_from(FORGETTING))
def test_to_forget_what_is_known_of_others_never_costs_a_change_its_place(
    cluster: list[CanonicalEvidence], forget: Callable[[CanonicalEvidence], CanonicalEvidence]
) -> None:
    found = canonical_of(cluster)
    if not isinstance(found, CanonicalChange):
        return
    viable = [one for one in cluster if why_not_viable(one) is None]
    forgotten = [one if one.change == found.change else forget(one) for one in viable]
    after = canonical_of(forgotten)
    assert isinstance(after, CanonicalChange) and after.change == found.change
