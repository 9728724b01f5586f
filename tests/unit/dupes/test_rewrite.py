"""What makes a rewrite, and what two rewrites have in common."""

import random
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.dupes.changeset import ChangeSet, change_set
from custody.dupes.rewrite import Match, compare_rewrites, rewrite_reason
from custody.dupes.rules import DedupeRules
from tests.unit.dupes.changes import a_described, a_piece, a_set, sets, some_code

RULES = DedupeRules()
PLAIN = a_set("ab")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (a_set("ab", lines=2_000), None),
        (a_set("ab", lines=2_001), "one of them changes 2,001 lines, more than 2,000"),
        (a_set("ab", files=50), None),
        (a_set("ab", files=51), "one of them changes 51 files, more than 50"),
        (a_set("ab", files=8, renamed=2), None),
        (a_set("ab", files=8, renamed=3), "one of them renames 3 of 8 files, more than 25%"),
    ],
)
def test_a_change_can_be_a_rewrite_by_itself(change: ChangeSet, reason: str | None) -> None:
    assert rewrite_reason(change, PLAIN, RULES) == reason
    assert rewrite_reason(PLAIN, change, RULES) == reason


def test_two_changes_can_be_rewrites_of_the_same_files() -> None:
    a, b = a_set("abcdefghi", paths="xyz"), a_set("ijklmnopq", paths="xyz")
    assert rewrite_reason(a, b, RULES) == "they share 100% of their files, but only 6% of their code"
    assert rewrite_reason(a, a_set("ijklmnopq", paths="x"), RULES) is None
    assert rewrite_reason(a, a_set("abcdefghj", paths="xyz"), RULES) is None


@pytest.mark.parametrize(("likeness", "is_rewrite"), [(0.19, True), (0.2, False), (None, True)])
def test_a_likeness_that_is_known_is_taken(likeness: float | None, is_rewrite: bool) -> None:
    a, b = a_set("abcdefghi", paths="xyz"), a_set("ijklmnopq", paths="xyz")
    assert (rewrite_reason(a, b, RULES, minhash_sim=likeness) is not None) is is_rewrite


@pytest.mark.parametrize(("files", "is_rewrite"), [("vwx", False), ("vwxy", True)])
def test_as_many_files_must_be_shared_as_the_rules_say(files: str, is_rewrite: bool) -> None:
    # 3 of 5 is the limit itself, 4 of 6 is above it.
    a, b = a_set("ab", paths=files + "1"), a_set("cd", paths=files + "2")
    assert (rewrite_reason(a, b, RULES) is not None) is is_rewrite


def test_what_is_missing_triggers_nothing() -> None:
    assert rewrite_reason(a_set("", paths="xyz"), a_set("ab", paths="xyz"), RULES) is None
    assert rewrite_reason(a_set("ab"), a_set("cd"), RULES) is None


def rewritten(*files: tuple[str, list[str], int]) -> ChangeSet:
    return change_set(a_described(*(a_piece(path, code, first=first) for path, code, first in files)), RULES)


def test_a_stretch_that_moved_is_shown_with_both_places() -> None:
    before = rewritten(("src/a.ts", some_code(60), 1))
    after = rewritten(("lib/b.ts", some_code(30, first=500) + some_code(40, first=10), 1))
    compared = compare_rewrites(before, after, RULES)
    longest = compared.matches[0]
    assert longest.is_move
    assert (longest.a_path, longest.b_path) == ("src/a.ts", "lib/b.ts")
    # Line 11 of the one is line 31 of the other; the ends may fall short of a fingerprint.
    assert longest.b_line - longest.a_line == 20
    assert 11 <= longest.a_line <= 13 and longest.lines >= 36
    assert compared.a_in_b == pytest.approx(40 / 60, abs=0.05)
    assert compared.b_in_a == pytest.approx(40 / 70, abs=0.05)


def test_a_stretch_stays_in_its_file_where_there_is_a_choice() -> None:
    code = some_code(30)
    one = rewritten(("src/a.ts", code, 1))
    two = rewritten(("lib/copy.ts", code, 1), ("src/a.ts", code, 1))
    matches = compare_rewrites(one, two, RULES).matches
    assert [(match.b_path, match.is_move) for match in matches] == [("src/a.ts", False)]


def test_a_stretch_ends_with_its_file() -> None:
    code = some_code(12)
    one = rewritten(("src/a.ts", code[:6], 1), ("src/b.ts", code[6:], 7))
    matches = compare_rewrites(one, rewritten(("src/all.ts", code, 1)), RULES).matches
    assert sorted((match.a_path, match.b_path) for match in matches) == [
        ("src/a.ts", "src/all.ts"),
        ("src/b.ts", "src/all.ts"),
    ]


def test_a_shuffled_file_is_wholly_contained_in_stretches() -> None:
    parts = [some_code(20, first=20 * n) for n in range(6)]
    shuffled = random.Random(7).sample(parts, 6)
    one = rewritten(("src/a.ts", [*chain(*parts)], 1))
    two = rewritten(("src/a.ts", [*chain(*shuffled)], 1))
    compared = compare_rewrites(one, two, RULES)
    assert compared.a_in_b is not None and compared.a_in_b > 0.9
    assert len([match for match in compared.matches if match.lines >= 16]) == 6


def test_nothing_is_compared_with_nothing() -> None:
    compared = compare_rewrites(a_set("ab"), a_set("ab", prints=[1]), RULES)
    assert (compared.overlap, compared.a_in_b, compared.b_in_a, compared.matches) == (None, None, None, ())


def test_what_stands_often_is_matched_no_more_often_than_it_stands() -> None:
    matches = compare_rewrites(a_set(prints=[5] * 100), a_set(prints=[5] * 3), RULES).matches
    assert matches == (Match("src/app.ts", 1, "src/app.ts", 1, 3),)


@given(sets(), sets())
def test_likeness_is_within_bounds_and_the_same_from_both_sides(a: ChangeSet, b: ChangeSet) -> None:
    one, other = compare_rewrites(a, b, RULES), compare_rewrites(b, a, RULES)
    assert (one.overlap, one.a_in_b, one.b_in_a) == (other.overlap, other.b_in_a, other.a_in_b)
    shares = [share for share in (one.overlap, one.a_in_b, one.b_in_a) if share is not None]
    assert all(0 <= share <= 1 for share in shares)
    assert one.overlap is None or one.overlap <= min(one.a_in_b or 0, one.b_in_a or 0)
    assert bool(one.matches) == bool(one.overlap)


@given(sets())
def test_a_change_is_wholly_like_itself(a: ChangeSet) -> None:
    compared = compare_rewrites(a, a, RULES)
    assert compared.overlap == (1.0 if a.files else None)
    assert not any(match.is_move for match in compared.matches)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=60, unique=True), st.randoms())
def test_every_match_is_one_that_both_have(numbers: list[int], chance: random.Random) -> None:
    one = rewritten(("a.ts", [line for n in numbers for line in some_code(1, first=n)], 1))
    mixed = chance.sample(numbers, len(numbers))
    two = rewritten(("b.ts", [line for n in mixed for line in some_code(1, first=n)], 1))
    for match in compare_rewrites(one, two, RULES).matches:
        # A run of tokens may begin with the end of a line.
        assert {*numbers[match.a_line - 1 :][:2]} & {*mixed[match.b_line - 1 :][:2]}
