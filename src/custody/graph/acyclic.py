"""A topological order that is kept up while arcs are added, so that an arc which would close a cycle is seen at once.

The way of Pearce and Kelly (2007): adding an arc that goes backwards in the order reorders only the nodes between its
ends that are reachable from its head or reach its tail, in O(d log d) where d is their number with their arcs. An arc
that goes forwards, or to or from a node without other arcs, takes constant time.
"""

from collections.abc import Callable, Iterable

NeighborLookup = Callable[[str], Iterable[str]]
"""The nodes next to a node, one way."""


class TopologicalOrder:
    """Nodes in an order in which every arc goes forwards; the arcs themselves are kept by whoever asks.

    ``after`` and ``before`` give the nodes that a node has an arc to, and those that have one to it.
    """

    def __init__(self, after: NeighborLookup, before: NeighborLookup) -> None:
        self._after = after
        self._before = before
        self._rank: dict[str, int] = {}
        self._first = 0
        self._last = 0

    def allows(self, tail: str, head: str) -> bool:
        """Make room for a new arc and say True; or False when it would close a cycle, and then nothing has changed."""
        if tail == head:
            return False
        self._place(tail, head)
        return self._rank[tail] < self._rank[head] or self._reorder(tail, head)

    def _place(self, tail: str, head: str) -> None:
        """A new node goes where its first arc cannot be backwards: a tail to the front, a head to the end."""
        if tail not in self._rank:
            self._first -= 1
            self._rank[tail] = self._first
        if head not in self._rank:
            self._last += 1
            self._rank[head] = self._last

    def _reorder(self, tail: str, head: str) -> bool:
        ranks = self._rank
        high = ranks[tail]
        # Nobody beyond the tail reaches it, so the search stays between the two; the tail itself means a cycle.
        reached = self._found(head, self._after, lambda node: ranks[node] <= high)
        if tail in reached:
            return False
        low = ranks[head]
        reaching = self._found(tail, self._before, lambda node: ranks[node] > low)
        moved = [*sorted(reaching, key=ranks.__getitem__), *sorted(reached, key=ranks.__getitem__)]
        ranks.update(zip(moved, sorted(ranks[node] for node in moved), strict=True))
        return True

    @staticmethod
    def _found(start: str, around: NeighborLookup, near: Callable[[str], bool]) -> set[str]:
        found = {start}
        todo = [start]
        while todo:
            for node in around(todo.pop()):
                if node not in found and near(node):
                    found.add(node)
                    todo.append(node)
        return found
