"""Bottom-k sketches: exact for small sets, near for large ones."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sketch import tokens as shingles
from custody.sketch.hashing import EMPTY, BottomSketch, bottom_of, containment, jaccard
from tests.builders.table import table

K = 256
HASHES = st.integers(0, 2**32 - 1)
SMALL = st.sets(st.integers(0, 40), max_size=30)


@given(st.lists(HASHES), st.integers(1, 20))
def test_a_sketch_holds_the_smallest_and_the_count(hashes: list[int], k: int) -> None:
    sketch = bottom_of(iter(hashes), k)
    assert sketch == BottomSketch(len(set(hashes)), tuple(sorted(set(hashes))[:k]))
    assert sketch.is_whole == (len(set(hashes)) <= k)


@given(SMALL, SMALL)
def test_small_sets_are_compared_exactly(a: set[int], b: set[int]) -> None:
    ours, theirs = bottom_of(a, 40), bottom_of(b, 40)
    assert jaccard(ours, theirs) == shingles.jaccard(a, b)
    assert containment(ours, theirs) == shingles.containment(a, b)


@given(SMALL, SMALL, st.integers(1, 40), st.integers(1, 40))
def test_an_estimate_is_a_share_whatever_the_sketches(a: set[int], b: set[int], k: int, other_k: int) -> None:
    ours, theirs = bottom_of(a, k), bottom_of(b, other_k)
    found, back, inside = jaccard(ours, theirs), jaccard(theirs, ours), containment(ours, theirs)
    assert found == back
    assert (found is None) == (not a and not b)
    assert found is None or 0 <= found <= min(len(a), len(b)) / max(len(a), len(b))
    assert inside is None or 0 <= inside <= min(1, len(b) / len(a))
    assert jaccard(ours, ours) == (1.0 if a else None)


def test_nothing_is_missing_and_not_alike() -> None:
    one = bottom_of([5], 3)
    assert jaccard(EMPTY, EMPTY) is None
    assert jaccard(EMPTY, one) == jaccard(one, EMPTY) == 0.0
    assert containment(EMPTY, one) is None
    assert containment(EMPTY, EMPTY) is None
    assert containment(one, EMPTY) == 0.0


def test_a_large_set_says_nothing_about_a_value_beyond_its_sketch() -> None:
    large = bottom_of(range(1000), 10)
    assert containment(bottom_of([500], 10), large) is None
    assert containment(bottom_of([5], 10), large) == 1.0
    assert containment(bottom_of([5, 2000], 10), large) == 1.0


@table("similarity", [0.05, 0.2, 0.5, 0.8, 0.95])
@table("sizes", [(5_000, 5_000), (400, 5_000), (200, 3_000)])
def test_large_sets_are_compared_nearly(similarity: float, sizes: tuple[int, int]) -> None:
    random = Random(f"{similarity} {sizes}")
    small, large = sizes
    shared = round(small * similarity)
    errors, inner_errors = [], []
    for _ in range(40):
        hashes = random.sample(range(2**32), small + large - shared)
        a, b = hashes[:small], hashes[small - shared :]
        exact, inside = shingles.jaccard(a, b), shingles.containment(a, b)
        found, inner = jaccard(bottom_of(a, K), bottom_of(b, K)), containment(bottom_of(a, K), bottom_of(b, K))
        assert exact is not None and inside is not None and found is not None and inner is not None
        errors.append(found - exact)
        inner_errors.append(inner - inside)
    assert root_mean_square(errors) <= math.sqrt(1 / K)
    # Of the smaller set only so many values lie where both are known.
    known = min(small, K, K * small / large)
    assert root_mean_square(inner_errors) <= math.sqrt(1 / known)


def root_mean_square(errors: list[float]) -> float:
    return math.sqrt(sum(error**2 for error in errors) / len(errors))


@pytest.mark.parametrize("hashes", [[-1], [2**32], [1, 2, 3, 2**40]])
def test_numbers_of_more_than_32_bits_are_refused(hashes: list[int]) -> None:
    with pytest.raises(ValueError, match="32 bits"):
        bottom_of(hashes, 2)


def test_a_sketch_of_no_values_is_refused() -> None:
    with pytest.raises(ValueError, match="holds nothing"):
        bottom_of([1], 0)
