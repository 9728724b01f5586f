"""Winnowing: common runs are found, wherever they are."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sketch.winnow import winnow_fingerprints
from tests.unit.sketch import slow
from tests.unit.sketch.golden import placed

TOKENS = st.lists(st.sampled_from(["a", "b", "c", "=", "é", "\udce9"]), max_size=40)
SIZES = st.integers(1, 6)
LONG = 200_000


@given(TOKENS, SIZES, SIZES)
def test_fingerprints_match_the_slow_reference(tokens: list[str], k: int, window: int) -> None:
    assert placed(tokens, k, window) == slow.winnowed(tokens, k, window)
    assert list(winnow_fingerprints(tokens, k, window)) == [hash_ for hash_, _ in slow.winnowed(tokens, k, window)]


# Conformance: 002-059
@given(TOKENS, TOKENS, TOKENS, TOKENS, TOKENS, SIZES, SIZES)
def test_a_long_shared_run_shares_a_fingerprint(
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
def test_every_window_has_a_fingerprint(tokens: list[str], k: int, window: int) -> None:
    places = [place for _, place in placed(tokens, k, window)]
    runs = len(tokens) - k + 1
    assert places == sorted(set(places))
    assert all(later - earlier <= window for earlier, later in pairwise(places))
    assert bool(places) == bool(tokens)
    assert runs < window or (places[0] < window and places[-1] >= runs - window)


def test_few_positions_of_a_long_text_are_chosen() -> None:
    random = Random("winnow")
    tokens = [f"name{random.randrange(500)}" for _ in range(LONG // 10)]
    chosen = len(winnow_fingerprints(tokens, 5, 9))
    assert chosen / len(tokens) == pytest.approx(2 / 10, rel=0.1)


def test_a_long_repetition_chooses_few_positions() -> None:
    assert len(winnow_fingerprints(["x"] * LONG, 5, 10)) == (LONG - 4) // 10


class CountingToken(str):
    """A token that counts hashes and comparisons of all instances."""

    __slots__ = ()
    accesses = 0

    def __hash__(self) -> int:
        CountingToken.accesses += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        CountingToken.accesses += 1
        return super().__eq__(other)


def count_accesses(count: int) -> int:
    CountingToken.accesses = 0
    winnow_fingerprints((CountingToken("x" if at % 3 else "y") for at in range(count)), 20, 50)
    return CountingToken.accesses


def test_winnowing_takes_linear_time() -> None:
    short, long = count_accesses(2_000), count_accesses(20_000)
    assert long <= 10.5 * short


def test_an_empty_text_has_no_fingerprints() -> None:
    assert winnow_fingerprints([], 5, 4) == ()


@pytest.mark.parametrize(("k", "window"), [(0, 4), (4, 0), (-1, -1)])
def test_empty_runs_and_windows_are_rejected(k: int, window: int) -> None:
    with pytest.raises(ValueError, match="invalid run"):
        winnow_fingerprints(["a"], k, window)
