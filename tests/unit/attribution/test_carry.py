"""Which new line is which old line, step by step."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from custody.attribution import carry
from custody.attribution.carry import (
    SingleOccurrence,
    UnmatchedRange,
    WordShare,
    align,
    align_words,
    gaps_between,
    matched_lines,
    moved_blocks,
    runs,
)

ITEMS = st.lists(st.sampled_from("abcde"), max_size=12)
FIRST, SECOND, THIRD = (f"{name}_thing = compute_something({name})" for name in ("first", "second", "third"))


@given(ITEMS, ITEMS)
def test_pairs_are_equal_rise_on_both_sides_and_use_each_item_once(old: list[str], new: list[str]) -> None:
    pairs = align(old, new)
    assert all(old[i] == new[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


@given(ITEMS)
def test_a_text_is_aligned_with_itself_line_by_line(items: list[str]) -> None:
    assert align(items, items) == [(n, n) for n in range(len(items))]


@given(ITEMS, ITEMS, ITEMS)
def test_what_is_put_in_front_or_behind_leaves_every_line_its_own_place(
    before: list[str], items: list[str], after: list[str]
) -> None:
    new = [*(f"new {item}" for item in before), *items, *(f"more {item}" for item in after)]
    assert align(items, new) == [(n, n + len(before)) for n in range(len(items))]


@given(ITEMS, ITEMS)
def test_pairs_and_gaps_together_are_the_whole(old: list[str], new: list[str]) -> None:
    pairs = align(old, new)
    gaps = list(gaps_between(pairs, UnmatchedRange(0, len(old), 0, len(new))))
    olds = [i for i, _ in pairs] + [i for gap in gaps for i in range(gap.old_first, gap.old_end)]
    news = [j for _, j in pairs] + [j for gap in gaps for j in range(gap.new_first, gap.new_end)]
    assert (sorted(olds), sorted(news)) == (list(range(len(old))), list(range(len(new))))


@given(ITEMS, ITEMS)
def test_runs_are_the_pairs_in_unbroken_pieces(old: list[str], new: list[str]) -> None:
    pairs = align(old, new)
    pieces = list(runs(pairs))
    assert [pair for piece in pieces for pair in piece] == pairs
    assert all(piece[-1][0] - piece[0][0] == len(piece) - 1 == piece[-1][1] - piece[0][1] for piece in pieces)


def test_unique_lines_hold_what_is_between_them_in_place() -> None:
    assert align("ax1xb", "axxb") == [(0, 0), (1, 1), (3, 2), (4, 3)]
    assert align("xxaxx", "xaxxx") == [(0, 0), (2, 1), (3, 2), (4, 3)], "the unique one holds, what is new comes last"


def test_a_copy_comes_after_its_original() -> None:
    assert align("x12T", "x12n12T") == [(0, 0), (1, 1), (2, 2), (3, 6)]
    assert align("x123T", "y123n123T") == [(1, 1), (2, 2), (3, 3), (4, 8)], "also where the line above was changed"
    assert align("x12n12T", "x12T") == [(0, 0), (1, 1), (2, 2), (6, 3)], "and what is taken away is the copy"


def test_a_stretch_in_which_nothing_is_unique_is_compared_as_far_as_it_is_not_too_long() -> None:
    ours, theirs = "1" + "ab" * 3 + "2", "3" + "ba" * 3 + "4"
    assert len(align(ours, theirs)) == 5
    long_ours, long_theirs = "1" + "ab" * 600 + "2", "3" + "ba" * 600 + "4"
    assert len(long_ours) * len(long_theirs) > carry.GAP_PRODUCT_MAX
    assert align(long_ours, long_theirs) == []


def test_equal_lines_come_first_then_those_that_differ_in_white_space() -> None:
    assert matched_lines([FIRST, SECOND, THIRD], [FIRST, f"    {SECOND}", THIRD]) == {0: 0, 1: 1, 2: 2}
    assert matched_lines([f"  {FIRST}", FIRST], [FIRST]) == {0: 1}, "the one that is equal to the last sign"


def test_of_two_equal_lines_the_one_at_the_same_place_is_the_same_line() -> None:
    old = [FIRST, "check_everything()", SECOND]
    new = ["check_everything()", FIRST, "check_everything()", SECOND]
    assert matched_lines(old, new) == {1: 0, 2: 1, 3: 2}


def test_a_line_that_says_little_follows_its_neighbours_and_never_leads() -> None:
    assert matched_lines(["}"], ["}"]) == {}
    assert matched_lines([FIRST, "}"], [FIRST, "}"]) == {0: 0, 1: 1}
    assert matched_lines([FIRST, "}"], [SECOND, "}"]) == {}
    assert matched_lines([FIRST, "", "}"], [FIRST, "}"]) == {0: 0}, "not beside what it belongs to"


def moved(old: Sequence[str], new: Sequence[str], signs_min: int = 24) -> dict[int, int]:
    return moved_blocks(old, new, matched_lines(old, new), signs_min)


def test_a_block_that_stands_elsewhere_is_the_same_block() -> None:
    old = [FIRST, SECOND, "kept_line_one = 1", "kept_line_two = 2", "kept_line_three = 3"]
    new = [*old[2:], FIRST, SECOND]
    assert matched_lines(old, new) == {0: 2, 1: 3, 2: 4}
    assert moved(old, new) == {3: 0, 4: 1}


def test_a_block_that_says_too_little_has_not_moved() -> None:
    old = ["short_a = 1", "kept_line_one = 1", "kept_line_two = 2"]
    new = [*old[1:], "short_a = 1"]
    signs = len("short_a=1")
    assert (moved(old, new, signs), moved(old, new, signs + 1)) == ({2: 0}, {})


def test_a_moved_line_is_used_once_and_one_that_stayed_is_not_moved() -> None:
    kept = ["kept_line_one = 1", "kept_line_two = 2"]
    assert moved([FIRST, SECOND, *kept], [*kept, FIRST, SECOND, FIRST, SECOND]) == {2: 0, 3: 1}
    assert moved([*kept, FIRST], [FIRST, *kept, FIRST]) == {}, "the same boilerplate typed again"


def test_a_single_line_is_known_again_only_where_it_is_the_only_one() -> None:
    kept = ["kept_line_one = 1", "kept_line_two = 2"]
    assert moved([FIRST, *kept], [*kept, FIRST]) == {2: 0}
    assert moved([FIRST, *kept], [*kept, FIRST, "new_line = 3", FIRST]) == {}


def test_low_lines_go_with_a_moved_block_and_do_not_move_alone() -> None:
    kept = ["kept_line_one = 1", "kept_line_two = 2", "kept_line_three = 3"]
    assert moved(["{", FIRST, "}", *kept], [*kept, "{", FIRST, "}"]) == {3: 0, 4: 1, 5: 2}
    assert moved(["}", *kept], [*kept, "}"], 1) == {}


def words(old: Sequence[str], new: Sequence[str]) -> dict[int, WordShare]:
    return align_words(old, new, UnmatchedRange(0, len(old), 0, len(new)))


def test_a_line_shares_the_words_that_stand_in_the_same_order() -> None:
    (one,) = words(["total = price * count"], ["total = price * count * rate"]).values()
    assert (one.parts, one.total, one.share) == (((0, 3),), 4, 0.75)


def test_a_formatters_quotes_and_wrapping_cost_no_words() -> None:
    found = words(["call('alpha', 'beta', gamma)"], ["call(", '    "alpha",', '    "beta",', "    gamma,", ")"])
    assert {j: one.share for j, one in found.items()} == {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}


def test_lines_that_were_joined_have_the_words_of_each() -> None:
    (one,) = words(["call(", "  alpha,", "  beta, gamma,", ")"], ["call(alpha, beta, gamma)"]).values()
    assert one.parts == ((2, 2), (0, 1), (1, 1)), "the most generous first, then the first in the file"
    assert one.share == 1.0


def test_words_are_not_compared_where_there_are_too_many() -> None:
    wide = " ".join(f"w{n}" for n in range(2100))
    assert words([wide], [wide + " x"]) == {}
    assert words([], ["alpha"]) == words(["}"], ["alpha"]) == {}
    assert WordShare((), 0).share == 0.0


def test_only_says_whether_an_item_stands_once_in_each_text() -> None:
    only = SingleOccurrence("abbc", iter("abc"))
    assert [only(item) for item in "abcd"] == [True, False, True, False]


def test_lines_in_any_other_order_are_known_again_one_by_one() -> None:
    old = [f"line_number_{n} = value_of_it({n})" for n in range(300)]
    new = old[::-1]
    found = matched_lines(old, new)
    assert {**found, **moved_blocks(old, new, found, 24)} == {j: 299 - j for j in range(300)}
