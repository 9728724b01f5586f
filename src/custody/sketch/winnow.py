"""Winnowing (Schleimer, Wilkerson, Aiken, 2003): fingerprints of a token stream that reveal common runs.

Of every ``window`` consecutive runs of ``k`` tokens one is chosen, by its hash alone. So two texts that share at least
``k + window - 1`` consecutive tokens share a fingerprint, wherever the run is. Shared runs shorter than ``k`` are never
found.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from custody.sketch.hashing import hash64

_PRIME = (1 << 61) - 1
_BASE = 0x1B87_3593_CC9E_2D51
"""Any number below the prime works; stored fingerprints depend on this one."""
_FIELD = "winnow"


def winnow_fingerprints(tokens: Iterable[str], k: int, window: int) -> tuple[int, ...]:
    """Return the fingerprints of tokens, in order: hashes from 0 to 2**61 - 2.

    Fewer than ``k`` tokens make one run, and of fewer than ``window`` runs one is chosen. Takes linear time.
    """
    if k < 1 or window < 1:
        raise ValueError(f"invalid run of {k} tokens or window of {window}")
    collected = list(tokens)
    if not collected:
        return ()
    runs = hash_token_runs(collected, min(k, len(collected)))
    return tuple(runs[at] for at in select_window_minima(runs, min(window, len(runs))))


def hash_token_runs(tokens: Sequence[str], k: int) -> list[int]:
    """Return the rolling polynomial hash of every run of ``k`` tokens."""
    numbers = {token: hash64(_FIELD, token) % _PRIME for token in set(tokens)}
    values = [numbers[token] for token in tokens]
    leaving = pow(_BASE, k, _PRIME)
    rolling = 0
    for value in values[:k]:
        rolling = (rolling * _BASE + value) % _PRIME
    hashes = [rolling]
    for first, last in zip(values, values[k:], strict=False):
        rolling = (rolling * _BASE + last - first * leaving) % _PRIME
        hashes.append(rolling)
    return hashes


def select_window_minima(runs: Sequence[int], window: int) -> Iterator[int]:
    """Yield the position of the smallest hash of every window; among equals the one chosen before, else the last.

    The rule for equals keeps a long repetition of one token from choosing every position.
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
