"""Triggers of a comparison as rewrites."""

import pytest

from custody.dupes.descent import ChangeSet, find_rewrite_reason
from custody.dupes.rules import DedupeRules
from tests.unit.dupes.changes import a_set

RULES = DedupeRules()
PLAIN = a_set("ab")


# Conformance: 002-057
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (a_set("ab", lines=2_000), None),
        (a_set("ab", lines=2_001), "one changes 2,001 lines, more than 2,000"),
        (a_set("ab", files=50), None),
        (a_set("ab", files=51), "one changes 51 files, more than 50"),
        (a_set("ab", files=8, renamed=2), None),
        (a_set("ab", files=8, renamed=3), "one renames 3 of 8 files, more than 25%"),
    ],
)
def test_a_change_can_be_a_rewrite_by_itself(change: ChangeSet, reason: str | None) -> None:
    assert find_rewrite_reason(change, PLAIN, RULES) == reason
    assert find_rewrite_reason(PLAIN, change, RULES) == reason


# Conformance: 002-058
def test_two_changes_can_be_rewrites_of_the_same_files() -> None:
    a, b = a_set("abcdefghi", paths="xyz"), a_set("ijklmnopq", paths="xyz")
    assert find_rewrite_reason(a, b, RULES) == "they share 100% of their files, but only 6% of their code"
    assert find_rewrite_reason(a, a_set("ijklmnopq", paths="x"), RULES) is None
    assert find_rewrite_reason(a, a_set("abcdefghj", paths="xyz"), RULES) is None


@pytest.mark.parametrize(("files", "is_rewrite"), [("vwx", False), ("vwxy", True)])
def test_the_share_of_common_files_is_a_rule(files: str, is_rewrite: bool) -> None:
    # 3 of 5 is the limit itself, 4 of 6 is above it.
    a, b = a_set("ab", paths=files + "1"), a_set("cd", paths=files + "2")
    assert (find_rewrite_reason(a, b, RULES) is not None) is is_rewrite


def test_missing_data_triggers_nothing() -> None:
    assert find_rewrite_reason(a_set("", paths="xyz"), a_set("ab", paths="xyz"), RULES) is None
    assert find_rewrite_reason(a_set("ab"), a_set("cd"), RULES) is None
