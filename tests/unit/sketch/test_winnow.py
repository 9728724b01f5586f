"""Winnowing: what is common shows, wherever it stands."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sketch.winnow import Fingerprint, containment, fingerprints_of, overlap, shared_lines
from tests.unit.sketch import slow

TOKENS = st.lists(st.sampled_from(["a", "b", "c", "=", "é", "\udce9"]), max_size=40)
SIZES = st.integers(1, 6)
LONG = 200_000


def lined(tokens: Sequence[str], first: int = 1) -> list[tuple[str, int]]:
    """Each token on a line of its own."""
    return [(token, first + at) for at, token in enumerate(tokens)]


@given(TOKENS, SIZES, SIZES)
def test_fingerprints_are_those_of_a_look_through_every_window(tokens: list[str], k: int, window: int) -> None:
    found = fingerprints_of(lined(tokens, 0), k, window)
    assert [tuple(fingerprint) for fingerprint in found] == slow.winnowed(tokens, k, window)


@given(TOKENS, TOKENS, TOKENS, TOKENS, TOKENS, SIZES, SIZES)
def test_a_shared_run_that_is_long_enough_shows(
    before: list[str], after: list[str], head: list[str], tail: list[str], run: list[str], k: int, window: int
) -> None:
    least = k + window - 1
    run = (run + ["x", "y", "z"] * least)[: max(least, len(run))]
    one = fingerprints_of(lined(before + run + after), k, window)
    other = fingerprints_of(lined(head + run + tail), k, window)
    at, there = len(before) + 1, len(head) + 1
    ours = {print_.hash for print_ in one if at <= print_.line <= at + len(run) - k}
    theirs = {print_.hash for print_ in other if there <= print_.line <= there + len(run) - k}
    assert ours & theirs


@given(TOKENS, SIZES, SIZES)
def test_hashes_do_not_depend_on_lines(tokens: list[str], k: int, window: int) -> None:
    here, there = fingerprints_of(lined(tokens), k, window), fingerprints_of(lined(tokens, 1000), k, window)
    assert [(print_.hash, print_.line + 999) for print_ in here] == [tuple(print_) for print_ in there]
    assert overlap(here, there) == containment(here, there) == (1.0 if tokens else None)


@given(TOKENS, SIZES, SIZES)
def test_no_window_is_without_a_fingerprint(tokens: list[str], k: int, window: int) -> None:
    lines = [fingerprint.line for fingerprint in fingerprints_of(lined(tokens), k, window)]
    runs = len(tokens) - k + 1
    assert lines == sorted(set(lines))
    assert all(later - earlier <= window for earlier, later in pairwise(lines))
    assert bool(lines) == bool(tokens)
    assert runs < window or (lines[0] <= window and lines[-1] > runs - window)


def test_few_places_are_chosen_of_a_long_text() -> None:
    random = Random("winnow")
    tokens = [f"name{random.randrange(500)}" for _ in range(LONG // 10)]
    chosen = len(fingerprints_of(lined(tokens), 5, 9))
    assert chosen / len(tokens) == pytest.approx(2 / 10, rel=0.1)


def test_a_long_row_of_one_token_does_not_choose_every_place() -> None:
    assert len(fingerprints_of(lined(["x"] * LONG), 5, 10)) == (LONG - 4) // 10


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
    fingerprints_of(((Counted("x" if at % 3 else "y"), at) for at in range(count)), 20, 50)
    return Counted.looks


def test_every_token_is_looked_at_as_often_in_a_long_text_as_in_a_short_one() -> None:
    short, long = looks_for(2_000), looks_for(20_000)
    assert long <= 10.5 * short


def test_shared_lines_are_told_pair_by_pair() -> None:
    one = (Fingerprint(7, 1), Fingerprint(8, 2), Fingerprint(7, 5), Fingerprint(7, 9))
    other = (Fingerprint(7, 100), Fingerprint(9, 101), Fingerprint(7, 102))
    assert shared_lines(one, other) == [(1, 100), (5, 102)]
    assert shared_lines(other, one) == [(100, 1), (102, 5)]
    assert shared_lines((), one) == shared_lines(one, ()) == []


def test_nothing_is_missing_and_not_alike() -> None:
    one = (Fingerprint(7, 1),)
    assert overlap((), ()) is None
    assert containment((), one) is None
    assert overlap((), one) == containment(one, ()) == 0.0
    assert fingerprints_of([], 5, 4) == ()


@pytest.mark.parametrize(("k", "window"), [(0, 4), (4, 0), (-1, -1)])
def test_runs_and_windows_of_nothing_are_refused(k: int, window: int) -> None:
    with pytest.raises(ValueError, match="no run"):
        fingerprints_of([("a", 1)], k, window)
