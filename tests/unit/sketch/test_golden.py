"""Sketches are stored, so they must never change."""

import json
from pathlib import Path
from typing import Any

import pytest

from custody.sketch.minhash import MINHASH_VERSION
from tests.unit.sketch import golden, slow

FILE = Path(__file__).with_name("golden.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def test_sketches_have_not_changed() -> None:
    """If only the MinHash values differ, rensa has changed: update MINHASH_VERSION with the file."""
    assert golden.dumped() == FILE.read_text(encoding="utf-8")


def test_the_version_names_the_release_of_the_vectors() -> None:
    assert GOLDEN["minhash_version"] == MINHASH_VERSION
    assert MINHASH_VERSION.startswith("rensa-0.5.0.")


@pytest.mark.parametrize("name", golden.TEXTS)
def test_the_vectors_match_the_slow_reference(name: str) -> None:
    stored, tokens = GOLDEN["texts"][name], slow.tokens(golden.TEXTS[name])
    hashes = [slow.hash64("token", token.encode("utf-8", "surrogatepass")) for token in tokens]
    smallest = sorted({value % 2**32 for value in hashes})
    signature = bytes.fromhex(stored["minhash"])
    assert stored["tokens"] == tokens
    assert stored["shingles"] == slow.shingles(tokens, 5)
    assert stored["hash64"] == hashes
    assert stored["hash32"] == [value % 2**32 for value in hashes]
    assert stored["bands"] == [slow.hash64(f"band.{n}", signature[16 * n : 16 * n + 16]) for n in range(16)]
    assert stored["bottom"] == b"".join(n.to_bytes(4, "little") for n in (len(smallest), *smallest[:8])).hex()
    assert stored["fingerprints"] == [[*pair] for pair in slow.winnowed(tokens, 3, 4)]
