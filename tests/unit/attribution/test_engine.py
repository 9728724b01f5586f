"""The engine follows document 000; every number here was computed by hand."""

from typing import Any

import pytest
from msgspec import structs

from custody.attribution.engine import (
    COMBINATIONS,
    NONE_TOUCHED,
    NOT_ENOUGH,
    STRUCTURAL,
    can_attribute_trace,
    compute_attribution_tier,
)
from custody.attribution.model import Grade, NoAttribution, TraceAttribution, TraceEntry
from custody.attribution.rules import AttributeRules
from custody.attribution.signals import SIGNALS, select_best_trace_range
from custody.core.evidence import Evidence, Signal
from custody.core.paths import Lines
from tests.builders.table import table
from tests.unit.attribution.builders import (
    AT_ANCESTOR,
    AT_PARENT,
    DIGEST,
    DOCUMENT,
    HASHED,
    HOUR,
    IN_TIME,
    INSIDE,
    LINEAGE,
    LINK_RECORD,
    LINKED,
    NEAR,
    NOON,
    OTHER_FILE,
    OTHER_TEXT,
    RECORD,
    VOUCHED,
    a_candidate,
    a_segment,
    an_entry,
    answer,
    find_author,
    names,
    refusal,
)

LINK, HASH, PARENT, ANCESTOR, MATCH, OVERLAP, TIME = (
    "commit_link",
    "content_hash",
    "revision_parent",
    "revision_ancestor",
    "range_match",
    "range_overlap",
    "timestamp_match",
)
EVERYTHING: dict[str, Any] = {**LINKED, **AT_PARENT, **IN_TIME}


# Conformance: 000-008
def test_every_weight_has_a_signal_and_every_signal_a_weight() -> None:
    assert set(SIGNALS) == set(AttributeRules().points)


# Conformance: 000-002, 000-035
@table(
    ("entries", "fields", "signals", "score", "tier"),
    [
        # All signals of one trace: 40 + 30 + 15 + 10 + 5.
        ([HASHED, INSIDE], EVERYTHING, [LINK, HASH, PARENT, MATCH, TIME], 100, 1),
        ([HASHED, NEAR], EVERYTHING, [LINK, HASH, PARENT, OVERLAP, TIME], 95, 1),
        ([HASHED, INSIDE], {**LINKED, **AT_PARENT}, [LINK, HASH, PARENT, MATCH], 95, 1),
        # One step below tier 1.
        ([HASHED, INSIDE], {**LINKED, **AT_ANCESTOR, **IN_TIME}, [LINK, HASH, ANCESTOR, MATCH, TIME], 93, 2),
        ([HASHED], EVERYTHING, [LINK, HASH, PARENT, TIME], 90, 2),
        ([HASHED, NEAR], {**LINKED, **AT_PARENT}, [LINK, HASH, PARENT, OVERLAP], 90, 2),
        ([HASHED, INSIDE], {**LINKED, **AT_ANCESTOR}, [LINK, HASH, ANCESTOR, MATCH], 88, 2),
        ([HASHED], {**LINKED, **AT_PARENT}, [LINK, HASH, PARENT], 85, 2),
        ([HASHED, NEAR], {**LINKED, **AT_ANCESTOR}, [LINK, HASH, ANCESTOR, OVERLAP], 83, 2),
        ([HASHED, INSIDE], LINKED, [LINK, HASH, MATCH], 80, 2),
        # One step below tier 2.
        ([HASHED], {**LINKED, **AT_ANCESTOR}, [LINK, HASH, ANCESTOR], 78, 3),
        ([HASHED, NEAR], LINKED, [LINK, HASH, OVERLAP], 75, 3),
        ([HASHED], {**LINKED, **IN_TIME}, [LINK, HASH, TIME], 75, 3),
        ([HASHED], LINKED, [LINK, HASH], 70, 3),
        ([INSIDE], EVERYTHING, [LINK, PARENT, MATCH, TIME], 70, 3),
        ([INSIDE], {**LINKED, **AT_ANCESTOR, **IN_TIME}, [LINK, ANCESTOR, MATCH, TIME], 63, 3),
        ([], EVERYTHING, [LINK, PARENT, TIME], 60, 3),
        ([NEAR], {**LINKED, **AT_PARENT}, [LINK, PARENT, OVERLAP], 60, 3),
        ([HASHED, INSIDE], {**AT_PARENT, **IN_TIME}, [HASH, PARENT, MATCH, TIME], 60, 3),
        # One step below tier 3.
        ([INSIDE], {**LINKED, **AT_ANCESTOR}, [LINK, ANCESTOR, MATCH], 58, 4),
        ([], {**LINKED, **AT_PARENT}, [LINK, PARENT], 55, 4),
        ([HASHED, INSIDE], AT_PARENT, [HASH, PARENT, MATCH], 55, 4),
        ([INSIDE], LINKED, [LINK, MATCH], 50, 4),
        ([NEAR], LINKED, [LINK, OVERLAP], 45, 4),
        ([HASHED, INSIDE], IN_TIME, [HASH, MATCH, TIME], 45, 4),
        # One step below tier 4.
        ([HASHED, NEAR], AT_ANCESTOR, [HASH, ANCESTOR, OVERLAP], 43, 5),
        ([HASHED, INSIDE], {}, [HASH, MATCH], 40, 5),
        ([HASHED, NEAR], {}, [HASH, OVERLAP], 35, 5),
        ([INSIDE], {**AT_PARENT, **IN_TIME}, [PARENT, MATCH, TIME], 30, 5),
        ([INSIDE], AT_PARENT, [PARENT, MATCH], 25, 5),
        # One step below tier 5.
        ([INSIDE], {**AT_ANCESTOR, **IN_TIME}, [ANCESTOR, MATCH, TIME], 23, 6),
        ([NEAR], AT_PARENT, [PARENT, OVERLAP], 20, 6),
        ([INSIDE], IN_TIME, [MATCH, TIME], 15, 6),
        ([INSIDE], {}, [MATCH], 10, 6),
        ([NEAR], {}, [OVERLAP], 5, 6),
    ],
)
def test_signals_add_up_to_the_score_and_tier(
    entries: list[TraceEntry], fields: dict[str, Any], signals: list[str], score: int, tier: int
) -> None:
    finding = answer(a_candidate("t1", *entries, **fields))
    assert (names(finding), finding.evidence.score, finding.tier) == (signals, score, tier)


# Conformance: 000-047
@table(
    ("entries", "fields"),
    [
        ([], LINKED),
        ([HASHED], {}),
        ([], AT_PARENT),
        ([], AT_ANCESTOR),
        ([], IN_TIME),
        ([], {**LINKED, **AT_ANCESTOR, **IN_TIME}),
        ([], {**LINKED, **IN_TIME}),
        ([HASHED], {**AT_PARENT, **IN_TIME}),
        ([HASHED], {**AT_ANCESTOR, **IN_TIME}),
        ([], {**AT_PARENT, **IN_TIME}),
    ],
)
def test_without_a_range_or_a_link_with_hash_or_parent_the_author_is_unknown(
    entries: list[TraceEntry], fields: dict[str, Any]
) -> None:
    assert refusal(a_candidate("t1", *entries, **fields)) == NOT_ENOUGH


# Conformance: 000-012, 000-049
def test_time_alone_never_attributes() -> None:
    assert refusal(a_candidate("t1", **IN_TIME)) == NOT_ENOUGH


def test_the_reason_is_that_no_trace_touched_the_file() -> None:
    assert refusal() == NONE_TOUCHED
    assert refusal(a_candidate("t1", HASHED, INSIDE, **EVERYTHING, path=OTHER_FILE)) == NONE_TOUCHED


# Conformance: 000-009, 000-050, 000-051, 000-052
def test_the_gate_is_that_of_section_6_for_every_set_of_signals() -> None:
    every = list(SIGNALS)
    for mask in range(2 ** len(every)):
        names_seen = {name for bit, name in enumerate(every) if mask >> bit & 1}
        evidence = Evidence(tuple(Signal(name, 1, "seen") for name in sorted(names_seen)), DIGEST)
        structural = bool(names_seen & {LINK, HASH, PARENT, ANCESTOR, MATCH, OVERLAP})
        combined = bool(names_seen & {MATCH, OVERLAP}) or {LINK, HASH} <= names_seen or {LINK, PARENT} <= names_seen
        assert can_attribute_trace(evidence) == (structural and combined), names_seen


# Conformance: 000-048
def test_the_tables_of_the_gate_contain_only_signals() -> None:
    assert set(STRUCTURAL) == set(SIGNALS) - {TIME}
    assert {name for names in COMBINATIONS for name in names} < set(SIGNALS)


# Conformance: 000-010, 000-058, 000-059, 000-060, 000-061, 000-062
@table(
    ("score", "tier"),
    [
        (100, 1),
        (95, 1),
        (94.5, 2),
        (80, 2),
        (79.5, 3),
        (60, 3),
        (59.5, 4),
        (45, 4),
        (44.5, 5),
        (25, 5),
        (24.5, 6),
        (0.5, 6),
        (0, None),
    ],
)
def test_the_tiers_begin_at_the_scores_of_section_7(score: float, tier: int | None) -> None:
    evidence = Evidence((Signal(LINK, score, "seen"), Signal(HASH, 0, "seen")), DIGEST)
    assert compute_attribution_tier(evidence, DOCUMENT) == tier


# Conformance: 000-056
@pytest.mark.parametrize("missing", [LINK, HASH])
def test_tier_1_needs_link_and_hash_whatever_the_score(missing: str) -> None:
    evidence = Evidence(tuple(Signal(name, 200, "seen") for name in (LINK, HASH, MATCH) if name != missing), DIGEST)
    assert compute_attribution_tier(evidence, DOCUMENT) == 2


def test_tier_1_needs_a_vouched_trace() -> None:
    evidence = Evidence((Signal(LINK, 60, "seen"), Signal(HASH, 40, "seen")), DIGEST)
    assert (
        compute_attribution_tier(evidence, LINEAGE, vouched=True),
        compute_attribution_tier(evidence, LINEAGE, vouched=False),
    ) == (1, 2)


@pytest.mark.parametrize(
    ("fields", "tier"),
    [
        (VOUCHED, 1),
        ({"grade": Grade.ATTESTED, "intact": True}, 1),
        ({"grade": Grade.CLAIMED, "intact": True}, 2),
        ({"grade": Grade.RECORDED, "intact": False}, 2),
    ],
)
def test_in_profile_lineage_tier_1_needs_a_recorded_grade_and_an_intact_chain(
    fields: dict[str, Any], tier: int
) -> None:
    candidate = a_candidate("t1", HASHED, INSIDE, **EVERYTHING, **fields)
    assert answer(candidate, rules=LINEAGE).tier == tier
    assert answer(candidate, rules=DOCUMENT).tier == 1


def test_grades_rise_from_a_claim_to_an_attestation() -> None:
    assert [grade.value for grade in sorted(Grade, key=lambda grade: grade.standing)] == [
        "claimed",
        "recorded",
        "witnessed",
        "attested",
    ]


# Conformance: 000-065, 000-066, 000-067, 000-068, 000-069, 000-070
@pytest.mark.parametrize(
    ("entries", "fields", "confidence"),
    [
        ([HASHED, INSIDE], EVERYTHING, 1.0),
        ([HASHED], EVERYTHING, 0.999),
        ([HASHED], LINKED, 0.95),
        ([INSIDE], LINKED, 0.85),
        ([HASHED, INSIDE], {}, 0.70),
        ([INSIDE], {}, 0.40),
    ],
)
def test_each_tier_has_a_fixed_confidence(entries: list[TraceEntry], fields: dict[str, Any], confidence: float) -> None:
    assert answer(a_candidate("t1", *entries, **fields)).confidence == confidence


# Conformance: 000-063
def test_a_score_of_0_is_not_attributed() -> None:
    rules = structs.replace(DOCUMENT, points={name: 0 for name in SIGNALS})
    assert refusal(a_candidate("t1", HASHED, INSIDE, **EVERYTHING), rules=rules) == NOT_ENOUGH


# Conformance: 000-044
def test_each_signal_has_an_explanation_and_records() -> None:
    finding = answer(a_candidate("t1", HASHED, INSIDE, **EVERYTHING))
    explanations = {signal.name: (signal.why, signal.records) for signal in finding.evidence.signals}
    assert explanations == {
        LINK: ("a record links this trace to the commit", (LINK_RECORD,)),
        HASH: ("the trace stored the hash of exactly this text for its conversation", (RECORD,)),
        PARENT: ("the trace was recorded at bbbbbbbbbbbb, the parent of the commit", (RECORD,)),
        MATCH: ("the trace recorded an edit of lines 12-18, which hold line 15", (RECORD,)),
        TIME: ("the trace's time lies in the window around the commit", (RECORD,)),
    }
    assert finding.evidence.rules == DIGEST


# --- the best candidate -----------------------------------------------------------------------------------------------


# Conformance: 000-011
def test_the_better_score_wins() -> None:
    better = a_candidate("z", INSIDE, **LINKED, at_ns=NOON - 30 * HOUR)
    worse = a_candidate("a", INSIDE, **IN_TIME, supports=11)
    assert answer(worse, better).candidate is better


def test_at_the_same_score_the_text_decides() -> None:
    more, fewer = (a_candidate(name, INSIDE, supports=n, **IN_TIME) for name, n in (("z", 9), ("a", 8)))
    assert answer(fewer, more).candidate is more


def test_with_the_same_text_the_latest_not_after_the_commit_decides() -> None:
    earlier = a_candidate("a", INSIDE, at_ns=NOON - 2 * HOUR)
    latest = a_candidate("z", INSIDE, at_ns=NOON)
    after = a_candidate("b", INSIDE, at_ns=NOON + HOUR)
    assert answer(after, earlier, latest).candidate is latest
    assert answer(after, earlier).candidate is earlier


def test_a_call_in_the_commits_own_second_is_not_after_it() -> None:
    same_second = a_candidate("z", INSIDE, at_ns=NOON + 999_999_999)
    earlier = a_candidate("a", INSIDE, at_ns=NOON)
    next_second = a_candidate("b", INSIDE, at_ns=NOON + 1_000_000_000)
    assert answer(earlier, same_second, next_second).candidate is same_second


def test_a_known_time_wins_over_an_unknown_one() -> None:
    known, unknown = a_candidate("z", INSIDE, at_ns=NOON - 99 * HOUR), a_candidate("a", INSIDE)
    assert answer(unknown, known).candidate is known


def test_for_uncommitted_lines_the_latest_trace_decides() -> None:
    latest, earlier = (a_candidate(name, INSIDE, at_ns=NOON + n) for name, n in (("z", HOUR), ("a", 0)))
    assert answer(earlier, latest, segment=a_segment(commit=None, at_ns=None)).candidate is latest


def test_among_equals_the_smaller_id_decides() -> None:
    first, second = a_candidate("a", INSIDE, **IN_TIME), a_candidate("b", INSIDE, **IN_TIME)
    assert answer(second, first).candidate is first


def test_under_one_id_the_smaller_call_decides() -> None:
    first, second = (a_candidate("a", INSIDE, **IN_TIME, call=call) for call in ("c1", "c2"))
    assert answer(second, first).candidate is first


def test_a_claim_with_more_points_does_not_displace_a_certain_answer() -> None:
    certain = a_candidate("z", HASHED, NEAR, **EVERYTHING, **VOUCHED)
    claimed = a_candidate("a", HASHED, INSIDE, **EVERYTHING)
    finding = answer(claimed, certain, rules=LINEAGE)
    assert (finding.candidate, finding.tier) == (certain, 1)


# Conformance: 000-054
def test_a_trace_below_the_gate_loses_to_a_weaker_one_that_passes() -> None:
    strong_but_gated = a_candidate("a", **LINKED, **IN_TIME)
    weak = a_candidate("z", NEAR)
    assert answer(strong_but_gated, weak).candidate is weak


# --- the best range ---------------------------------------------------------------------------------------------------


# Conformance: 000-082, 000-083
@pytest.mark.parametrize(
    ("ranges", "best"),
    [
        ([(1, 100), (14, 16), (10, 20)], (14, 16)),
        ([(15, 15), (14, 16)], (15, 15)),
        ([(15, 17), (13, 15)], (13, 15)),
        ([(1, 12), (17, 40)], (17, 40)),
        ([(1, 13), (17, 40)], (1, 13)),
        ([(16, 16), (1, 100)], (1, 100)),
    ],
)
def test_the_best_range_is_the_smallest_that_holds_the_line_else_the_nearest(
    ranges: list[tuple[int, int]], best: tuple[int, int]
) -> None:
    for order in (ranges, ranges[::-1]):
        assert select_best_trace_range(a_segment(), a_candidate("t1", *(an_entry(*lines) for lines in order))) == Lines(
            *best
        )


def test_without_ranges_none_is_the_best() -> None:
    assert select_best_trace_range(a_segment(), a_candidate("t1", HASHED, **LINKED)) is None


# Conformance: 000-003, 000-091
def test_an_answer_is_either_a_trace_or_a_reason() -> None:
    assert isinstance(find_author(a_candidate("t1", INSIDE)), TraceAttribution)
    assert isinstance(find_author(a_candidate("t1", an_entry(text=OTHER_TEXT))), NoAttribution)
