"""SimHash (Charikar, 2002): 64 bits for a bag of features; the more alike two bags, the fewer bits differ.

Every feature votes on every bit, by its own hash and as often as it occurs; the majority decides. Unlike MinHash and
winnowing it tells how alike two whole bags are, and hardly notices a small one inside a large one.
"""

from collections.abc import Mapping

from custody.sketch.hash import hash64

BITS = 64
_FIELD = "simhash"
_LANE_BITS = 40
"""Votes for one bit are counted in so many bits of a large number: no text has as many features."""
_SPREAD = tuple(sum(1 << (_LANE_BITS * bit) for bit in range(8) if byte >> bit & 1) for byte in range(256))
"""The bits of a byte, one to a lane."""
_LANE = (1 << _LANE_BITS) - 1


def simhash_of(features: Mapping[str, int]) -> int:
    """The hash of a bag of features with how often each occurs: a number from 0 to 2**64 - 1; 0 of the empty bag.

    A bit is set if more than half of all votes are for it. Order does not matter.

    >>> simhash_of({"a": 1}) == simhash_of({"a": 7}), simhash_of({})
    (True, 0)
    """
    total = sum(features.values())
    lanes = 0
    for feature, count in features.items():
        value = hash64(_FIELD, feature).to_bytes(8, "little", signed=True)
        spread = sum(_SPREAD[byte] << (8 * _LANE_BITS * at) for at, byte in enumerate(value))
        lanes += count * spread
    return sum(1 << bit for bit in range(BITS) if 2 * (lanes >> (_LANE_BITS * bit) & _LANE) > total)


def distance(number: int, other: int) -> int:
    """How many bits of two hashes differ, from 0 to 64.

    >>> distance(0b1100, 0b1010)
    2
    """
    return (number ^ other).bit_count()
