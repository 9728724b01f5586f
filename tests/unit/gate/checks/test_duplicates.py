"""The duplicates check yields one reason per match, with a code by verdict and category."""

import pytest
from msgspec.structs import replace

from custody.core.paths import Lines
from custody.dupes import Category, DuplicateVerdict
from custody.gate.checks import check_duplicates
from custody.gate.model import (
    CODES,
    ChangeSpot,
    GateEvidence,
    MissingEvidence,
    Reason,
    ReasonCode,
    SimilarChange,
    VerdictLevel,
)
from custody.gate.rules import GateRules, LevelName
from tests.unit.gate.builders import a_change, rules_with


def a_match(says: DuplicateVerdict, category: Category, name: str = "0123456789ab 'fix the parser'") -> SimilarChange:
    return SimilarChange(name, says, category, "the same diff")


def a_change_with(duplicates: tuple[SimilarChange, ...] | MissingEvidence | None) -> GateEvidence:
    return replace(a_change(), duplicates=duplicates)


def reasons(
    duplicates: tuple[SimilarChange, ...] | MissingEvidence | None, rules: GateRules | None = None
) -> list[Reason]:
    return list(check_duplicates(a_change_with(duplicates), rules or GateRules()))


def test_no_reason_where_duplicates_were_not_to_be_checked() -> None:
    assert reasons(None) == []


def test_no_reason_where_nothing_matches() -> None:
    assert reasons(()) == []


def test_a_failed_check_is_one_reason_with_its_own_remedy() -> None:
    (reason,) = reasons(MissingEvidence("the index is older than the change", "index it again"))
    assert reason == Reason(
        ReasonCode.DUPE_UNSEEN, VerdictLevel.REVIEW, "the index is older than the change", "index it again"
    )


@pytest.mark.parametrize(
    ("says", "category", "code"),
    [
        (DuplicateVerdict.DUPLICATE, Category.SAME_CHANGE, ReasonCode.DUPE_SAME),
        (DuplicateVerdict.DUPLICATE, Category.SAME_FEATURE, ReasonCode.DUPE_LIKELY),
        (DuplicateVerdict.DUPLICATE, Category.COMPETING_IMPLEMENTATION, ReasonCode.DUPE_LIKELY),
        (DuplicateVerdict.DUPLICATE, Category.RELATED, ReasonCode.DUPE_LIKELY),
        (DuplicateVerdict.COMPETING, Category.COMPETING_IMPLEMENTATION, ReasonCode.DUPE_COMPETING),
        (DuplicateVerdict.COMPETING, Category.SAME_CHANGE, ReasonCode.DUPE_COMPETING),
        (DuplicateVerdict.COMPETING, Category.RELATED, ReasonCode.DUPE_COMPETING),
    ],
)
def test_what_is_said_decides_the_code_before_the_category_does(
    says: DuplicateVerdict, category: Category, code: ReasonCode
) -> None:
    (reason,) = reasons((a_match(says, category),))
    assert reason == Reason(
        code, VerdictLevel.REVIEW, "0123456789ab 'fix the parser': the same diff", CODES[code].remedy, spots=()
    )


def test_every_match_is_a_reason_of_its_own_in_the_order_of_the_matches() -> None:
    found = reasons(
        (
            a_match(DuplicateVerdict.COMPETING, Category.COMPETING_IMPLEMENTATION, "first"),
            a_match(DuplicateVerdict.DUPLICATE, Category.SAME_CHANGE, "second"),
            a_match(DuplicateVerdict.DUPLICATE, Category.SAME_FEATURE, "third"),
        )
    )
    assert [(reason.code, reason.sentence) for reason in found] == [
        (ReasonCode.DUPE_COMPETING, "first: the same diff"),
        (ReasonCode.DUPE_SAME, "second: the same diff"),
        (ReasonCode.DUPE_LIKELY, "third: the same diff"),
    ]


MATCHES = {
    ReasonCode.DUPE_SAME: (a_match(DuplicateVerdict.DUPLICATE, Category.SAME_CHANGE),),
    ReasonCode.DUPE_LIKELY: (a_match(DuplicateVerdict.DUPLICATE, Category.SAME_FEATURE),),
    ReasonCode.DUPE_COMPETING: (a_match(DuplicateVerdict.COMPETING, Category.COMPETING_IMPLEMENTATION),),
}


@pytest.mark.parametrize("code", MATCHES)
@pytest.mark.parametrize("level", ["approve", "review", "block"])
def test_the_rules_set_the_level_of_each_kind_of_match(code: ReasonCode, level: LevelName) -> None:
    rules = rules_with({ReasonCode.DUPE_UNSEEN: "block", code: level})  # a failed check may not be milder than a match
    (reason,) = reasons(MATCHES[code], rules)
    assert reason.level is VerdictLevel(level)


def test_the_rules_set_the_level_of_a_failed_check() -> None:
    (reason,) = reasons(MissingEvidence("why", "remedy"), rules_with({ReasonCode.DUPE_UNSEEN: "block"}))
    assert reason.level is VerdictLevel.BLOCK


def test_the_places_that_both_changes_share_are_those_of_the_reason() -> None:
    spots = (ChangeSpot("src/app.py", Lines(3, 5)), ChangeSpot("README.md"))
    match = replace(a_match(DuplicateVerdict.DUPLICATE, Category.SAME_CHANGE), spots=spots)
    assert [reason.spots for reason in reasons((match,))] == [spots]
