"""Winnowing (Schleimer, Wilkerson, Aiken, 2003): some hashes of a token stream, chosen so that what is common shows.

Of every ``window`` runs of ``k`` tokens in a row one is chosen, by its hash alone. So two texts that share at least
``k + window - 1`` tokens in a row share a fingerprint, wherever the run stands in each of them: moves and renames of
files do not matter. Shared runs shorter than ``k`` never show.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from custody.sketch import shingles
from custody.sketch.hash import hash64

_PRIME = (1 << 61) - 1
_BASE = 0x1B87_3593_CC9E_2D51
"""Any number below the prime will do; stored fingerprints rest on this one."""
_FIELD = "winnow"


class Fingerprint(NamedTuple):
    """A chosen run of tokens: its hash, from 0 to 2**61 - 2, and the line of its first token."""

    hash: int
    line: int


def fingerprints_of(tokens: Iterable[tuple[str, int]], k: int, window: int) -> tuple[Fingerprint, ...]:
    """The fingerprints of tokens with their lines, in order; the same tokens give the same hashes on any lines.

    Of fewer than ``k`` tokens the whole is one run, and of fewer than ``window`` runs one is chosen. Takes time in
    proportion to the tokens.
    """
    if k < 1 or window < 1:
        raise ValueError(f"no run of {k} tokens can be chosen from a window of {window}")
    found = list(tokens)
    if not found:
        return ()
    runs = _run_hashes([token for token, _ in found], min(k, len(found)))
    return tuple(Fingerprint(runs[at], found[at][1]) for at in _chosen(runs, min(window, len(runs))))


def overlap(a: Iterable[Fingerprint], b: Iterable[Fingerprint]) -> float | None:
    """The share of all different hashes that both have; None when there are none at all.

    >>> overlap([Fingerprint(1, 1), Fingerprint(2, 4)], [Fingerprint(2, 9), Fingerprint(3, 12)])
    0.3333333333333333
    """
    return shingles.jaccard(_hashes(a), _hashes(b))


def containment(a: Iterable[Fingerprint], b: Iterable[Fingerprint]) -> float | None:
    """The share of the different hashes of ``a`` that ``b`` has too; None when ``a`` has none.

    >>> containment([Fingerprint(1, 1), Fingerprint(2, 4)], [Fingerprint(2, 9), Fingerprint(3, 12)])
    0.5
    """
    return shingles.containment(_hashes(a), _hashes(b))


def shared_lines(a: Iterable[Fingerprint], b: Iterable[Fingerprint]) -> list[tuple[int, int]]:
    """Where common hashes stand, as pairs of a line of ``a`` and a line of ``b``, in the order of ``a``.

    What stands several times is paired in its order, so there are never more pairs than fingerprints.

    >>> shared_lines([Fingerprint(1, 1), Fingerprint(2, 4), Fingerprint(2, 5)], [Fingerprint(2, 9), Fingerprint(3, 12)])
    [(4, 9)]
    """
    places = defaultdict[int, deque[int]](deque)
    for hash_, line in b:
        places[hash_].append(line)
    return [(line, places[hash_].popleft()) for hash_, line in a if places.get(hash_)]


def _hashes(fingerprints: Iterable[Fingerprint]) -> set[int]:
    return {fingerprint.hash for fingerprint in fingerprints}


def _run_hashes(tokens: Sequence[str], k: int) -> list[int]:
    """The hash of every run of ``k`` tokens: a polynomial in their own hashes, carried on from run to run."""
    numbers = {token: hash64(_FIELD, token) % _PRIME for token in set(tokens)}
    values = [numbers[token] for token in tokens]
    gone = pow(_BASE, k, _PRIME)
    rolled = 0
    for value in values[:k]:
        rolled = (rolled * _BASE + value) % _PRIME
    found = [rolled]
    for first, last in zip(values, values[k:], strict=False):
        rolled = (rolled * _BASE + last - first * gone) % _PRIME
        found.append(rolled)
    return found


def _chosen(runs: Sequence[int], window: int) -> Iterator[int]:
    """The places of the smallest hash of every window; of equals the one chosen before, else the last.

    The rule for equals keeps a long row of the same token from choosing every place.
    """
    least = deque[int]()
    chosen = -1
    for at, value in enumerate(runs):
        while least and runs[least[-1]] >= value:
            least.pop()
        least.append(at)
        start = at - window + 1
        if least[0] < start:
            least.popleft()
        if start >= 0 and (chosen < start or runs[least[0]] < runs[chosen]):
            chosen = least[0]
            yield chosen
