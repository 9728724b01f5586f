"""How much of a commit a later one reverts."""

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from custody.trust.rules import TrustRules
from custody.trust.undo_check import (
    States,
    UndoMeasure,
    UndoShare,
    count_revertible_lines,
    measure_reverted_file,
    measure_reverted_lines,
)

RULES = TrustRules()
FILES = st.lists(st.sampled_from([b"one", b"two", b"three", b"four", b"}"]), max_size=12)


def counted(lines: Sequence[bytes]) -> Counter[bytes]:
    return Counter(lines)


@given(FILES, FILES)
def test_what_is_put_back_as_it_was_is_reverted_whole(old: list[bytes], new: list[bytes]) -> None:
    undone = measure_reverted_lines(States(counted(old), counted(new), counted(new), counted(old)))
    assert undone.taken == undone.left == undone.changed
    if undone.changed:
        assert undone.classify_share() is UndoShare.WHOLE


@given(FILES, FILES)
def test_untouched_lines_are_not_reverted(old: list[bytes], new: list[bytes]) -> None:
    undone = measure_reverted_lines(States(counted(old), counted(new), counted(new), counted(new)))
    assert undone.taken == 0
    if undone.changed:
        assert undone.classify_share() is UndoShare.NOTHING


@given(FILES, FILES, FILES, FILES)
def test_no_more_is_taken_than_was_left(
    old: list[bytes], new: list[bytes], then: list[bytes], now: list[bytes]
) -> None:
    undone = measure_reverted_lines(States(counted(old), counted(new), counted(then), counted(now)))
    assert 0 <= undone.taken <= undone.left <= undone.changed


def test_what_others_changed_in_between_counts_on_neither_side() -> None:
    old, new = count_revertible_lines(b"a\nb\n"), count_revertible_lines(b"a\nb\nc\nd\ne\nf\n")
    then, now = count_revertible_lines(b"a\nb\nc\nd\ne\nother\n"), count_revertible_lines(b"a\nb\nother\n")
    undone = measure_reverted_lines(States(old, new, then, now))
    assert undone == UndoMeasure(4, 3, 3)
    assert undone.classify_share() is UndoShare.WHOLE


def test_lines_without_a_word_show_nothing() -> None:
    old, new = count_revertible_lines(b"a\n"), count_revertible_lines(b"a\nif b {\n}\n\n")
    assert measure_reverted_lines(States(old, new, new, count_revertible_lines(b"a\nif b {\n"))) == UndoMeasure(1, 1, 0)


def test_a_part_is_a_part_and_what_was_rewritten_is_gone() -> None:
    assert UndoMeasure(10, 10, 7).classify_share() is UndoShare.PARTIAL
    assert UndoMeasure(10, 10, 8).classify_share() is UndoShare.WHOLE
    assert UndoMeasure(10, 4, 4).classify_share() is UndoShare.PARTIAL
    assert UndoMeasure(10, 5, 5).classify_share() is UndoShare.WHOLE
    assert UndoMeasure(10, 9, 0).classify_share() is UndoShare.GONE
    assert UndoMeasure().classify_share() is UndoShare.GONE


def test_what_has_no_lines_is_compared_whole() -> None:
    assert measure_reverted_file(States("1", "2", "2", "1")) == UndoMeasure(1, 1, 1)
    assert measure_reverted_file(States("1", "2", "2", "3")) == UndoMeasure(1, 1, 0)
    assert measure_reverted_file(States("1", "2", "3", "1")) == UndoMeasure(1, 0, 0)
