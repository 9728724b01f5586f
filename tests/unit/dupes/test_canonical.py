"""The change of a cluster to keep: the best mergeable change, with its reasons."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.dupes.cluster import (
    CanonicalChange,
    CanonicalEvidence,
    Checks,
    ExclusiveScope,
    NoCanonicalChange,
    RejectedCandidate,
    choose_canonical_change,
    find_merge_obstacle,
    measure_exclusive_scopes,
)
from custody.dupes.facts.model import Channel
from tests.unit.dupes.changes import a_described, a_piece


def a_candidate(change: int = 1, **known: object) -> CanonicalEvidence:
    usual: dict[str, object] = {"opened_ns": 1_000, "scope": ExclusiveScope(0, 0), "has_tests": True}
    return CanonicalEvidence(change=change, **(usual | known))  # type: ignore[arg-type]


def choose(*cluster: CanonicalEvidence) -> tuple[int, str]:
    choice = choose_canonical_change(cluster)
    assert isinstance(choice, CanonicalChange)
    return choice.change, choice.decided_by


# Conformance: 002-056
@pytest.mark.parametrize(
    ("better", "worse", "criterion"),
    [
        ({"checks": Checks.PASSED}, {"approvals": 5, "conflicts": False}, "its checks passed"),
        ({"approvals": 2}, {"approvals": 1, "conflicts": False}, "most approvals"),
        ({"approvals": 1}, {"approvals": None, "conflicts": False}, "most approvals"),
        ({"conflicts": False, "scope": ExclusiveScope(9, 90)}, {"conflicts": None}, "merges cleanly"),
        ({"scope": ExclusiveScope(1, 90), "has_tests": False}, {"scope": ExclusiveScope(2, 5)}, "smallest scope"),
        ({"scope": ExclusiveScope(1, 4), "has_tests": False}, {"scope": ExclusiveScope(1, 5)}, "smallest scope"),
        ({"has_tests": True, "opened_ns": 9_000}, {"has_tests": False}, "has tests"),
        ({"opened_ns": 999}, {}, "opened first"),
    ],
)
def test_criteria_apply_in_order(better: dict[str, object], worse: dict[str, object], criterion: str) -> None:
    assert choose(a_candidate(2, **better), a_candidate(1, **worse)) == (2, criterion)
    assert choose(a_candidate(1, **worse), a_candidate(2, **better)) == (2, criterion)


def test_equal_changes_are_ranked_by_id() -> None:
    assert choose(a_candidate(2), a_candidate(1)) == (1, "indexed first")


# Conformance: 002-056
def test_failed_checks_and_conflicts_are_not_viable() -> None:
    failed = a_candidate(1, checks=Checks.FAILED, approvals=9)
    conflicting = a_candidate(2, conflicts=True, checks=Checks.PASSED)
    assert choose_canonical_change([failed, conflicting]) == NoCanonicalChange(
        "none can be merged as it is",
        (RejectedCandidate(1, "its checks failed"), RejectedCandidate(2, "it conflicts with its base")),
    )
    choice = choose_canonical_change([failed, a_candidate(3)])
    assert isinstance(choice, CanonicalChange)
    assert (choice.change, choice.decided_by) == (3, "no other change can be merged as it is")
    assert choice.refused == (RejectedCandidate(1, "its checks failed"),)


def test_unknown_facts_are_named() -> None:
    choice = choose_canonical_change([a_candidate(scope=ExclusiveScope(2, 30), has_tests=False)])
    assert isinstance(choice, CanonicalChange)
    assert choice.reasons == (
        "2 files (30 lines) that no other change touches",
        "no tests",
        "CI, review and conflict status unknown",
    )
    assert choice.decided_by == "the only change"


def test_known_facts_are_reasons() -> None:
    choice = choose_canonical_change([a_candidate(checks=Checks.PASSED, approvals=1, conflicts=False)])
    assert isinstance(choice, CanonicalChange)
    assert choice.reasons == (
        "checks passed",
        "1 approval",
        "merges cleanly",
        "has tests",
    )


def test_reasons_name_each_unknown_fact() -> None:
    choice = choose_canonical_change([a_candidate(checks=Checks.PASSED, conflicts=False)])
    assert isinstance(choice, CanonicalChange)
    assert choice.reasons[-1] == "review status unknown"
    choice = choose_canonical_change([a_candidate(approvals=2)])
    assert isinstance(choice, CanonicalChange)
    assert choice.reasons[-1] == "CI and conflict status unknown"


def test_an_empty_cluster_has_no_canonical_change() -> None:
    assert choose_canonical_change([]) == NoCanonicalChange("the cluster is empty", ())


def test_scope_counts_files_that_no_other_change_touches() -> None:
    shared = a_piece("src/shared.ts", ["a", "b"])
    changes = {
        1: a_described(
            shared, a_piece("src/only.ts", ["a", "b"], removed=["c"]), a_piece("README.md", ["x"], channel=Channel.DOCS)
        ),
        2: a_described(shared, a_piece("trace.log", ["a"] * 50, channel=Channel.META)),
    }
    assert measure_exclusive_scopes(changes) == {1: ExclusiveScope(2, 4), 2: ExclusiveScope(0, 0)}


CANDIDATES = st.lists(
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
    unique_by=lambda candidate: candidate.change,
)


@given(CANDIDATES, st.randoms())
def test_the_order_of_changes_does_not_matter(cluster: list[CanonicalEvidence], chance: random.Random) -> None:
    assert choose_canonical_change(chance.sample(cluster, len(cluster))) == choose_canonical_change(cluster)


@given(CANDIDATES)
def test_only_viable_changes_are_kept(cluster: list[CanonicalEvidence]) -> None:
    choice = choose_canonical_change(cluster)
    by_id = {candidate.change: candidate for candidate in cluster}
    assert {refused.change for refused in choice.refused} == {
        change for change, candidate in by_id.items() if find_merge_obstacle(candidate) is not None
    }
    if isinstance(choice, CanonicalChange):
        assert find_merge_obstacle(by_id[choice.change]) is None
    else:
        assert len(choice.refused) == len(cluster)


FORGETTING: list[Callable[[CanonicalEvidence], CanonicalEvidence]] = [
    lambda candidate: replace(candidate, checks=Checks.UNKNOWN),
    lambda candidate: replace(candidate, approvals=None),
    lambda candidate: replace(candidate, conflicts=None),
]


@given(CANDIDATES, st.sampled_from(FORGETTING))
def test_forgetting_facts_about_others_keeps_the_choice(
    cluster: list[CanonicalEvidence], forget: Callable[[CanonicalEvidence], CanonicalEvidence]
) -> None:
    choice = choose_canonical_change(cluster)
    if not isinstance(choice, CanonicalChange):
        return
    viable = [candidate for candidate in cluster if find_merge_obstacle(candidate) is None]
    forgotten = [candidate if candidate.change == choice.change else forget(candidate) for candidate in viable]
    after = choose_canonical_change(forgotten)
    assert isinstance(after, CanonicalChange) and after.change == choice.change
