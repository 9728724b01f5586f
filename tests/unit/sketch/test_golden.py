"""Sketches are stored and compared years later: what they were they stay."""

import json
from pathlib import Path
from typing import Any

import pytest

from custody.sketch.minhash import MINHASH_VERSION
from tests.unit.sketch import golden, slow

FILE = Path(__file__).with_name("golden.json")
GOLDEN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


def test_sketches_are_what_they_always_were() -> None:
    """If only the MinHash values differ, rensa sketches otherwise: MINHASH_VERSION must change with the file."""
    assert golden.dumped() == FILE.read_text(encoding="utf-8")


def test_the_version_names_the_vectors_release() -> None:
    assert GOLDEN["minhash_version"] == MINHASH_VERSION
    assert MINHASH_VERSION.startswith("rensa-0.5.0.")


@pytest.mark.parametrize("name", golden.TEXTS)
def test_the_vectors_are_what_slow_code_gives(name: str) -> None:
    kept, tokens = GOLDEN["texts"][name], slow.tokens(golden.TEXTS[name])
    hashes = [slow.hash64("token", token.encode("utf-8", "surrogatepass")) for token in tokens]
    smallest = sorted({value % 2**32 for value in hashes})
    signature = bytes.fromhex(kept["minhash"])
    assert kept["tokens"] == tokens
    assert kept["shingles"] == slow.shingles(tokens, 5)
    assert kept["hash64"] == hashes
    assert kept["hash32"] == [value % 2**32 for value in hashes]
    assert kept["bands"] == [slow.hash64(f"band.{n}", signature[16 * n : 16 * n + 16]) for n in range(16)]
    assert kept["bottom"] == b"".join(n.to_bytes(4, "little") for n in (len(smallest), *smallest[:8])).hex()
    assert kept["fingerprints"] == [[*found] for found in slow.winnowed(tokens, 3, 4)]
