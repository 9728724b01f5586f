"""Hashes of values, SimHash, LSH keys, an LSH forest and bottom-k sketches.

Hashes are stored, so no function here may change its results.
"""

import struct
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from heapq import nsmallest

from msgspec import Struct

_END = b"\0"
"""Separates the name of the field, which never contains this byte, from the value."""
_CACHED_CHARS_MAX = 128
"""Characters of a cached value: names and paths repeat, long texts do not."""
_CACHED_MAX = 1 << 15


def hash64(field: str, value: str) -> int:
    """Return a signed 64-bit hash of a value of a field, as databases store it.

    It is BLAKE2b with 8 bytes, big-endian, over the field's name, a zero byte and the value.

    >>> hash64("path", "src/app.ts"), hash64("word", "src/app.ts")
    (-7310040873515005912, 4188282674425240532)
    """
    return (
        _hash64_with_cache(field, value)
        if len(value) <= _CACHED_CHARS_MAX
        else hash64_of_bytes(field, _encode_feature_value(value))
    )


def hash32(field: str, value: str) -> int:
    """Return an unsigned 32-bit hash of a value of a field: the low half of its ``hash64``.

    >>> hash32("path", "src/app.ts")
    1217218600
    """
    return hash64(field, value) & 0xFFFF_FFFF


def hash64_of_bytes(field: str, data: bytes) -> int:
    """Return the ``hash64`` of a text that is encoded as UTF-8.

    >>> hash64_of_bytes("word", "größe".encode()) == hash64("word", "größe")
    True
    """
    return int.from_bytes(blake2b(field.encode() + _END + data, digest_size=8).digest(), "big", signed=True)


def start_field_hash64(field: str) -> blake2b:
    """Return the digest of ``hash64`` after the field, to be copied for each value."""
    return blake2b(field.encode() + _END, digest_size=8)


@lru_cache(maxsize=_CACHED_MAX)
def _hash64_with_cache(field: str, value: str) -> int:
    return hash64_of_bytes(field, _encode_feature_value(value))


def _encode_feature_value(value: str) -> bytes:
    # Lone surrogates stand for bytes that are not valid UTF-8.
    return value.encode("utf-8", "surrogatepass")


# SimHash (Charikar, 2002): 64 bits for a bag of features; the more similar two bags, the fewer bits differ.
# Every feature votes on every bit with its hash, weighted by its count. Unlike MinHash and winnowing it compares whole
# bags, and hardly notices a small bag inside a large one.


BITS = 64
_FIELD = "simhash"
_LANE_BITS = 40
"""Bits of a large number that count the votes for one bit of the hash; enough for any text."""
_SPREAD = tuple(sum(1 << (_LANE_BITS * bit) for bit in range(8) if byte >> bit & 1) for byte in range(256))
"""The bits of each byte value, one per lane."""
_LANE = (1 << _LANE_BITS) - 1


def compute_simhash(features: Mapping[str, int]) -> int:
    """Return the unsigned 64-bit SimHash of features with their counts; 0 for the empty bag.

    A bit is set if more than half of all votes are for it. The order does not matter.

    >>> compute_simhash({"a": 1}) == compute_simhash({"a": 7}), compute_simhash({})
    (True, 0)
    """
    total = sum(features.values())
    lanes = 0
    for feature, count in features.items():
        value = hash64(_FIELD, feature).to_bytes(8, "little", signed=True)
        spread = sum(_SPREAD[byte] << (8 * _LANE_BITS * at) for at, byte in enumerate(value))
        lanes += count * spread
    return sum(1 << bit for bit in range(BITS) if 2 * (lanes >> (_LANE_BITS * bit) & _LANE) > total)


def compute_simhash_distance(number: int, other: int) -> int:
    """Return the number of different bits of two hashes, from 0 to 64.

    >>> compute_simhash_distance(0b1100, 0b1010)
    2
    """
    return (number ^ other).bit_count()


# Locality-sensitive hashing: similar signatures probably share a key.
# A signature of ``n`` values is cut into ``bands`` of ``rows`` values each, and every band gives a key. Two sets with
# the Jaccard similarity ``s`` share a band with probability ``s ** rows``, so they share a key with probability
# ``1 - (1 - s ** rows) ** bands``.


_VALUE_BYTES = 2


def compute_lsh_bands(signature: bytes, bands: int, *, field: str = "band") -> list[int]:
    """Return a signed 64-bit key for every band, in order.

    A key is the ``hash64`` of the band's bytes in the field ``field`` with the number of the band, so that keys of
    different bands and of different kinds of signatures differ.
    """
    if bands < 1 or not signature or len(signature) % (bands * _VALUE_BYTES):
        raise ValueError(f"cannot split a signature of {len(signature)} bytes into {bands} bands")
    width = len(signature) // bands
    digests = []
    for band, prefix in enumerate(_make_band_hashes(field, bands)):
        digest = prefix.copy()
        digest.update(signature[band * width : (band + 1) * width])
        digests.append(digest.digest())
    return [*struct.Struct(f">{bands}q").unpack(b"".join(digests))]


@lru_cache(maxsize=64)
def _make_band_hashes(field: str, bands: int) -> tuple[blake2b, ...]:
    return tuple(start_field_hash64(f"{field}.{band}") for band in range(bands))


# An LSH forest (Bawa, Condie, Ganesan, 2005) finds the nearest signatures without a fixed threshold.
# A signature is cut into one piece per tree. Every tree is sorted, so that pieces with a common prefix are adjacent,
# and those with the longest common prefix are found first.


class Forest:
    """An index of signatures of equal size by number."""

    def __init__(self, trees: int) -> None:
        if trees < 1:
            raise ValueError(f"invalid number of trees: {trees}")
        self._trees: list[list[tuple[bytes, int]]] = [[] for _ in range(trees)]

    def add(self, number: int, signature: bytes) -> None:
        """Add a signature under a number."""
        for tree, piece in zip(self._trees, self._pieces(signature), strict=True):
            insort(tree, (piece, number))

    def find_nearest(self, signature: bytes, limit: int) -> list[int]:
        """Return about ``limit`` numbers, those with the longest common prefix first, then by number.

        Numbers with the same prefix length are returned together, so there may be more than ``limit``. Signatures
        without a common value in any tree are never returned.
        """
        pieces = self._pieces(signature)
        nearest: dict[int, None] = {}
        for length in range(len(pieces[0]), 0, -_VALUE_BYTES):
            matches = {
                n
                for tree, piece in zip(self._trees, pieces, strict=True)
                for n in _find_lsh_prefix_matches(tree, piece[:length])
            }
            nearest.update(dict.fromkeys(sorted(matches)))
            if len(nearest) >= limit:
                break
        return list(nearest)

    def _pieces(self, signature: bytes) -> list[bytes]:
        trees = len(self._trees)
        if not signature or len(signature) % (trees * _VALUE_BYTES):
            raise ValueError(f"cannot split a signature of {len(signature)} bytes for {trees} trees")
        width = len(signature) // trees
        return [signature[at : at + width] for at in range(0, len(signature), width)]


def _find_lsh_prefix_matches(tree: list[tuple[bytes, int]], prefix: bytes) -> list[int]:
    numbers = []
    for at in range(bisect_left(tree, (prefix, 0)), len(tree)):
        piece, number = tree[at]
        if not piece.startswith(prefix):
            break
        numbers.append(number)
    return numbers


# A bottom-k sketch: the smallest hashes of a set, and its size.
# Hashes are uniform, so the smallest are a fair sample, and two sets are sampled at the same values. A set of up to
# ``k`` hashes is stored whole, and results for such sets are exact.


_HASH_MAX = 0xFFFF_FFFF


class BottomSketch(Struct, frozen=True):
    """The smallest hashes of a set of ``size`` hashes, ascending; possibly all of them."""

    size: int
    values: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether it has all hashes of the set."""
        return self.size == len(self.values)


EMPTY_SKETCH = BottomSketch(0, ())


def make_bottom_sketch(hashes: Iterable[int], k: int) -> BottomSketch:
    """Return the sketch of a set of unsigned 32-bit hashes, with at most ``k`` of them.

    >>> make_bottom_sketch([7, 3, 9, 3, 5], 2)
    BottomSketch(size=4, values=(3, 5))
    """
    if k < 1:
        raise ValueError(f"invalid size of a sketch: {k}")
    unique = set(hashes)
    values = sorted(unique) if len(unique) <= k else nsmallest(k, unique)
    if values and not (0 <= values[0] and max(unique) <= _HASH_MAX):
        raise ValueError("hashes must be unsigned 32-bit numbers")
    return BottomSketch(len(unique), tuple(values))


def estimate_sketch_jaccard(a: BottomSketch, b: BottomSketch) -> float | None:
    """Return the Jaccard similarity of two sets: exact if both are whole, else an estimate.

    None if both are empty, 0 if one is. The estimate is the share of common values in the range where both sketches are
    complete; its error is about ``sqrt(j * (1 - j) / k)``. It never exceeds the similarity that the sizes allow.

    >>> estimate_sketch_jaccard(BottomSketch(3, (1, 2, 3)), BottomSketch(3, (2, 3, 4)))
    0.5
    >>> estimate_sketch_jaccard(BottomSketch(100, (1, 2, 3)), BottomSketch(100, (2, 4, 6)))
    0.3333333333333333
    >>> print(estimate_sketch_jaccard(EMPTY_SKETCH, EMPTY_SKETCH))
    None
    >>> estimate_sketch_jaccard(EMPTY_SKETCH, BottomSketch(1, (5,)))
    0.0
    """
    if not (a.size and b.size):
        return 0.0 if a.size or b.size else None
    ours, theirs = _clip_to_complete(a, b)
    shared = len(ours & theirs)
    return min(shared / (len(ours) + len(theirs) - shared), min(a.size, b.size) / max(a.size, b.size))


def estimate_sketch_containment(a: BottomSketch, b: BottomSketch) -> float | None:
    """Return the share of ``a`` that is in ``b``: exact if both are whole, else an estimate.

    None if ``a`` is empty, or has no value in the range where ``b`` is complete: the sketch of a very large set says
    nothing about a very small one. The estimate never exceeds what the sizes allow.

    >>> estimate_sketch_containment(BottomSketch(2, (1, 2)), BottomSketch(3, (2, 3, 4)))
    0.5
    >>> estimate_sketch_containment(BottomSketch(1, (5,)), EMPTY_SKETCH)
    0.0
    >>> print(estimate_sketch_containment(EMPTY_SKETCH, BottomSketch(1, (5,))))
    None
    >>> print(estimate_sketch_containment(BottomSketch(1, (900,)), BottomSketch(10_000, (1, 2, 3))))
    None
    """
    if not b.size:
        return 0.0 if a.size else None
    ours, theirs = _clip_to_complete(a, b)
    return min(len(ours & theirs) / len(ours), b.size / a.size) if ours else None


def _clip_to_complete(a: BottomSketch, b: BottomSketch) -> tuple[set[int], set[int]]:
    """Return the values of both in the range where both sketches are complete."""
    if a.is_whole and b.is_whole:
        return set(a.values), set(b.values)
    last = min(sketch.values[-1] for sketch in (a, b) if not sketch.is_whole)
    return {value for value in a.values if value <= last}, {value for value in b.values if value <= last}
