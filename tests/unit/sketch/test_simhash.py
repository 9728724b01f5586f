"""SimHash and the LSH forest: against the plain definitions, and that order and chance play no part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sketch.hashing import BITS, Forest, distance, hash64, simhash_of

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
    assert simhash_of(bag) == sum(1 << bit for bit, vote in enumerate(votes) if vote > 0)


@given(bags)
def test_order_does_not_matter(bag: dict[str, int]) -> None:
    assert simhash_of(bag) == simhash_of(dict(reversed(bag.items())))


def test_a_simhash_stays_as_it_was() -> None:
    """What is compared may have been made by another version."""
    assert simhash_of({"cache": 2, "answer": 1, "later": 1}) == 1442435095016250416


@given(st.integers(0, 2**BITS - 1), st.integers(0, 2**BITS - 1))
def test_distance_counts_bits(one: int, other: int) -> None:
    assert distance(one, other) == distance(other, one) == sum((one ^ other) >> bit & 1 for bit in range(BITS))


def shared(one: bytes, other: bytes) -> int:
    """The longest common beginning in values of any of the four pieces, told piece by piece."""
    best = 0
    for start in range(0, 16, 4):
        length = 0
        while length < 2 and one[start : start + 2 * length + 2] == other[start : start + 2 * length + 2]:
            length += 1
        best = max(best, length)
    return best


@given(st.lists(signatures, max_size=12), signatures, st.integers(1, 12))
def test_a_forest_gives_what_shares_the_longest_beginning(kept: list[bytes], asked: bytes, most: int) -> None:
    forest = Forest(4)
    for number, signature in enumerate(kept):
        forest.add(number, signature)
    lengths = {number: shared(asked, signature) for number, signature in enumerate(kept)}
    ranked = sorted((number for number in lengths if lengths[number]), key=lambda number: (-lengths[number], number))
    deep = [number for number in ranked if lengths[number] == 2]
    assert forest.most_alike(asked, most) == (deep if len(deep) >= most else ranked)


def test_what_is_no_signature_is_refused() -> None:
    with pytest.raises(ValueError, match="0 trees"):
        Forest(0)
    for wrong in (b"", b"123"):
        with pytest.raises(ValueError, match="cannot be cut"):
            Forest(4).add(1, wrong)
