"""An LSH forest (Bawa, Condie, Ganesan, 2005): the signatures most like a given one, however like that is.

A signature is cut into as many pieces as there are trees. In every tree pieces are kept sorted, so that those with a
common beginning stand together: what shares more of a piece's beginning is found first. No threshold is fixed
beforehand, as it is with bands.
"""

from bisect import bisect_left, insort

_VALUE_BYTES = 2


class Forest:
    """Signatures of equal size under numbers that the caller gives."""

    def __init__(self, trees: int) -> None:
        if trees < 1:
            raise ValueError(f"a forest of {trees} trees finds nothing")
        self._trees: list[list[tuple[bytes, int]]] = [[] for _ in range(trees)]

    def add(self, number: int, signature: bytes) -> None:
        """Keep a signature under a number."""
        for tree, piece in zip(self._trees, self._pieces(signature), strict=True):
            insort(tree, (piece, number))

    def most_alike(self, signature: bytes, most: int) -> list[int]:
        """About ``most`` different numbers, those with the longest common beginning first, of equals the lowest.

        All that share the last beginning looked at are given, so that none is left out by chance; without any common
        value in any tree nothing is given.
        """
        pieces = self._pieces(signature)
        found: dict[int, None] = {}
        for length in range(len(pieces[0]), 0, -_VALUE_BYTES):
            here = {n for tree, piece in zip(self._trees, pieces, strict=True) for n in _sharing(tree, piece[:length])}
            found.update(dict.fromkeys(sorted(here)))
            if len(found) >= most:
                break
        return list(found)

    def _pieces(self, signature: bytes) -> list[bytes]:
        trees = len(self._trees)
        if not signature or len(signature) % (trees * _VALUE_BYTES):
            raise ValueError(f"a signature of {len(signature)} bytes cannot be cut for {trees} trees")
        width = len(signature) // trees
        return [signature[at : at + width] for at in range(0, len(signature), width)]


def _sharing(tree: list[tuple[bytes, int]], beginning: bytes) -> list[int]:
    """The numbers of all pieces with this beginning, which stand together."""
    found = []
    for at in range(bisect_left(tree, (beginning, 0)), len(tree)):
        piece, number = tree[at]
        if not piece.startswith(beginning):
            break
        found.append(number)
    return found
