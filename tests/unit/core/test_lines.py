"""Line ranges: their lines, their distance, and invalid ranges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.paths import Lines

numbers = st.integers(1, 40)
stretches = st.tuples(numbers, numbers).map(lambda ends: Lines(min(ends), max(ends)))


def held(lines: Lines) -> set[int]:
    return set(range(lines.first, lines.last + 1))


@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 0), (-1, 5), (2, 1), (1, 0), (-3, -2)])
def test_lines_count_from_one_and_never_backwards(first: int, last: int) -> None:
    with pytest.raises(InputError, match=f"invalid line range {first},{last}") as refusal:
        Lines(first, last)
    assert refusal.value.hint == "lines count from 1, and the last line is not before the first"


@given(st.integers(-2, 3), st.integers(-2, 3))
def test_a_range_is_refused_exactly_when_it_is_empty_or_starts_before_line_one(first: int, last: int) -> None:
    if first >= 1 and last >= first:
        assert (Lines(first, last).first, Lines(first, last).last) == (first, last)
    else:
        with pytest.raises(InputError):
            Lines(first, last)


@given(stretches, st.integers(-1, 42))
def test_both_ends_are_included(lines: Lines, line: int) -> None:
    assert (line in lines) == (line in held(lines))
    assert len(lines) == len(held(lines))


@given(stretches, stretches)
def test_the_gap_is_the_fewest_lines_to_move_either_way(one: Lines, other: Lines) -> None:
    assert one.gap_to(other) == min(abs(a - b) for a in held(one) for b in held(other))
    assert one.gap_to(other) == other.gap_to(one)


@given(stretches, stretches)
def test_no_gap_is_left_when_they_share_a_line(one: Lines, other: Lines) -> None:
    assert (one.gap_to(other) == 0) == bool(held(one) & held(other))
    assert one.gap_to(one) == 0


def test_adjacent_lines_have_a_gap_of_one() -> None:
    assert Lines(1, 3).gap_to(Lines(4, 9)) == 1
    assert Lines(1, 4).gap_to(Lines(4, 9)) == 0


@pytest.mark.parametrize(("first", "last", "middle"), [(1, 1, 1), (1, 2, 1), (1, 3, 2), (10, 13, 11), (7, 100, 53)])
def test_midpoints_by_hand(first: int, last: int, middle: int) -> None:
    assert Lines(first, last).midpoint == middle


@given(stretches)
def test_the_midpoint_lies_inside(lines: Lines) -> None:
    assert lines.midpoint in lines


def test_one_line_is_written_without_a_dash() -> None:
    assert (str(Lines(7, 7)), str(Lines(7, 9))) == ("7", "7-9")


@given(stretches, stretches)
def test_order_is_by_first_line_and_then_by_last(one: Lines, other: Lines) -> None:
    assert (one < other) == ((one.first, one.last) < (other.first, other.last))
