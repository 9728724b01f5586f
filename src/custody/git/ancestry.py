"""Which commits descend from which, for any number of pairs in one walk. Pure: the walk comes from ``rev-list``."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from custody.core.ids import CommitSha


@dataclass(frozen=True, slots=True, order=True)
class Ancestry:
    """``ancestor`` can be reached from ``descendant`` by following parents; a commit is its own ancestor."""

    ancestor: CommitSha
    descendant: CommitSha


def filter_ancestor_pairs(
    pairs: Collection[Ancestry], walk: Iterable[tuple[CommitSha, tuple[CommitSha, ...]]]
) -> frozenset[Ancestry]:
    """Those of ``pairs`` that are true, given commits with their parents, children first.

    Each descendant is one bit that commits pass on to their parents: O(commits walked × descendants / 64). The walk is
    left as soon as every ancestor was met, since with children first no more bits can reach it.
    """
    bits = {sha: 1 << place for place, sha in enumerate(sorted({pair.descendant for pair in pairs}))}
    open_ends: dict[CommitSha, int] = dict(bits)
    unmet = {pair.ancestor for pair in pairs}
    reached: dict[CommitSha, int] = {}
    for commit, parents in walk:
        below = open_ends.pop(commit, 0)
        if commit in unmet:
            unmet.remove(commit)
            reached[commit] = below
            if not unmet:
                break
        for parent in parents:
            open_ends[parent] = open_ends.get(parent, 0) | below
    return frozenset(pair for pair in pairs if reached.get(pair.ancestor, 0) & bits[pair.descendant])
