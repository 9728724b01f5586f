"""The worked cases of document 001's page, to six decimals."""

import json
from pathlib import Path
from typing import Any

import pytest

from custody.trust.engine import compute_trust, replay_decisions
from custody.trust.model import ChangeComplexity, ChangeStakes, DecisionType, TrustTier
from custody.trust.score import (
    DECISION_VALUES,
    approve_change_lines,
    compute_decision_weight,
    compute_score_step,
    compute_trust_confidence,
    decay_score,
    lift_score,
    move_trust_score,
    tier_from_score,
)
from tests.builders.table import table
from tests.unit.trust.builders import (
    CAUTIOUS,
    DAY,
    DOCUMENT,
    NOON,
    ROBOT,
    a_decision,
    a_recovery,
    a_standing,
    a_trust,
)

GOLDEN: dict[str, list[dict[str, Any]]] = json.loads(Path(__file__).with_name("golden.json").read_text())
Case = dict[str, Any]


def test_all_154_are_there() -> None:
    assert sum(map(len, GOLDEN.values())) == 154
    assert set(GOLDEN) == {"update", "decay", "tier", "auto", "confidence", "recovery", "sequence"}


# Conformance: 001-022
@table("case", GOLDEN["update"])
def test_a_decision_moves_the_score_by_its_stakes(case: Case) -> None:
    stakes = ChangeStakes(ChangeComplexity[case["complexity"]], case["lines"], case["review_ms"])
    value = DECISION_VALUES[DecisionType[case["decision"]]]
    weight = compute_decision_weight(stakes, DOCUMENT, rising=value > case["score"])
    step = compute_score_step(weight, DOCUMENT, rising=value > case["score"])
    assert weight == pytest.approx(case["weight"], abs=5e-7)
    assert step == pytest.approx(case["alpha_eff"], abs=5e-7)
    assert move_trust_score(case["score"], value, step) == pytest.approx(case["new"], abs=5e-7)


# Conformance: 001-043, 001-044
@table("case", GOLDEN["decay"])
def test_idle_days_move_the_score_towards_neutral(case: Case) -> None:
    assert decay_score(case["stored"], case["days"], DOCUMENT) == pytest.approx(case["score"], abs=5e-7)
    later = NOON + case["days"] * DAY
    assert compute_trust(a_standing(case["stored"]), later, CAUTIOUS).score == pytest.approx(case["score"], abs=5e-7)


# Conformance: 001-005, 001-007, 001-008, 001-009, 001-010
@table("case", GOLDEN["tier"])
def test_a_score_is_in_the_tier_whose_bound_it_reaches(case: Case) -> None:
    assert tier_from_score(case["score"], DOCUMENT).name == case["tier"]


# Conformance: 001-002, 001-050, 001-052, 001-053, 001-054, 001-055, 001-056
@table("case", GOLDEN["auto"])
def test_a_tier_may_merge_so_many_lines(case: Case) -> None:
    trust = a_trust(TrustTier[case["tier"]], samples=case["samples"])
    assert approve_change_lines(trust, case["lines"], DOCUMENT) == case["ok"]


# Conformance: 001-027, 001-028, 001-029
@table("case", GOLDEN["confidence"])
def test_confidence_grows_with_decisions(case: Case) -> None:
    trust = compute_trust(a_standing(samples=case["n"]), NOON, DOCUMENT)
    assert trust.confidence == compute_trust_confidence(case["n"]) == pytest.approx(case["confidence"], abs=5e-7)
    assert trust.meaningful is case["meaningful"]


# Conformance: 001-064, 001-067
@table("case", GOLDEN["recovery"])
def test_a_recovery_adds_to_the_faded_score_and_restarts_the_clock(case: Case) -> None:
    if case.get("unknown_agent"):
        # tests/unit/trust/app/test_record.py shows that it is rejected as UnknownAgent.
        assert case["error"] == "UnknownAgent"
        (step,) = replay_decisions(ROBOT, [a_recovery()], DOCUMENT).steps
        assert not step.counts and step.after == DOCUMENT.start_score
        return
    faded = decay_score(case["stored"], case["idle_days"], DOCUMENT)
    score = lift_score(faded, case["boost"], DOCUMENT)
    assert score == pytest.approx(case["now"], abs=5e-7)
    if "after_30_more" in case:
        assert decay_score(score, 30, DOCUMENT) == pytest.approx(case["after_30_more"], abs=5e-7)


# Conformance: 001-018
def test_the_sequence_of_five_decisions() -> None:
    assert all(case["weight"] == 1 for case in GOLDEN["sequence"])
    entries = [a_decision(DecisionType[case["decision"]]) for case in GOLDEN["sequence"]]
    for rules in (DOCUMENT, CAUTIOUS):
        reached = [step.after for step in replay_decisions(ROBOT, entries, rules).steps]
        assert reached == pytest.approx([case["score"] for case in GOLDEN["sequence"]], abs=5e-7)
