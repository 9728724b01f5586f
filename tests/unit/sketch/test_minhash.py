"""MinHash signatures and LSH keys: errors of estimates, and how often similar sets share a key."""

import math
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sketch.hashing import compute_lsh_bands
from custody.sketch.minhash import compute_minhash, estimate_minhash_similarity
from custody.sketch.tokens import compute_set_jaccard
from tests.builders.table import table
from tests.unit.sketch import slow

N = 128
ERROR_MAX = math.sqrt(1 / N) + 0.01
ANY = st.lists(st.text(st.characters() | st.sampled_from("\udc80\udce9\ud800"), max_size=8), min_size=1, max_size=40)
TOKENS = st.lists(st.sampled_from(["a", "b", "=", "é", "\udce9"]), max_size=12)
SIGNATURES = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        *[st.lists(st.sampled_from([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF]), min_size=n, max_size=n)] * 2
    )
)


def signature(shingles: list[str], n: int = N) -> bytes:
    signature_ = compute_minhash(shingles, n)
    assert signature_ is not None
    return signature_


def pairs(similarity: float, size: int, count: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield synthetic sets of ``size`` shingles with about this similarity."""
    random = Random(f"{similarity} {size}")
    shared = round(2 * size * similarity / (1 + similarity))
    for _ in range(count):
        names = [f"name{random.getrandbits(48):x}\n(\n" for _ in range(2 * size - shared)]
        yield names[:size], names[size - shared :]


@given(ANY, st.randoms(use_true_random=False))
def test_a_signature_ignores_order_and_repetitions(shingles: list[str], random: Random) -> None:
    shuffled = shingles + shingles[: len(shingles) // 2]
    random.shuffle(shuffled)
    assert (
        signature(shingles)
        == signature(shuffled)
        == compute_minhash(set(shingles), N)
        == compute_minhash(iter(shingles), N)
    )
    assert len(signature(shingles)) == 2 * N


def test_invalid_utf_8_has_a_signature() -> None:
    plain, odd = ["a", "é", "☃"], ["a", "é", "☃", "caf\udce9"]
    assert signature(plain) != signature(odd)
    assert abs(estimate_minhash_similarity(signature(plain), signature(odd)) - 0.75) <= 2 * ERROR_MAX


def test_the_empty_set_has_no_signature() -> None:
    assert compute_minhash([], N) is None
    assert compute_minhash(iter(()), N) is None
    assert compute_minhash([""], N) is not None


# Conformance: 002-019
@given(SIGNATURES)
def test_similarity_is_the_share_of_equal_values(values: tuple[list[int], list[int]]) -> None:
    a, b = (b"".join(value.to_bytes(2, "little") for value in side) for side in values)
    assert estimate_minhash_similarity(a, b) == pytest.approx(slow.similarity(a, b), abs=1e-12)
    assert estimate_minhash_similarity(a, a) == 1


@pytest.mark.parametrize(("a", "b"), [(b"", b""), (b"ab", b"abcd"), (b"abc", b"abc")])
def test_signatures_of_different_sizes_are_rejected(a: bytes, b: bytes) -> None:
    with pytest.raises(ValueError, match="cannot compare"):
        estimate_minhash_similarity(a, b)


@table("size", [3, 20, 128, 600])
@table("similarity", [0.0, 0.05, 0.3, 0.5, 0.8, 0.95])
def test_estimation_errors_are_within_the_theory(similarity: float, size: int) -> None:
    errors = [
        estimate_minhash_similarity(signature(a), signature(b)) - (compute_set_jaccard(a, b) or 0.0)
        for a, b in pairs(similarity, size, 60)
    ]
    assert math.sqrt(sum(error**2 for error in errors) / len(errors)) <= ERROR_MAX
    assert abs(sum(errors) / len(errors)) <= ERROR_MAX / 4


def test_values_use_all_sixteen_bits() -> None:
    signature_ = b"".join(signature([f"x{n}.{m}" for m in range(20)]) for n in range(60))
    values = [int.from_bytes(signature_[at : at + 2], "little") for at in range(0, len(signature_), 2)]
    for bit in range(16):
        assert abs(sum(value >> bit & 1 for value in values) / len(values) - 0.5) < 0.04


def test_keys_are_hashes_of_the_bands() -> None:
    signature_ = signature(["a", "b"])
    assert compute_lsh_bands(signature_, 16) == [
        slow.hash64(f"band.{band}", signature_[band * 16 : band * 16 + 16]) for band in range(16)
    ]
    assert not {*compute_lsh_bands(signature_, 16)} & {*compute_lsh_bands(signature_, 16, field="intent")}
    assert len({*compute_lsh_bands(b"\0" * 256, 16)}) == 16


@pytest.mark.parametrize(("size", "bands"), [(256, 0), (256, 3), (256, 256), (0, 1), (7, 7)])
def test_invalid_bands_are_rejected(size: int, bands: int) -> None:
    with pytest.raises(ValueError, match="cannot split"):
        compute_lsh_bands(b"x" * size, bands)


# Conformance: 002-020
@pytest.mark.parametrize("similarity", [0.4, 0.6, 0.7, 0.8])
def test_similar_sets_share_a_key_as_often_as_expected(similarity: float) -> None:
    sets = [*pairs(similarity, 100, 250)]
    met = sum(bool({*compute_lsh_bands(signature(a), 16)} & {*compute_lsh_bands(signature(b), 16)}) for a, b in sets)
    chance = 1 - (1 - similarity**8) ** 16
    assert abs(met / len(sets) - chance) <= 4 * math.sqrt(chance * (1 - chance) / len(sets)) + 0.02
