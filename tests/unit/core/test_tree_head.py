"""Merkle trees: the roots and proofs of RFC 6962, compared with its recursive definition."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.ids import Digest, Link
from custody.core.tree_head import (
    NO_OUTLINE,
    GrowingTree,
    TreeHash,
    compute_tree_root,
    hash_record_leaf,
    hash_tree_node,
    make_consistency_proof,
    verify_consistency_proof,
)

SIZES = st.integers(1, 70)


def leaves_of(size: int, salt: bytes = b"") -> list[TreeHash]:
    return [TreeHash(hashlib.sha256(salt + bytes([n])).digest()) for n in range(size)]


def naive_root(leaves: list[TreeHash]) -> bytes:
    """Return the root by section 2.1 of RFC 6962, word by word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\1" + naive_root(leaves[:split]) + naive_root(leaves[split:])).digest()


@given(st.integers(0, 70))
def test_the_root_is_that_of_the_recursive_definition(size: int) -> None:
    assert compute_tree_root(leaves_of(size)) == naive_root(leaves_of(size))


def test_a_growing_tree_knows_its_root_at_each_size() -> None:
    tree = GrowingTree()
    for size, leaf in enumerate(leaves_of(40)):
        assert (tree.size, tree.root) == (size, naive_root(leaves_of(40)[:size]))
        tree.append(leaf)


def test_the_vectors_of_certificate_transparency() -> None:
    """Compare with the published test tree of Certificate Transparency (eight leaves, by their data)."""
    data = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    leaves = [TreeHash(hashlib.sha256(b"\0" + bytes.fromhex(text)).digest()) for text in data]
    assert compute_tree_root(leaves).hex() == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"


def test_a_leaf_covers_link_and_outline() -> None:
    link, outline = Link(bytes(range(32))), Digest(b"\xaa" * 32)
    assert hash_record_leaf(link, outline) == hashlib.sha256(b"\0" + link + outline).digest()
    assert (
        len({hash_record_leaf(link, outline), hash_record_leaf(link, NO_OUTLINE), hash_tree_node(link, outline)}) == 3
    )


@given(SIZES, st.data())
def test_a_proof_of_consistency_fits_the_earlier_tree_only(size: int, data: st.DataObject) -> None:
    leaves = leaves_of(size)
    old = data.draw(st.integers(1, size))
    proof = make_consistency_proof(leaves, old)
    old_root, root = compute_tree_root(leaves[:old]), compute_tree_root(leaves)
    assert verify_consistency_proof(old, old_root, size, root, proof)
    forked = compute_tree_root(leaves_of(old, b"forked"))
    assert not verify_consistency_proof(old, forked, size, root, proof)
    assert not verify_consistency_proof(old, old_root, size, forked, proof)
    assert not verify_consistency_proof(old, old_root, size, root, [*proof, forked])
    if proof:
        changed = data.draw(st.integers(0, len(proof) - 1))
        wrong = [*proof[:changed], forked, *proof[changed + 1 :]]
        assert not verify_consistency_proof(old, old_root, size, root, wrong)
        assert not verify_consistency_proof(old, old_root, size, root, proof[:-1])


@given(SIZES, SIZES, st.lists(st.binary(min_size=32, max_size=32).map(TreeHash), max_size=8))
def test_drawn_nodes_prove_nothing(old: int, size: int, nodes: list[TreeHash]) -> None:
    old_root, root = compute_tree_root(leaves_of(old)), compute_tree_root(leaves_of(size, b"other"))
    assert not verify_consistency_proof(old, old_root, size, root, nodes)
    assert not verify_consistency_proof(0, old_root, size, root, nodes)


@given(SIZES, st.data())
def test_every_changed_leaf_changes_the_root(size: int, data: st.DataObject) -> None:
    leaves = leaves_of(size)
    index = data.draw(st.integers(0, size - 1))
    changed = [*leaves[:index], TreeHash(bytes(32)), *leaves[index + 1 :]]
    assert compute_tree_root(changed) != compute_tree_root(leaves)


def test_a_proof_of_no_earlier_size_is_refused() -> None:
    for old in (0, 4):
        with pytest.raises(ValueError, match="earlier size"):
            make_consistency_proof(leaves_of(3), old)
