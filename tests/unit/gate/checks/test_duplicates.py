"""The check of duplicates gives one reason per match, with a code by what is said and how alike the two are."""

from dataclasses import replace

import pytest

from custody.dupes import Category, Says
from custody.gate.checks.duplicates import duplicates
from custody.gate.codes import CODES, Code, Level, Reason
from custody.gate.model import Seen, Twin, Unseen
from custody.gate.rules import GateRules, LevelName
from tests.unit.gate.builders import a_change, rules_with


def a_match(says: Says, category: Category, name: str = "0123456789ab 'fix the parser'") -> Twin:
    return Twin(name, says, category, "the same diff")


def a_change_with(twins: tuple[Twin, ...] | Unseen | None) -> Seen:
    return replace(a_change(), twins=twins)


def reasons(twins: tuple[Twin, ...] | Unseen | None, rules: GateRules | None = None) -> list[Reason]:
    return list(duplicates(a_change_with(twins), rules or GateRules()))


def test_no_reason_where_duplicates_were_not_to_be_checked() -> None:
    assert reasons(None) == []


def test_no_reason_where_nothing_matches() -> None:
    assert reasons(()) == []


def test_a_failed_check_is_one_reason_with_its_own_remedy() -> None:
    (reason,) = reasons(Unseen("the index is older than the change", "index it again"))
    assert reason == Reason(Code.DUPE_UNSEEN, Level.REVIEW, "the index is older than the change", "index it again")


@pytest.mark.parametrize(
    ("says", "category", "code"),
    [
        (Says.DUPLICATE, Category.SAME_CHANGE, Code.DUPE_SAME),
        (Says.DUPLICATE, Category.SAME_FEATURE, Code.DUPE_LIKELY),
        (Says.DUPLICATE, Category.COMPETING_IMPLEMENTATION, Code.DUPE_LIKELY),
        (Says.DUPLICATE, Category.RELATED, Code.DUPE_LIKELY),
        (Says.COMPETING, Category.COMPETING_IMPLEMENTATION, Code.DUPE_COMPETING),
        (Says.COMPETING, Category.SAME_CHANGE, Code.DUPE_COMPETING),
        (Says.COMPETING, Category.RELATED, Code.DUPE_COMPETING),
    ],
)
def test_what_is_said_decides_the_code_before_the_category_does(says: Says, category: Category, code: Code) -> None:
    (reason,) = reasons((a_match(says, category),))
    assert reason == Reason(
        code, Level.REVIEW, "0123456789ab 'fix the parser': the same diff", CODES[code].remedy, spots=()
    )


def test_every_match_is_a_reason_of_its_own_in_the_order_of_the_matches() -> None:
    found = reasons(
        (
            a_match(Says.COMPETING, Category.COMPETING_IMPLEMENTATION, "first"),
            a_match(Says.DUPLICATE, Category.SAME_CHANGE, "second"),
            a_match(Says.DUPLICATE, Category.SAME_FEATURE, "third"),
        )
    )
    assert [(reason.code, reason.sentence) for reason in found] == [
        (Code.DUPE_COMPETING, "first: the same diff"),
        (Code.DUPE_SAME, "second: the same diff"),
        (Code.DUPE_LIKELY, "third: the same diff"),
    ]


MATCHES = {
    Code.DUPE_SAME: (a_match(Says.DUPLICATE, Category.SAME_CHANGE),),
    Code.DUPE_LIKELY: (a_match(Says.DUPLICATE, Category.SAME_FEATURE),),
    Code.DUPE_COMPETING: (a_match(Says.COMPETING, Category.COMPETING_IMPLEMENTATION),),
}


@pytest.mark.parametrize("code", MATCHES)
@pytest.mark.parametrize("level", ["approve", "review", "block"])
def test_the_rules_set_the_level_of_each_kind_of_match(code: Code, level: LevelName) -> None:
    rules = rules_with({Code.DUPE_UNSEEN: "block", code: level})  # a failed check may not be milder than a match
    (reason,) = reasons(MATCHES[code], rules)
    assert reason.level is Level(level)


def test_the_rules_set_the_level_of_a_failed_check() -> None:
    (reason,) = reasons(Unseen("why", "remedy"), rules_with({Code.DUPE_UNSEEN: "block"}))
    assert reason.level is Level.BLOCK
