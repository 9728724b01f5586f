"""The undirected view of a graph as arrays (compressed sparse rows), rebuilt when the graph has changed.

The only file that uses numpy, which is slow to import: import this file where it is needed.
"""

import numpy as np
import numpy.typing as npt

from custody.graph.book import Book
from custody.graph.model import STRUCTURAL

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NodeIndexes = npt.NDArray[np.int32]
Ranks = npt.NDArray[np.uint8]

_SPARSE = 16
"""If fewer than one node in this many is reached, the reached nodes are sorted; else all nodes are counted."""


class Matrix:
    """Nodes by name and, for each, its neighbors in either direction with the heaviest edge between the two.

    Sessions and turns are left out: every call is in one of them, so they make no two nodes similar.
    """

    def __init__(self, book: Book) -> None:
        self.book = book
        self.version = book.version
        self.names = sorted(name for name, node in book.nodes.items() if node.kind not in STRUCTURAL)
        self.places = {name: place for place, name in enumerate(self.names)}
        # There are few different weights: one byte per edge is its rank, from the lightest on.
        weights = sorted(set(book.weights()))
        self._scale: Floats = np.array(weights, dtype=np.float64)
        ranks = [weights.index(weight) for weight in book.weights()]
        self._starts, self._others, self._ranks = _build_neighbor_rows(
            *_list_node_pairs(book, self.places, ranks), len(self.names)
        )
        self._degrees = np.diff(self._starts)
        strengths = np.zeros(len(self.names))
        rows = np.repeat(np.arange(len(self.names)), self._degrees)
        np.add.at(strengths, rows, self._scale[self._ranks])
        self._by_strength = _invert_neighbor_weights(np.log1p(strengths))
        # A neighbor of only one node is never common, and its logarithm is 0.
        self._by_degree = _invert_neighbor_weights(np.log(np.maximum(self._degrees, 1)))

    def row(self, place: int) -> tuple[Ints, Floats]:
        """Return the neighbors of a node, ascending, and the weights to them."""
        low, high = self._starts[place], self._starts[place + 1]
        return self._others[low:high].astype(np.int64), self._scale[self._ranks[low:high]]

    def best(self, place: int, limit: int, *, document: bool) -> list[tuple[int, float]]:
        """Return the nodes two steps away with the highest sums, highest first, by name if equal."""
        between, weights = self.row(place)
        lengths = self._degrees[between]
        total = int(lengths.sum())
        # The row indexes of all neighbors, one row after the other.
        offsets = np.repeat(self._starts[between] - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
        indexes = offsets + np.arange(total)
        shares = self._shares(between, weights, lengths, indexes, document=document)
        places, sums = _sum_neighbor_shares(self._others[indexes].astype(np.int64), shares, len(self.names))
        selected = (places != place) & (sums > 0)
        return _select_most_similar_nodes(places[selected], sums[selected], limit)

    def _shares(self, between: Ints, weights: Floats, lengths: Ints, indexes: Ints, *, document: bool) -> Floats:
        if document:
            return np.repeat(weights * self._by_degree[between], lengths)
        return np.sqrt(np.repeat(weights, lengths) * self._scale[self._ranks[indexes]]) * np.repeat(
            self._by_strength[between], lengths
        )

    def common(self, place: int, other: int, *, document: bool) -> list[tuple[int, float]]:
        """Return the neighbors that two nodes share, with the part of each, largest first, by name if equal."""
        mine, my_weights = self.row(place)
        theirs, their_weights = self.row(other)
        at, there = _intersect_neighbor_lists(mine, theirs)
        shared = mine[at]
        if document:
            shares = my_weights[at] * self._by_degree[shared]
        else:
            shares = np.sqrt(my_weights[at] * their_weights[there]) * self._by_strength[shared]
        return _select_most_similar_nodes(shared, shares, len(shared))


def _intersect_neighbor_lists(indexes: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Return where two ascending lists have the same value, in each of them; searches the shorter in the longer."""
    if len(indexes) > len(other):
        there, at = _intersect_neighbor_lists(other, indexes)
        return at, there
    positions = np.minimum(np.searchsorted(other, indexes), max(len(other) - 1, 0))
    at = np.flatnonzero(other[positions] == indexes) if len(other) else np.zeros(0, np.int64)
    return at, positions[at]


def _list_node_pairs(book: Book, places: dict[str, int], ranks: list[int]) -> tuple[list[int], list[int], list[int]]:
    """List every pair of nodes once per direction that it has, with the rank of its heaviest edge."""
    best = book.table.best
    tails: list[int] = []
    heads: list[int] = []
    pair_ranks: list[int] = []
    for start, ends in book.after.items():
        tail = places.get(start)
        if tail is None:
            continue
        for end, row in ends.items():
            head = places.get(end)
            if head is not None:
                tails.append(tail)
                heads.append(head)
                pair_ranks.append(ranks[best[row]])
    return tails, heads, pair_ranks


def _build_neighbor_rows(
    tails: list[int], heads: list[int], ranks: list[int], size: int
) -> tuple[Ints, NodeIndexes, Ranks]:
    """Return both directions of every pair, each once with its heaviest edge, as rows."""
    tail_indexes, head_indexes = np.array(tails, dtype=np.int64), np.array(heads, dtype=np.int64)
    keys = np.concatenate((tail_indexes * size + head_indexes, head_indexes * size + tail_indexes))
    both = np.array(ranks * 2, dtype=np.uint8)
    order = np.argsort(keys, kind="stable")
    keys, both = keys[order], both[order]
    firsts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))) if keys.size else np.zeros(0, np.int64)
    heaviest = np.maximum.reduceat(both, firsts) if keys.size else both
    keys = keys[firsts]
    counts = np.bincount(keys // max(size, 1), minlength=size)
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return starts, (keys % max(size, 1)).astype(np.int32), heaviest


def _invert_neighbor_weights(values: Floats) -> Floats:
    inverse = np.zeros(len(values))
    np.divide(1.0, values, out=inverse, where=values > 0)
    return inverse


def _sum_neighbor_shares(places: Ints, shares: Floats, size: int) -> tuple[Ints, Floats]:
    if places.size * _SPARSE < size:
        reached, inverse = np.unique(places, return_inverse=True)
        return reached, np.bincount(inverse, weights=shares, minlength=len(reached)).astype(np.float64)
    return np.arange(size, dtype=np.int64), np.bincount(places, weights=shares, minlength=size).astype(np.float64)


def _select_most_similar_nodes(places: Ints, sums: Floats, limit: int) -> list[tuple[int, float]]:
    if len(places) > limit:
        least = np.partition(sums, len(sums) - limit)[len(sums) - limit] if limit else np.inf
        places, sums = places[sums >= least], sums[sums >= least]
    pairs = zip(places.tolist(), sums.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:limit]
