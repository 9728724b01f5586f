"""SimHash and the LSH forest against their definitions; order does not matter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sketch.hashing import BITS, Forest, compute_simhash, compute_simhash_distance, hash64

bags = st.dictionaries(st.text(max_size=8), st.integers(1, 50), max_size=20)
signatures = st.lists(st.integers(0, 3), min_size=8, max_size=8).map(
    lambda values: b"".join(value.to_bytes(2, "little") for value in values)
)


@given(bags)
def test_a_simhash_is_the_majority_of_its_features(bag: dict[str, int]) -> None:
    votes = [0] * BITS
    for feature, count in bag.items():
        for bit in range(BITS):
            votes[bit] += count if hash64("simhash", feature) >> bit & 1 else -count
    assert compute_simhash(bag) == sum(1 << bit for bit, vote in enumerate(votes) if vote > 0)


@given(bags)
def test_order_does_not_matter(bag: dict[str, int]) -> None:
    assert compute_simhash(bag) == compute_simhash(dict(reversed(bag.items())))


def test_a_simhash_has_not_changed() -> None:
    """Stored hashes may come from another version."""
    assert compute_simhash({"cache": 2, "answer": 1, "later": 1}) == 1442435095016250416


@given(st.integers(0, 2**BITS - 1), st.integers(0, 2**BITS - 1))
def test_distance_counts_bits(one: int, other: int) -> None:
    assert (
        compute_simhash_distance(one, other)
        == compute_simhash_distance(other, one)
        == sum((one ^ other) >> bit & 1 for bit in range(BITS))
    )


def shared(one: bytes, other: bytes) -> int:
    """Return the length in values of the longest common prefix of any of the four pieces."""
    best = 0
    for start in range(0, 16, 4):
        length = 0
        while length < 2 and one[start : start + 2 * length + 2] == other[start : start + 2 * length + 2]:
            length += 1
        best = max(best, length)
    return best


@given(st.lists(signatures, max_size=12), signatures, st.integers(1, 12))
def test_a_forest_returns_the_longest_common_prefixes_first(stored: list[bytes], query: bytes, limit: int) -> None:
    forest = Forest(4)
    for number, signature in enumerate(stored):
        forest.add(number, signature)
    lengths = {number: shared(query, signature) for number, signature in enumerate(stored)}
    ranked = sorted((number for number in lengths if lengths[number]), key=lambda number: (-lengths[number], number))
    deep = [number for number in ranked if lengths[number] == 2]
    assert forest.find_nearest(query, limit) == (deep if len(deep) >= limit else ranked)


def test_invalid_signatures_are_rejected() -> None:
    with pytest.raises(ValueError, match="invalid number of trees: 0"):
        Forest(0)
    for wrong in (b"", b"123"):
        with pytest.raises(ValueError, match="cannot split"):
            Forest(4).add(1, wrong)
