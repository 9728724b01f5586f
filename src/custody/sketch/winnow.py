"""Winnowing (Schleimer, Wilkerson, Aiken, 2003): some hashes of a token stream, chosen so that what is common shows.

Of every ``window`` runs of ``k`` tokens in a row one is chosen, by its hash alone. So two texts that share at least
``k + window - 1`` tokens in a row share a fingerprint, wherever the run stands in each of them: moves and renames of
files do not matter. Shared runs shorter than ``k`` never show.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from custody.sketch.hashing import hash64

_PRIME = (1 << 61) - 1
_BASE = 0x1B87_3593_CC9E_2D51
"""Any number below the prime will do; stored fingerprints rest on this one."""
_FIELD = "winnow"


def fingerprints_of(tokens: Iterable[str], k: int, window: int) -> tuple[int, ...]:
    """Return the fingerprints of tokens, in order: hashes from 0 to 2**61 - 2.

    Of fewer than ``k`` tokens the whole is one run, and of fewer than ``window`` runs one is chosen. Takes time in
    proportion to the tokens.
    """
    if k < 1 or window < 1:
        raise ValueError(f"no run of {k} tokens can be chosen from a window of {window}")
    found = list(tokens)
    if not found:
        return ()
    runs = run_hashes(found, min(k, len(found)))
    return tuple(runs[at] for at in chosen_runs(runs, min(window, len(runs))))


def run_hashes(tokens: Sequence[str], k: int) -> list[int]:
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


def chosen_runs(runs: Sequence[int], window: int) -> Iterator[int]:
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
