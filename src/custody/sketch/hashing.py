"""Hashes of values, SimHash, LSH keys, an LSH forest and bottom-k sketches.

What was hashed is stored, so no function here may change: another hash is another function.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from heapq import nsmallest
from struct import Struct

_END = b"\0"
"""Ends the field's name, which holds no such byte, so that no field and value look like another field and value."""
_CACHED_CHARS_MAX = 128
"""Names and paths come again and again; a long text hardly does, and would only be kept from being freed."""
_CACHED_MAX = 1 << 15


def hash64(field: str, value: str) -> int:
    """A signed number of 64 bits, as databases store them, for a value of a field.

    The first eight bytes of BLAKE2b, big end first, over the field's name, a zero byte and the value.

    >>> hash64("path", "src/app.ts"), hash64("word", "src/app.ts")
    (-7310040873515005912, 4188282674425240532)
    """
    return _short64(field, value) if len(value) <= _CACHED_CHARS_MAX else hash64_of_bytes(field, _bytes(value))


def hash32(field: str, value: str) -> int:
    """A number from 0 to 2**32 - 1 for a value of a field: the last half of its ``hash64``.

    >>> hash32("path", "src/app.ts")
    1217218600
    """
    return hash64(field, value) & 0xFFFF_FFFF


def hash64_of_bytes(field: str, data: bytes) -> int:
    """What ``hash64`` gives for text that is written as these bytes in UTF-8.

    >>> hash64_of_bytes("word", "größe".encode()) == hash64("word", "größe")
    True
    """
    return int.from_bytes(blake2b(field.encode() + _END + data, digest_size=8).digest(), "big", signed=True)


def begun_hash64(field: str) -> blake2b:
    """The digest behind ``hash64`` after the field: to be copied and finished for one value after the other."""
    return blake2b(field.encode() + _END, digest_size=8)


@lru_cache(maxsize=_CACHED_MAX)
def _short64(field: str, value: str) -> int:
    return hash64_of_bytes(field, _bytes(value))


def _bytes(value: str) -> bytes:
    # Lone surrogates stand for bytes of the file that are no UTF-8.
    return value.encode("utf-8", "surrogatepass")


# SimHash (Charikar, 2002): 64 bits for a bag of features; the more alike two bags, the fewer bits differ.
# Every feature votes on every bit, by its own hash and as often as it occurs; the majority decides. Unlike MinHash
# and winnowing it tells how alike two whole bags are, and hardly notices a small one inside a large one.


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


# Locality-sensitive hashing: keys of which two like signatures probably share one.
# A signature of ``n`` values is cut into ``bands`` of ``rows`` values each, and every band gives a key. Two sets
# whose Jaccard similarity is ``s`` share a band with probability ``s ** rows``, so they share a key with probability
# ``1 - (1 - s ** rows) ** bands``.


_VALUE_BYTES = 2


def bands_of(signature: bytes, bands: int, *, field: str = "band") -> list[int]:
    """A key of 64 bits, signed as databases store them, for every band in its order.

    The place of a band is part of its key, and so is ``field``, by which keys of one kind of signature are kept apart
    from keys of another. A key is the ``hash64`` of the band's bytes in the field of that name and number.
    """
    if bands < 1 or not signature or len(signature) % (bands * _VALUE_BYTES):
        raise ValueError(f"a signature of {len(signature)} bytes cannot be cut into {bands} bands")
    width = len(signature) // bands
    digests = []
    for band, begun in enumerate(_make_band_hashes(field, bands)):
        digest = begun.copy()
        digest.update(signature[band * width : (band + 1) * width])
        digests.append(digest.digest())
    return [*Struct(f">{bands}q").unpack(b"".join(digests))]


@lru_cache(maxsize=64)
def _make_band_hashes(field: str, bands: int) -> tuple[blake2b, ...]:
    return tuple(begun_hash64(f"{field}.{band}") for band in range(bands))


# An LSH forest (Bawa, Condie, Ganesan, 2005): the signatures most like a given one, however like that is.
# A signature is cut into as many pieces as there are trees. In every tree pieces are kept sorted, so that those with
# a common beginning stand together: what shares more of a piece's beginning is found first. No threshold is fixed
# beforehand, as it is with bands.


class Forest:
    """Signatures of equal size under numbers that the caller gives."""

    def __init__(self, trees: int) -> None:
        if trees < 1:
            raise ValueError(f"a forest of {trees} trees finds nothing")
        self._trees: list[list[tuple[bytes, int]]] = [[] for _ in range(trees)]

    def add(self, number: int, signature: bytes) -> None:
        """Keep a signature under a number."""
        for tree, piece in zip(self._trees, self._pieces(signature), strict=True):
            insort(tree, (piece, number))

    def most_alike(self, signature: bytes, most: int) -> list[int]:
        """About ``most`` different numbers, those with the longest common beginning first, of equals the lowest.

        All that share the last beginning looked at are given, so that none is left out by chance; without any common
        value in any tree nothing is given.
        """
        pieces = self._pieces(signature)
        found: dict[int, None] = {}
        for length in range(len(pieces[0]), 0, -_VALUE_BYTES):
            here = {n for tree, piece in zip(self._trees, pieces, strict=True) for n in _sharing(tree, piece[:length])}
            found.update(dict.fromkeys(sorted(here)))
            if len(found) >= most:
                break
        return list(found)

    def _pieces(self, signature: bytes) -> list[bytes]:
        trees = len(self._trees)
        if not signature or len(signature) % (trees * _VALUE_BYTES):
            raise ValueError(f"a signature of {len(signature)} bytes cannot be cut for {trees} trees")
        width = len(signature) // trees
        return [signature[at : at + width] for at in range(0, len(signature), width)]


def _sharing(tree: list[tuple[bytes, int]], beginning: bytes) -> list[int]:
    """The numbers of all pieces with this beginning, which stand together."""
    found = []
    for at in range(bisect_left(tree, (beginning, 0)), len(tree)):
        piece, number = tree[at]
        if not piece.startswith(beginning):
            break
        found.append(number)
    return found


# A bottom-k sketch: the smallest hashes of a set, and how many there are in all.
# Hashes are spread evenly, so the smallest are a fair sample, and two sets are sampled at the same places. A set of
# no more than ``k`` hashes is kept whole, and what is said about such sets is exact.


_HASH_MAX = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class BottomSketch:
    """The smallest hashes of a set of ``size`` different ones, ascending; all of them, if there are as many."""

    size: int
    values: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return self.size == len(self.values)


EMPTY = BottomSketch(0, ())


def bottom_of(hashes: Iterable[int], k: int) -> BottomSketch:
    """The sketch of a set of numbers from 0 to 2**32 - 1, with at most ``k`` of them.

    >>> bottom_of([7, 3, 9, 3, 5], 2)
    BottomSketch(size=4, values=(3, 5))
    """
    if k < 1:
        raise ValueError(f"a sketch of {k} values holds nothing")
    found = set(hashes)
    values = sorted(found) if len(found) <= k else nsmallest(k, found)
    if values and not (0 <= values[0] and max(found) <= _HASH_MAX):
        raise ValueError("a sketch holds numbers of 32 bits only")
    return BottomSketch(len(found), tuple(values))


def jaccard(a: BottomSketch, b: BottomSketch) -> float | None:
    """The Jaccard similarity of two sets: exact if both are whole, else an estimate.

    None when both are empty, which is no likeness; 0 when one is. The estimate is the share of common values up to the
    place to which both sketches know everything; its error is about ``sqrt(j * (1 - j) / k)``. It is never above
    the similarity that the sizes allow.

    >>> jaccard(BottomSketch(3, (1, 2, 3)), BottomSketch(3, (2, 3, 4)))
    0.5
    >>> jaccard(BottomSketch(100, (1, 2, 3)), BottomSketch(100, (2, 4, 6)))
    0.3333333333333333
    >>> print(jaccard(EMPTY, EMPTY), jaccard(EMPTY, BottomSketch(1, (5,))))
    None 0.0
    """
    if not (a.size and b.size):
        return 0.0 if a.size or b.size else None
    ours, theirs = _clip_to_complete(a, b)
    shared = len(ours & theirs)
    return min(shared / (len(ours) + len(theirs) - shared), min(a.size, b.size) / max(a.size, b.size))


def containment(a: BottomSketch, b: BottomSketch) -> float | None:
    """The share of ``a`` that ``b`` has too: exact if both are whole, else an estimate, never above what sizes allow.

    None when ``a`` is empty, and when no value of ``a`` lies where ``b`` is known: the sketch of a very large set says
    nothing about a very small one.

    >>> containment(BottomSketch(2, (1, 2)), BottomSketch(3, (2, 3, 4))), containment(BottomSketch(1, (5,)), EMPTY)
    (0.5, 0.0)
    >>> print(containment(EMPTY, BottomSketch(1, (5,))))
    None
    >>> print(containment(BottomSketch(1, (900,)), BottomSketch(10_000, (1, 2, 3))))
    None
    """
    if not b.size:
        return 0.0 if a.size else None
    ours, theirs = _clip_to_complete(a, b)
    return min(len(ours & theirs) / len(ours), b.size / a.size) if ours else None


def _clip_to_complete(a: BottomSketch, b: BottomSketch) -> tuple[set[int], set[int]]:
    """The values of both up to the last one to which both sketches are complete."""
    if a.is_whole and b.is_whole:
        return set(a.values), set(b.values)
    last = min(sketch.values[-1] for sketch in (a, b) if not sketch.is_whole)
    return {value for value in a.values if value <= last}, {value for value in b.values if value <= last}
