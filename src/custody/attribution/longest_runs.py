"""The longest equal runs of two lists: what difflib finds, without a step for each pair of equal items.

Runs are compared by ranks (Karp, Miller and Rosenberg, 1972): equal runs whose length is a power of two have equal
numbers, and a run of any other length has the numbers of its beginning and of its end, which overlap.
"""

from collections.abc import Hashable, Iterator, Sequence

EqualRun = tuple[int, int, int]
"""Where an equal run begins in both lists, and its length."""


def find_longest_runs(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[EqualRun]:
    """Return the longest equal run, the longest runs before and after it, and so on, rising.

    Of several longest runs, the first in ``old`` counts, and of these the first in ``new``.

    >>> find_longest_runs("xaby", "abzxy")
    [(1, 0, 2), (3, 4, 1)]
    """
    ranks = list(_rank_runs(old, new))
    runs: list[EqualRun] = []
    ranges = [(0, len(old), 0, len(new), min(len(old), len(new)))]
    while ranges:
        old_first, old_end, new_first, new_end, longest = ranges.pop()
        longest = min(longest, old_end - old_first, new_end - new_first)
        run = _find_longest_run(ranks, (old_first, old_end), (new_first, new_end), longest) if longest else None
        if run is not None:
            i, j, length = run
            runs.append(run)
            # No run beside the longest one is longer.
            ranges.append((old_first, i, new_first, j, length))
            ranges.append((i + length, old_end, j + length, new_end, length))
    return sorted(runs)


_Ranks = tuple[list[int], list[int]]
"""A number for each run of one length in both lists; equal runs have equal numbers."""


def _rank_runs(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[_Ranks]:
    """Yield the ranks of runs of length 1, 2, 4 and so on, as long as both lists have an equal run."""
    names: dict[Hashable, int] = {}
    ours = [names.setdefault(item, len(names)) for item in old]
    theirs = [names.setdefault(item, len(names)) for item in new]
    length = 1
    while not set(ours).isdisjoint(theirs):
        yield ours, theirs
        pairs: dict[tuple[int, int], int] = {}
        ours = [pairs.setdefault(pair, len(pairs)) for pair in zip(ours, ours[length:], strict=False)]
        theirs = [pairs.setdefault(pair, len(pairs)) for pair in zip(theirs, theirs[length:], strict=False)]
        length *= 2


def _find_longest_run(
    ranks: Sequence[_Ranks], old: tuple[int, int], new: tuple[int, int], longest: int
) -> EqualRun | None:
    """Return the longest equal run inside two ranges, at most ``longest`` items; the first one of several."""
    for level in range(min(len(ranks), longest.bit_length()) - 1, -1, -1):
        half = 1 << level
        ours, theirs = ranks[level][0][old[0] : old[1] - half + 1], ranks[level][1][new[0] : new[1] - half + 1]
        places = dict(zip(reversed(theirs), range(len(theirs) - 1, -1, -1), strict=True))
        if places.keys().isdisjoint(ours):
            continue
        shortest, longest = half, min(2 * half - 1, longest)
        while shortest < longest:
            length = (shortest + longest + 1) // 2
            more = length - half
            pairs = set(zip(theirs, theirs[more:], strict=False))
            if pairs.isdisjoint(zip(ours, ours[more:], strict=False)):
                longest = length - 1
            else:
                shortest = length
        if shortest == half:
            i = next(i for i, rank in enumerate(ours) if rank in places)
            return old[0] + i, new[0] + places[ours[i]], shortest
        more = shortest - half
        ends = list(zip(theirs, theirs[more:], strict=False))
        firsts = dict(zip(reversed(ends), range(len(ends) - 1, -1, -1), strict=True))
        i, j = next((i, firsts[pair]) for i, pair in enumerate(zip(ours, ours[more:], strict=False)) if pair in firsts)
        return old[0] + i, new[0] + j, shortest
    return None
