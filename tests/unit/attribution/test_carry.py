"""Which new line comes from which old line, step by step."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from custody.attribution import carry
from custody.attribution.carry import (
    SingleOccurrence,
    UnmatchedRange,
    WordShare,
    _find_longest_carried_blocks,
    align_carried_items,
    find_gaps_between_pairs,
    group_line_pair_runs,
    match_carried_lines,
    match_moved_line_blocks,
    trace_carried_words,
)

ITEMS = st.lists(st.sampled_from("abcde"), max_size=12)
FIRST, SECOND, THIRD = (f"{name}_thing = compute_something({name})" for name in ("first", "second", "third"))


@given(ITEMS, ITEMS)
def test_pairs_are_equal_rise_on_both_sides_and_use_each_item_once(old: list[str], new: list[str]) -> None:
    pairs = align_carried_items(old, new)
    assert all(old[i] == new[j] for i, j in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))


@given(ITEMS)
def test_a_text_is_aligned_with_itself_line_by_line(items: list[str]) -> None:
    assert align_carried_items(items, items) == [(n, n) for n in range(len(items))]


@given(ITEMS, ITEMS, ITEMS)
def test_lines_added_before_or_after_shift_every_line(before: list[str], items: list[str], after: list[str]) -> None:
    new = [*(f"new {item}" for item in before), *items, *(f"more {item}" for item in after)]
    assert align_carried_items(items, new) == [(n, n + len(before)) for n in range(len(items))]


@given(ITEMS, ITEMS)
def test_pairs_and_gaps_cover_both_texts(old: list[str], new: list[str]) -> None:
    pairs = align_carried_items(old, new)
    gaps = list(find_gaps_between_pairs(pairs, UnmatchedRange(0, len(old), 0, len(new))))
    olds = [i for i, _ in pairs] + [i for gap in gaps for i in range(gap.old_first, gap.old_end)]
    news = [j for _, j in pairs] + [j for gap in gaps for j in range(gap.new_first, gap.new_end)]
    assert (sorted(olds), sorted(news)) == (list(range(len(old))), list(range(len(new))))


@given(ITEMS, ITEMS)
def test_runs_are_the_pairs_in_consecutive_pieces(old: list[str], new: list[str]) -> None:
    pairs = align_carried_items(old, new)
    pieces = list(group_line_pair_runs(pairs))
    assert [pair for piece in pieces for pair in piece] == pairs
    assert all(piece[-1][0] - piece[0][0] == len(piece) - 1 == piece[-1][1] - piece[0][1] for piece in pieces)


def test_unique_lines_anchor_the_lines_between_them() -> None:
    assert align_carried_items("ax1xb", "axxb") == [(0, 0), (1, 1), (3, 2), (4, 3)]
    assert align_carried_items("xxaxx", "xaxxx") == [(0, 0), (2, 1), (3, 2), (4, 3)], (
        "the unique line is the anchor, the new line comes last"
    )


def test_a_copy_comes_after_its_original() -> None:
    assert align_carried_items("x12T", "x12n12T") == [(0, 0), (1, 1), (2, 2), (3, 6)]
    assert align_carried_items("x123T", "y123n123T") == [(1, 1), (2, 2), (3, 3), (4, 8)], (
        "also where the line above was changed"
    )
    assert align_carried_items("x12n12T", "x12T") == [(0, 0), (1, 1), (2, 2), (6, 3)], (
        "and the removed lines are the copy"
    )


def test_a_gap_without_unique_lines_is_compared_unless_it_is_too_long() -> None:
    ours, theirs = "1" + "ab" * 3 + "2", "3" + "ba" * 3 + "4"
    assert len(align_carried_items(ours, theirs)) == 5
    long_ours, long_theirs = "1" + "ab" * 600 + "2", "3" + "ba" * 600 + "4"
    assert len(long_ours) * len(long_theirs) > carry.GAP_PRODUCT_MAX
    assert align_carried_items(long_ours, long_theirs) == []


def test_equal_lines_come_first_then_those_that_differ_in_white_space() -> None:
    assert match_carried_lines([FIRST, SECOND, THIRD], [FIRST, f"    {SECOND}", THIRD]) == {0: 0, 1: 1, 2: 2}
    assert match_carried_lines([f"  {FIRST}", FIRST], [FIRST]) == {0: 1}, "the line that is equal to the last character"


def test_of_two_equal_lines_the_one_at_the_same_place_is_the_same_line() -> None:
    old = [FIRST, "check_everything()", SECOND]
    new = ["check_everything()", FIRST, "check_everything()", SECOND]
    assert match_carried_lines(old, new) == {1: 0, 2: 1, 3: 2}


def test_an_uninformative_line_matches_only_beside_its_neighbors() -> None:
    assert match_carried_lines(["}"], ["}", "", "else:"]) == {}
    assert match_carried_lines(["}", ""], ["}", "  "]) == {0: 0, 1: 1}, "nothing changed"
    assert match_carried_lines([FIRST, "}"], [FIRST, "}"]) == {0: 0, 1: 1}
    assert match_carried_lines([FIRST, "}"], [SECOND, "}"]) == {}
    assert match_carried_lines([FIRST, "", "}"], [FIRST, "}"]) == {0: 0}, "not beside its old neighbor"


def moved(old: Sequence[str], new: Sequence[str], characters_min: int = 24) -> dict[int, int]:
    return match_moved_line_blocks(old, new, match_carried_lines(old, new), characters_min)


def test_a_moved_block_is_recognized() -> None:
    old = [FIRST, SECOND, "kept_line_one = 1", "kept_line_two = 2", "kept_line_three = 3"]
    new = [*old[2:], FIRST, SECOND]
    assert match_carried_lines(old, new) == {0: 2, 1: 3, 2: 4}
    assert moved(old, new) == {3: 0, 4: 1}


def test_a_block_with_too_few_characters_is_not_recognized() -> None:
    old = ["short_a = 1", "kept_line_one = 1", "kept_line_two = 2"]
    new = [*old[1:], "short_a = 1"]
    characters = len("short_a=1")
    assert (moved(old, new, characters), moved(old, new, characters + 1)) == ({2: 0}, {})


def test_a_moved_line_is_used_once_and_an_unmoved_line_is_not_moved() -> None:
    unchanged = ["kept_line_one = 1", "kept_line_two = 2"]
    assert moved([FIRST, SECOND, *unchanged], [*unchanged, FIRST, SECOND, FIRST, SECOND]) == {2: 0, 3: 1}
    assert moved([*unchanged, FIRST], [FIRST, *unchanged, FIRST]) == {}, "the same boilerplate typed again"


def test_a_single_line_is_recognized_only_if_it_is_unique() -> None:
    unchanged = ["kept_line_one = 1", "kept_line_two = 2"]
    assert moved([FIRST, *unchanged], [*unchanged, FIRST]) == {2: 0}
    assert moved([FIRST, *unchanged], [*unchanged, FIRST, "new_line = 3", FIRST]) == {}


def test_uninformative_lines_move_only_with_a_block() -> None:
    unchanged = ["kept_line_one = 1", "kept_line_two = 2", "kept_line_three = 3"]
    assert moved(["{", FIRST, "}", *unchanged], [*unchanged, "{", FIRST, "}"]) == {3: 0, 4: 1, 5: 2}
    assert moved(["}", *unchanged], [*unchanged, "}"], 1) == {}


def words(old: Sequence[str], new: Sequence[str]) -> dict[int, WordShare]:
    return trace_carried_words(old, new, UnmatchedRange(0, len(old), 0, len(new)))


def test_a_line_shares_words_in_the_same_order() -> None:
    (share,) = words(["total = price * count"], ["total = price * count * rate"]).values()
    assert (share.parts, share.total, share.share) == (((0, 3),), 4, 0.75)


def test_quotes_and_wrapping_of_a_formatter_keep_all_words() -> None:
    shares = words(["call('alpha', 'beta', gamma)"], ["call(", '    "alpha",', '    "beta",', "    gamma,", ")"])
    assert {j: share.share for j, share in shares.items()} == {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}


def test_lines_that_were_joined_have_the_words_of_each() -> None:
    (share,) = words(["call(", "  alpha,", "  beta, gamma,", ")"], ["call(alpha, beta, gamma)"]).values()
    assert share.parts == ((2, 2), (0, 1), (1, 1)), "the line with most words first, then the first in the file"
    assert share.share == 1.0


def test_too_many_words_are_not_compared() -> None:
    wide = " ".join(f"w{n}" for n in range(2100))
    assert words([wide], [wide + " x"]) == {}
    assert words([], ["alpha"]) == words(["}"], ["alpha"]) == {}
    assert WordShare((), 0).share == 0.0


def test_single_occurrence_needs_exactly_one_in_each_text() -> None:
    only = SingleOccurrence("abbc", iter("abc"))
    assert [only(item) for item in "abcd"] == [True, False, True, False]


def test_lines_in_reverse_order_are_recognized_one_by_one() -> None:
    old = [f"line_number_{n} = value_of_it({n})" for n in range(300)]
    new = old[::-1]
    matches = match_carried_lines(old, new)
    assert {**matches, **match_moved_line_blocks(old, new, matches, 24)} == {j: 299 - j for j in range(300)}


@given(st.lists(st.integers(0, 3), max_size=24), st.lists(st.integers(0, 3), max_size=24))
def test_gaps_without_unique_items_are_matched_as_by_difflib(old: list[int], new: list[int]) -> None:
    blocks = _find_longest_carried_blocks(old, new, UnmatchedRange(0, len(old), 0, len(new)))
    expected = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    pairs = [(block.a + n, block.b + n) for block in expected for n in range(block.size)]
    assert [pair for block in sorted(blocks) for pair in block.pairs] == pairs
