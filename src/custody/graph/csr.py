"""The undirected view of a graph as arrays (compressed sparse rows): made anew when the graph has changed.

The only file that knows numpy, which is slow to import: import it where it is needed.
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
"""With fewer than a node in so many met, those that were met are sorted; with more, all nodes are counted through."""


class Matrix:
    """Nodes by name and, for each, its neighbours in either direction with the heaviest edge between the two.

    Sessions and turns are left out: everything is in one of them, so they make nothing alike.
    """

    def __init__(self, book: Book) -> None:
        self.book = book
        self.version = book.version
        self.names = sorted(name for name, called in book.nodes.items() if called.kind not in STRUCTURAL)
        self.places = {name: place for place, name in enumerate(self.names)}
        # Few weights are different: a byte for each edge says which of them it has, from the lightest on.
        weights = sorted(set(book.weights()))
        self._scale: Floats = np.array(weights, dtype=np.float64)
        ranks = [weights.index(weight) for weight in book.weights()]
        self._starts, self._others, self._ranks = _rows(*_pairs(book, self.places, ranks), len(self.names))
        self._degrees = np.diff(self._starts)
        strengths = np.zeros(len(self.names))
        rows = np.repeat(np.arange(len(self.names)), self._degrees)
        np.add.at(strengths, rows, self._scale[self._ranks])
        self._by_strength = _inverse(np.log1p(strengths))
        # A neighbour of one only is common to nobody, and its logarithm is 0.
        self._by_degree = _inverse(np.log(np.maximum(self._degrees, 1)))

    def row(self, place: int) -> tuple[Ints, Floats]:
        """The neighbours of a node, ascending, and the weights to them."""
        low, high = self._starts[place], self._starts[place + 1]
        return self._others[low:high].astype(np.int64), self._scale[self._ranks[low:high]]

    def best(self, place: int, limit: int, *, document: bool) -> list[tuple[int, float]]:
        """The nodes two steps away with the highest sums, the highest first, by name where equal."""
        between, weights = self.row(place)
        lengths = self._degrees[between]
        total = int(lengths.sum())
        # Where each neighbour's own row is, all rows after each other.
        offsets = np.repeat(self._starts[between] - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
        where = offsets + np.arange(total)
        shares = self._shares(between, weights, lengths, where, document=document)
        places, sums = _summed(self._others[where].astype(np.int64), shares, len(self.names))
        wanted = (places != place) & (sums > 0)
        return _highest(places[wanted], sums[wanted], limit)

    def _shares(self, between: Ints, weights: Floats, lengths: Ints, where: Ints, *, document: bool) -> Floats:
        if document:
            return np.repeat(weights * self._by_degree[between], lengths)
        return np.sqrt(np.repeat(weights, lengths) * self._scale[self._ranks[where]]) * np.repeat(
            self._by_strength[between], lengths
        )

    def common(self, number: int, other: int, *, document: bool) -> list[tuple[int, float]]:
        """The neighbours that two nodes share, with what each adds, the most first, by name where equal."""
        mine, my_weights = self.row(number)
        theirs, their_weights = self.row(other)
        at, there = _met(mine, theirs)
        shared = mine[at]
        if document:
            shares = my_weights[at] * self._by_degree[shared]
        else:
            shares = np.sqrt(my_weights[at] * their_weights[there]) * self._by_strength[shared]
        return _highest(shared, shares, len(shared))


def _met(ints: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Where two ascending lists have the same value, in each of them; the shorter is looked for in the longer."""
    if len(ints) > len(other):
        there, at = _met(other, ints)
        return at, there
    found = np.minimum(np.searchsorted(other, ints), max(len(other) - 1, 0))
    at = np.flatnonzero(other[found] == ints) if len(other) else np.zeros(0, np.int64)
    return at, found[at]


def _pairs(book: Book, places: dict[str, int], ranks: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Every pair of nodes once for each direction it has, with the rank of its heaviest edge."""
    best = book.table.best
    tails: list[int] = []
    heads: list[int] = []
    found: list[int] = []
    for start, ends in book.after.items():
        tail = places.get(start)
        if tail is None:
            continue
        for end, row in ends.items():
            head = places.get(end)
            if head is not None:
                tails.append(tail)
                heads.append(head)
                found.append(ranks[best[row]])
    return tails, heads, found


def _rows(tails: list[int], heads: list[int], ranks: list[int], size: int) -> tuple[Ints, NodeIndexes, Ranks]:
    """Both directions of every pair, each once with its heaviest edge, as rows."""
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


def _inverse(values: Floats) -> Floats:
    inverse = np.zeros(len(values))
    np.divide(1.0, values, out=inverse, where=values > 0)
    return inverse


def _summed(places: Ints, shares: Floats, size: int) -> tuple[Ints, Floats]:
    if places.size * _SPARSE < size:
        met, back = np.unique(places, return_inverse=True)
        return met, np.bincount(back, weights=shares, minlength=len(met)).astype(np.float64)
    return np.arange(size, dtype=np.int64), np.bincount(places, weights=shares, minlength=size).astype(np.float64)


def _highest(places: Ints, sums: Floats, limit: int) -> list[tuple[int, float]]:
    if len(places) > limit:
        least = np.partition(sums, len(sums) - limit)[len(sums) - limit] if limit else np.inf
        places, sums = places[sums >= least], sums[sums >= least]
    pairs = zip(places.tolist(), sums.tolist(), strict=True)
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:limit]
