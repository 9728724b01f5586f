"""The gate's rules have bounds, and missing evidence is never milder than bad evidence."""

import pytest

from custody.core.errors import InputError, RulesError
from custody.gate.model import ReasonCode, VerdictLevel
from custody.gate.rules import GateRules, LevelName
from custody.workspace.rules_in_force import resolve_rules_in_force
from tests.builders.rules import reader, taken_though_impossible
from tests.unit.gate.builders import rules_with

RULES = GateRules()


def test_every_code_has_a_level_and_only_damage_blocks_at_first() -> None:
    assert set(RULES.levels) == {code.value for code in ReasonCode}
    blocking = {code for code in ReasonCode if RULES.level(code) is VerdictLevel.BLOCK}
    assert blocking == {ReasonCode.INTEG_UNSEEN, ReasonCode.INTEG_DAMAGE}
    assert {RULES.level(code) for code in set(ReasonCode) - blocking} == {VerdictLevel.REVIEW}


def test_a_number_that_cannot_be_is_refused() -> None:
    assert taken_though_impossible(GateRules) == []


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"tier_max": 0}, "gate.tier_max"),
        ({"tier_max": 7}, "gate.tier_max"),
        ({"grade_min": "sworn"}, "gate.grade_min"),
        ({"agent_share_max": 1.01}, "gate.agent_share_max"),
        ({"gap_hours_after": -1.0}, "gate.gap_hours_after"),
        ({"levels": {}}, "gate.levels"),
        ({"levels": {**RULES.levels, "ATTR-MOOD": "block"}}, "gate.levels"),
        ({"levels": {**RULES.levels, "ATTR-WEAK": "shrug"}}, "gate.levels"),
    ],
)
def test_a_value_out_of_bounds_names_its_rule(wrong: dict[str, object], rule: str) -> None:
    with pytest.raises(RulesError) as caught:
        GateRules(**wrong)  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.rule == rule


@pytest.mark.parametrize(
    "bound", [{"tier_max": 1}, {"tier_max": 6}, {"agent_share_max": 0.0}, {"gap_hours_after": 0.0}]
)
def test_the_bounds_themselves_can_be_set(bound: dict[str, object]) -> None:
    rules = rules_with(None, **bound)
    assert {name: getattr(rules, name) for name in bound} == bound


@pytest.mark.parametrize("milder", [ReasonCode.ATTR_UNSEEN, ReasonCode.ATTR_NONE])
@pytest.mark.parametrize("other", [ReasonCode.ATTR_WEAK, ReasonCode.ATTR_SHARE])
@pytest.mark.parametrize(("low", "high"), [("approve", "review"), ("review", "block"), ("approve", "block")])
def test_missing_evidence_set_milder_than_bad_evidence_is_refused(
    milder: ReasonCode, other: ReasonCode, low: LevelName, high: LevelName
) -> None:
    every: dict[ReasonCode, LevelName] = {code: low for code in ReasonCode}
    with pytest.raises(RulesError, match=f"{milder.value} at {low}, milder than {other.value} at {high}") as caught:
        rules_with({**every, ReasonCode.ATTR_UNSEEN: high, other: high, milder: low})
    assert caught.value.rule == "gate.levels"


def test_unseen_is_not_milder_than_none_either() -> None:
    with pytest.raises(RulesError, match="ATTR-UNSEEN at review, milder than ATTR-NONE at block"):
        rules_with({ReasonCode.ATTR_NONE: "block"})
    assert rules_with({ReasonCode.ATTR_UNSEEN: "block"}).level(ReasonCode.ATTR_NONE) is VerdictLevel.REVIEW


def test_a_repositorys_file_sets_levels_by_code() -> None:
    text = '[gate]\ntier_max = 2\n[gate.levels]\nATTR-UNSEEN = "block"\nATTR-NONE = "block"\n'
    effective, _ = resolve_rules_in_force(reader({"custody.toml": text}), {})
    rules = effective.of(GateRules)
    assert (rules.tier_max, rules.level(ReasonCode.ATTR_UNSEEN), rules.level(ReasonCode.ATTR_WEAK)) == (
        2,
        VerdictLevel.BLOCK,
        VerdictLevel.REVIEW,
    )


def test_a_file_whose_levels_do_not_fit_is_reported_where_it_set_them() -> None:
    with pytest.raises(InputError) as caught:
        resolve_rules_in_force(reader({"custody.toml": '[gate.levels]\nATTR-WEAK = "block"\n'}), {})
    assert caught.value.message == (
        "'gate.levels' has ATTR-UNSEEN at review, milder than ATTR-WEAK at block, so losing evidence would help;"
        " set by custody.toml: gate.levels.ATTR-WEAK"
    )
