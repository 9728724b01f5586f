"""Bottom-k sketches: exact for small sets, estimates for large ones."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sketch import tokens as shingles
from custody.sketch.hashing import (
    EMPTY_SKETCH,
    BottomSketch,
    estimate_sketch_containment,
    estimate_sketch_jaccard,
    make_bottom_sketch,
)
from tests.builders.table import table

K = 256
HASHES = st.integers(0, 2**32 - 1)
SMALL = st.sets(st.integers(0, 40), max_size=30)


@given(st.lists(HASHES), st.integers(1, 20))
def test_a_sketch_has_the_smallest_hashes_and_the_size(hashes: list[int], k: int) -> None:
    sketch = make_bottom_sketch(iter(hashes), k)
    assert sketch == BottomSketch(len(set(hashes)), tuple(sorted(set(hashes))[:k]))
    assert sketch.is_whole == (len(set(hashes)) <= k)


@given(SMALL, SMALL)
def test_small_sets_are_compared_exactly(a: set[int], b: set[int]) -> None:
    ours, theirs = make_bottom_sketch(a, 40), make_bottom_sketch(b, 40)
    assert estimate_sketch_jaccard(ours, theirs) == shingles.compute_set_jaccard(a, b)
    assert estimate_sketch_containment(ours, theirs) == shingles.compute_set_containment(a, b)


@given(SMALL, SMALL, st.integers(1, 40), st.integers(1, 40))
def test_estimates_are_symmetric_and_limited_by_the_sizes(a: set[int], b: set[int], k: int, other_k: int) -> None:
    ours, theirs = make_bottom_sketch(a, k), make_bottom_sketch(b, other_k)
    estimate, back, inside = (
        estimate_sketch_jaccard(ours, theirs),
        estimate_sketch_jaccard(theirs, ours),
        estimate_sketch_containment(ours, theirs),
    )
    assert estimate == back
    assert (estimate is None) == (not a and not b)
    assert estimate is None or 0 <= estimate <= min(len(a), len(b)) / max(len(a), len(b))
    assert inside is None or 0 <= inside <= min(1, len(b) / len(a))
    assert estimate_sketch_jaccard(ours, ours) == (1.0 if a else None)


def test_empty_sets_have_no_similarity() -> None:
    one = make_bottom_sketch([5], 3)
    assert estimate_sketch_jaccard(EMPTY_SKETCH, EMPTY_SKETCH) is None
    assert estimate_sketch_jaccard(EMPTY_SKETCH, one) == estimate_sketch_jaccard(one, EMPTY_SKETCH) == 0.0
    assert estimate_sketch_containment(EMPTY_SKETCH, one) is None
    assert estimate_sketch_containment(EMPTY_SKETCH, EMPTY_SKETCH) is None
    assert estimate_sketch_containment(one, EMPTY_SKETCH) == 0.0


def test_a_value_beyond_an_incomplete_sketch_is_unknown() -> None:
    large = make_bottom_sketch(range(1000), 10)
    assert estimate_sketch_containment(make_bottom_sketch([500], 10), large) is None
    assert estimate_sketch_containment(make_bottom_sketch([5], 10), large) == 1.0
    assert estimate_sketch_containment(make_bottom_sketch([5, 2000], 10), large) == 1.0


@table("similarity", [0.05, 0.2, 0.5, 0.8, 0.95])
@table("sizes", [(5_000, 5_000), (400, 5_000), (200, 3_000)])
def test_large_sets_are_estimated(similarity: float, sizes: tuple[int, int]) -> None:
    random = Random(f"{similarity} {sizes}")
    small, large = sizes
    shared = round(small * similarity)
    errors, inner_errors = [], []
    for _ in range(40):
        hashes = random.sample(range(2**32), small + large - shared)
        a, b = hashes[:small], hashes[small - shared :]
        exact, inside = shingles.compute_set_jaccard(a, b), shingles.compute_set_containment(a, b)
        estimate, inner = (
            estimate_sketch_jaccard(make_bottom_sketch(a, K), make_bottom_sketch(b, K)),
            estimate_sketch_containment(make_bottom_sketch(a, K), make_bottom_sketch(b, K)),
        )
        assert exact is not None and inside is not None and estimate is not None and inner is not None
        errors.append(estimate - exact)
        inner_errors.append(inner - inside)
    assert root_mean_square(errors) <= math.sqrt(1 / K)
    # The smaller set has only this many values in the range where both are complete.
    known = min(small, K, K * small / large)
    assert root_mean_square(inner_errors) <= math.sqrt(1 / known)


def root_mean_square(errors: list[float]) -> float:
    return math.sqrt(sum(error**2 for error in errors) / len(errors))


@pytest.mark.parametrize("hashes", [[-1], [2**32], [1, 2, 3, 2**40]])
def test_hashes_of_more_than_32_bits_are_rejected(hashes: list[int]) -> None:
    with pytest.raises(ValueError, match="32-bit"):
        make_bottom_sketch(hashes, 2)


def test_a_sketch_of_size_0_is_rejected() -> None:
    with pytest.raises(ValueError, match="invalid size of a sketch"):
        make_bottom_sketch([1], 0)
