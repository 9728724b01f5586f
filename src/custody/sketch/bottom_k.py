"""A bottom-k sketch: the smallest hashes of a set, and how many there are in all.

Hashes are spread evenly, so the smallest are a fair sample, and two sets are sampled at the same places. A set of no
more than ``k`` hashes is kept whole, and what is said about such sets is exact.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest

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
