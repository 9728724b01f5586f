"""Shingles, the runs of ``k`` tokens of a text, and how alike two sets of them are, exactly."""

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

_BETWEEN = "\n"
"""Tokens hold no line end, so that different tokens never make the same shingle."""

T = TypeVar("T")


def shingles_of(tokens: Sequence[str], k: int) -> list[str]:
    r"""Every run of ``k`` tokens, in order and with repetitions; of fewer tokens the one run that there is.

    >>> shingles_of(["a", "=", "b", ";"], 3)
    ['a\n=\nb', '=\nb\n;']
    >>> shingles_of(["a", "b"], 3), shingles_of([], 3)
    (['a\nb'], [])
    """
    return [*_runs(tokens, k)]


def jaccard(a: Collection[T], b: Collection[T]) -> float | None:
    """The share of all different elements that both have; None when there are none at all, which is no likeness.

    >>> jaccard("abc", "bcd"), jaccard("abc", ""), jaccard("", "")
    (0.5, 0.0, None)
    """
    ours, theirs = set(a), set(b)
    shared = len(ours & theirs)
    whole = len(ours) + len(theirs) - shared
    return shared / whole if whole else None


def containment(a: Collection[T], b: Collection[T]) -> float | None:
    """The share of the different elements of ``a`` that ``b`` has too; None when ``a`` has none.

    >>> containment("ab", "bcd"), containment("ab", ""), containment("", "ab")
    (0.5, 0.0, None)
    """
    ours = set(a)
    return len(ours.intersection(b)) / len(ours) if ours else None


def _runs(tokens: Sequence[str], k: int) -> Iterable[str]:
    tails = _tails(k)
    if len(tokens) <= k:
        return (_BETWEEN.join(tokens),) if tokens else ()
    return map(_BETWEEN.join, zip(*map(tokens.__getitem__, tails), strict=False))


@lru_cache(maxsize=64)
def _tails(k: int) -> tuple[slice, ...]:
    """What is left of a sequence after none, one, two … of its elements; made once, since pieces are many and short."""
    if k < 1:
        raise ValueError(f"a shingle of {k} tokens is none")
    return tuple(slice(start, None) for start in range(k))
