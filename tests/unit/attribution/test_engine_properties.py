"""Properties of the engine: neither order nor unrelated traces matter, and less evidence never improves an answer."""

import random
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from custody.attribution.engine import attribute, can_attribute_trace
from custody.attribution.model import AttributionFinding, Grade, Segment, TraceAttribution, TraceCandidate, TraceEntry
from custody.attribution.rules import AttributeRules
from custody.attribution.signals import SIGNALS, collect_trace_evidence
from custody.core.paths import Lines
from tests.unit.attribution.builders import (
    ANCESTOR,
    DIGEST,
    FILE,
    HASHED,
    HOUR,
    INSIDE,
    LINKED,
    NEAR,
    NOON,
    OTHER_FILE,
    OTHER_TEXT,
    PARENT,
    TEXT,
    a_candidate,
    a_segment,
)

NONE = 7
"""Worse than every tier."""

spans = st.builds(lambda first, more: Lines(first, first + more), st.integers(1, 25), st.sampled_from((0, 1, 5, 12)))
entries = st.builds(
    TraceEntry,
    st.sampled_from(("conversation", "change", "file")),
    st.none() | spans,
    st.sampled_from((None, TEXT, TEXT[:15], TEXT[:14], OTHER_TEXT)),
)
times = st.sampled_from((None, NOON - 24 * HOUR - 1, NOON - 24 * HOUR, NOON - HOUR, NOON, NOON + HOUR, NOON + HOUR + 1))
candidates = st.builds(
    lambda name, said, **fields: a_candidate(name, *said, **fields),
    st.sampled_from(("t1", "t2", "t3")),
    st.lists(entries, max_size=3),
    at_ns=times,
    revision=st.sampled_from((None, PARENT, PARENT[:7], PARENT[:6], ANCESTOR)),
    linked=st.booleans(),
    precedes=st.booleans(),
    supports=st.integers(0, 2),
    grade=st.sampled_from(Grade),
    intact=st.booleans(),
    call=st.sampled_from((None, "c1", "c2")),
)
strong = st.builds(
    lambda name, places, **fields: a_candidate(name, HASHED, *places, **LINKED, **fields),
    st.sampled_from(("t1", "t2", "t3")),
    st.sampled_from(((INSIDE,), (NEAR,))),
    at_ns=st.sampled_from((NOON, None)),
    revision=st.just(PARENT),
    supports=st.integers(0, 2),
    grade=st.sampled_from((Grade.CLAIMED, Grade.RECORDED)),
    intact=st.booleans(),
)
"""Near the limit of tier 1, which other candidates rarely reach."""
several = st.lists(candidates, min_size=1, max_size=5) | st.lists(strong, min_size=1, max_size=3)
segments = st.builds(
    lambda lines, at_ns, parent: a_segment(lines=lines, at_ns=at_ns, parent=parent),
    st.sampled_from((Lines(10, 20), Lines(14, 17), Lines(1, 1))),
    st.sampled_from((NOON, None)),
    st.sampled_from((PARENT, None)),
)


def _rules(profile: Literal["lineage", "document"], points: dict[str, int]) -> AttributeRules:
    # Rules require these two relations.
    points["range_match"] += points["range_overlap"]
    points["revision_parent"] += points["revision_ancestor"]
    return structs.replace(AttributeRules(), profile=profile, points=points)


weights = st.fixed_dictionaries({name: st.sampled_from((0, 5, 30, 60)) for name in sorted(SIGNALS)})
rule_sets = st.sampled_from((AttributeRules(), AttributeRules(profile="document"))) | st.builds(
    _rules, st.sampled_from(("lineage", "document")), weights
)


def find_author(segment: Segment, candidates_: Sequence[TraceCandidate], rules: AttributeRules) -> AttributionFinding:
    return attribute(segment, candidates_, rules, rules_digest=DIGEST)


def tier(finding: AttributionFinding) -> int:
    return finding.tier if isinstance(finding, TraceAttribution) else NONE


@given(segments, several, rule_sets, st.randoms(use_true_random=False))
def test_the_order_of_rows_never_matters(
    segment: Segment, some: list[TraceCandidate], rules: AttributeRules, chance: random.Random
) -> None:
    shuffled = list(some)
    chance.shuffle(shuffled)
    assert find_author(segment, shuffled, rules) == find_author(segment, some, rules)


# Conformance: 000-013
@given(segments, several, candidates, rule_sets)
def test_a_trace_of_another_file_changes_nothing(
    segment: Segment, some: list[TraceCandidate], stranger: TraceCandidate, rules: AttributeRules
) -> None:
    stranger = structs.replace(stranger, path=OTHER_FILE)
    assert find_author(segment, [stranger, *some], rules) == find_author(segment, some, rules)


@given(segments, several, candidates, rule_sets)
def test_a_trace_without_enough_evidence_changes_nothing(
    segment: Segment, some: list[TraceCandidate], weak: TraceCandidate, rules: AttributeRules
) -> None:
    weak = structs.replace(weak, entries=tuple(TraceEntry(e.level, None, e.hash) for e in weak.entries), linked=False)
    assert not can_attribute_trace(collect_trace_evidence(segment, weak, rules, rules_digest=DIGEST))
    assert weak.path == FILE
    assert find_author(segment, [weak, *some], rules) == find_author(segment, some, rules)


def weaken(candidate: TraceCandidate) -> Iterator[TraceCandidate]:
    """Yield the candidate without its link, revision or time, or without one of its ranges, hashes or entries."""
    without: list[dict[str, Any]] = [{"linked": False}, {"revision": None}, {"precedes": False}, {"at_ns": None}]
    for fields in without:
        yield structs.replace(candidate, **fields)
    for at, entry in enumerate(candidate.entries):
        before, after = candidate.entries[:at], candidate.entries[at + 1 :]
        for less in ((TraceEntry(entry.level, None, entry.hash),), (TraceEntry(entry.level, entry.lines),), ()):
            yield structs.replace(candidate, entries=(*before, *less, *after))
    yield structs.replace(candidate, intact=False)
    yield structs.replace(candidate, grade=Grade.CLAIMED)


@given(segments, several, rule_sets)
def test_dropping_evidence_never_makes_the_answer_surer(
    segment: Segment, some: list[TraceCandidate], rules: AttributeRules
) -> None:
    before = tier(find_author(segment, some, rules))
    for at, candidate in enumerate(some):
        assert tier(find_author(segment, [*some[:at], *some[at + 1 :]], rules)) >= before
        for less in weaken(candidate):
            assert tier(find_author(segment, [*some[:at], less, *some[at + 1 :]], rules)) >= before, less


@given(segments, candidates, rule_sets)
def test_a_range_matches_or_overlaps_and_a_revision_is_parent_or_ancestor_never_both(
    segment: Segment, candidate: TraceCandidate, rules: AttributeRules
) -> None:
    evidence = collect_trace_evidence(segment, candidate, rules, rules_digest=DIGEST)
    assert not evidence.has("range_match", "range_overlap")
    assert not evidence.has("revision_parent", "revision_ancestor")
