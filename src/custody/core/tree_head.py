"""Merkle trees over the records of a chain, with proofs that one tree extends another.

Hashes and proofs are those of RFC 6962 (section 2.1): a leaf is SHA-256 of 0x00 and its data, a node is SHA-256 of
0x01 and its two children, and the left child of a tree of n leaves has the largest power of two below n.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NewType

from custody.core.ids import Digest, Link

TreeHash = NewType("TreeHash", bytes)
"""SHA-256 of a leaf or a node (32 bytes)."""

NO_OUTLINE = Digest(bytes(32))
"""The outline digest of a record that is shared unchanged: its link covers all of it."""

EMPTY_ROOT = TreeHash(hashlib.sha256().digest())
"""The root of a tree without leaves."""


def hash_record_leaf(link: Link, outline: Digest) -> TreeHash:
    """Return the leaf of a record: its link covers the record, ``outline`` what is shared in place of its texts."""
    return TreeHash(hashlib.sha256(b"\0" + link + outline).digest())


def hash_tree_node(left: bytes, right: bytes) -> TreeHash:
    """Return the hash of a node with two children."""
    return TreeHash(hashlib.sha256(b"\1" + left + right).digest())


class GrowingTree:
    """A tree that grows leaf by leaf in little memory, and knows its root at each size."""

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[TreeHash] = []
        """The roots of the full subtrees from left to right, one for each 1 in the binary size."""

    def append(self, leaf: TreeHash) -> None:
        """Add a leaf at the end."""
        node, size = leaf, self.size
        while size & 1:
            node = hash_tree_node(self._peaks.pop(), node)
            size >>= 1
        self._peaks.append(node)
        self.size += 1

    @property
    def root(self) -> TreeHash:
        """Return the root over all leaves so far."""
        if not self._peaks:
            return EMPTY_ROOT
        *lefts, root = self._peaks
        for left in reversed(lefts):
            root = hash_tree_node(left, root)
        return root


def compute_tree_root(leaves: Iterable[TreeHash]) -> TreeHash:
    """Return the root over these leaves.

    >>> compute_tree_root([]).hex()[:8]
    'e3b0c442'
    """
    tree = GrowingTree()
    for leaf in leaves:
        tree.append(leaf)
    return tree.root


def list_inclusion_path(leaves: Sequence[TreeHash], position: int) -> list[TreeHash]:
    """Return the nodes beside the path from a leaf to the root, from the leaf up (RFC 6962, section 2.1.1)."""
    if len(leaves) == 1:
        return []
    split = _find_left_size(len(leaves))
    own, other = (leaves[:split], leaves[split:]) if position < split else (leaves[split:], leaves[:split])
    return [*list_inclusion_path(own, position % split), compute_tree_root(other)]


def compute_path_root(leaf: TreeHash, position: int, count: int, path: Sequence[TreeHash]) -> TreeHash | None:
    """Return the root of a tree with ``leaf`` at its position; None if the path does not fit there."""
    node, beside, last = leaf, list(path), count - 1
    if not 0 <= position <= last:
        return None
    while last:
        if position & 1 or position < last:
            if not beside:
                return None
            other = beside.pop(0)
            node = hash_tree_node(other, node) if position & 1 else hash_tree_node(node, other)
        position, last = position >> 1, last >> 1
    return None if beside else node


def make_consistency_proof(leaves: Sequence[TreeHash], old_size: int) -> list[TreeHash]:
    """Return the proof that the tree of the first ``old_size`` leaves is the beginning of the tree of all leaves."""
    if not 0 < old_size <= len(leaves):
        raise ValueError("not an earlier size of the tree")
    return _prove_consistency(leaves, old_size, is_whole=True)


def _prove_consistency(leaves: Sequence[TreeHash], old_size: int, *, is_whole: bool) -> list[TreeHash]:
    """Return the nodes of a proof for a subtree; ``is_whole`` if the verifier knows its old root."""
    if old_size == len(leaves):
        return [] if is_whole else [compute_tree_root(leaves)]
    split = _find_left_size(len(leaves))
    if old_size <= split:
        nodes = _prove_consistency(leaves[:split], old_size, is_whole=is_whole)
        return [*nodes, compute_tree_root(leaves[split:])]
    nodes = _prove_consistency(leaves[split:], old_size - split, is_whole=False)
    return [*nodes, compute_tree_root(leaves[:split])]


def verify_consistency_proof(
    old_size: int, old_root: TreeHash, size: int, root: TreeHash, proof: Sequence[TreeHash]
) -> bool:
    """Return whether ``proof`` shows that the tree of ``size`` leaves extends the one of ``old_size`` leaves."""
    if not 0 < old_size <= size:
        return False
    if old_size == size:
        return not proof and old_root == root
    nodes = list(proof)
    place, last = old_size - 1, size - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    # An old tree that is one full subtree is its own first node.
    first = nodes.pop(0) if place and nodes else old_root
    if place and not proof:
        return False
    old, new = first, first
    for node in nodes:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = hash_tree_node(node, old), hash_tree_node(node, new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new = hash_tree_node(new, node)
        place, last = place >> 1, last >> 1
    return last == 0 and old == old_root and new == root


def _find_left_size(size: int) -> int:
    """Return the leaves of the left child of a tree: the largest power of two below ``size``.

    >>> [_find_left_size(size) for size in (2, 3, 4, 5, 8, 9)]
    [1, 2, 2, 4, 4, 8]
    """
    return 1 << (size - 1).bit_length() - 1
