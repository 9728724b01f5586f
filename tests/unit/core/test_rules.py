"""Each check names the invalid rule, and both values where two do not fit together."""

import math

import pytest

from custody.core.errors import RulesError
from custody.core.rules import (
    check_rule_choice,
    check_rule_falling,
    check_rule_keys,
    check_rule_length,
    check_rule_order,
    check_rule_range,
    check_rule_ranges,
    check_rule_rising,
)


@pytest.mark.parametrize(
    ("value", "bounds", "problem"),
    [
        (0.0, {"above": 0}, "is 0.0, not above 0"),
        (-0.1, {"least": 0}, "is -0.1, below 0"),
        (1.1, {"most": 1}, "is 1.1, above 1"),
        (math.nan, {}, "is nan, not a finite number"),
        (math.inf, {"least": 0}, "is inf, not a finite number"),
        (-math.inf, {"most": 0}, "is -inf, not a finite number"),
    ],
)
def test_a_number_out_of_its_range_is_named(value: float, bounds: dict[str, float], problem: str) -> None:
    with pytest.raises(RulesError) as refused:
        check_rule_range("trust.x", value, **bounds)
    assert (refused.value.rule, refused.value.message) == ("trust.x", f"'trust.x' {problem}")


def test_the_ends_of_a_range_belong_to_it() -> None:
    check_rule_range("trust.x", 0, least=0, most=1)
    check_rule_range("trust.x", 1, above=0, most=1)
    check_rule_ranges("trust", {"x": 0, "y": 1}, least=0, most=1)


def test_one_bad_number_of_several_is_the_one_named() -> None:
    with pytest.raises(RulesError, match="'trust.y' is 2, above 1"):
        check_rule_ranges("trust", {"x": 0, "y": 2}, most=1)


def test_two_rules_out_of_order_are_both_named_with_their_values() -> None:
    check_rule_order(("a", 1), ("b", 1), ("c", 2))
    with pytest.raises(RulesError, match="'b' is 3, above 'c', which is 2"):
        check_rule_order(("a", 1), ("b", 3), ("c", 2))


def test_a_list_out_of_order_names_the_two_entries() -> None:
    check_rule_rising("a", (0, 0, 1))
    check_rule_falling("a", (1, 1, 0))
    with pytest.raises(RulesError, match=r"'a' falls from 2 \(entry 2\) to 1 \(entry 3\)"):
        check_rule_rising("a", (0, 2, 1))
    with pytest.raises(RulesError, match=r"'a' rises from 1 \(entry 2\) to 2 \(entry 3\)"):
        check_rule_falling("a", (3, 1, 2))


def test_a_list_of_another_length_names_what_its_entries_are_for() -> None:
    with pytest.raises(RulesError, match=r"'a' has 1 entries, not 2 \(low, high\)"):
        check_rule_length("a", (1,), ("low", "high"))


def test_a_mapping_has_its_keys_and_no_others() -> None:
    check_rule_keys("a", ("x", "y"), ("y", "x"))
    with pytest.raises(RulesError, match="'a' has no 'y'"):
        check_rule_keys("a", ("x",), ("x", "y"))
    with pytest.raises(RulesError, match="'a' has 'z', not one of x, y"):
        check_rule_keys("a", ("x", "y", "z"), ("x", "y"))


def test_a_word_is_one_of_a_few() -> None:
    check_rule_choice("a", "x", ("x", "y"))
    with pytest.raises(RulesError, match="'a' is 'z', not one of x, y"):
        check_rule_choice("a", "z", ("x", "y"))
