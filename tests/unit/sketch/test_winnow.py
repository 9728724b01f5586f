"""Winnowing: what is common shows, wherever it stands."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sketch.winnow import fingerprints_of
from tests.unit.sketch import slow
from tests.unit.sketch.golden import placed

TOKENS = st.lists(st.sampled_from(["a", "b", "c", "=", "é", "\udce9"]), max_size=40)
SIZES = st.integers(1, 6)
LONG = 200_000


@given(TOKENS, SIZES, SIZES)
def test_fingerprints_are_those_of_a_look_through_every_window(tokens: list[str], k: int, window: int) -> None:
    assert placed(tokens, k, window) == slow.winnowed(tokens, k, window)
    assert list(fingerprints_of(tokens, k, window)) == [hash_ for hash_, _ in slow.winnowed(tokens, k, window)]


# Conformance: 002-059
@given(TOKENS, TOKENS, TOKENS, TOKENS, TOKENS, SIZES, SIZES)
def test_a_shared_run_that_is_long_enough_shows(
    before: list[str], after: list[str], head: list[str], tail: list[str], run: list[str], k: int, window: int
) -> None:
    least = k + window - 1
    run = (run + ["x", "y", "z"] * least)[: max(least, len(run))]
    one = placed(before + run + after, k, window)
    other = placed(head + run + tail, k, window)
    at, there = len(before), len(head)
    ours = {hash_ for hash_, place in one if at <= place <= at + len(run) - k}
    theirs = {hash_ for hash_, place in other if there <= place <= there + len(run) - k}
    assert ours & theirs


@given(TOKENS, SIZES, SIZES)
def test_no_window_is_without_a_fingerprint(tokens: list[str], k: int, window: int) -> None:
    places = [place for _, place in placed(tokens, k, window)]
    runs = len(tokens) - k + 1
    assert places == sorted(set(places))
    assert all(later - earlier <= window for earlier, later in pairwise(places))
    assert bool(places) == bool(tokens)
    assert runs < window or (places[0] < window and places[-1] >= runs - window)


def test_few_places_are_chosen_of_a_long_text() -> None:
    random = Random("winnow")
    tokens = [f"name{random.randrange(500)}" for _ in range(LONG // 10)]
    chosen = len(fingerprints_of(tokens, 5, 9))
    assert chosen / len(tokens) == pytest.approx(2 / 10, rel=0.1)


def test_a_long_row_of_one_token_does_not_choose_every_place() -> None:
    assert len(fingerprints_of(["x"] * LONG, 5, 10)) == (LONG - 4) // 10


class Counted(str):
    """A token that counts how often any of its kind is hashed or compared."""

    __slots__ = ()
    looks = 0

    def __hash__(self) -> int:
        Counted.looks += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        Counted.looks += 1
        return super().__eq__(other)


def looks_for(count: int) -> int:
    Counted.looks = 0
    fingerprints_of((Counted("x" if at % 3 else "y") for at in range(count)), 20, 50)
    return Counted.looks


def test_every_token_is_looked_at_as_often_in_a_long_text_as_in_a_short_one() -> None:
    short, long = looks_for(2_000), looks_for(20_000)
    assert long <= 10.5 * short


def test_nothing_has_no_fingerprints() -> None:
    assert fingerprints_of([], 5, 4) == ()


@pytest.mark.parametrize(("k", "window"), [(0, 4), (4, 0), (-1, -1)])
def test_runs_and_windows_of_nothing_are_refused(k: int, window: int) -> None:
    with pytest.raises(ValueError, match="no run"):
        fingerprints_of(["a"], k, window)
