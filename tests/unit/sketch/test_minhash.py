"""MinHash signatures and their LSH keys: how near estimates are, and how often like sets meet."""

import math
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sketch.hashing import bands_of
from custody.sketch.minhash import minhash_of, minhash_similarity
from custody.sketch.tokens import jaccard
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
    found = minhash_of(shingles, n)
    assert found is not None
    return found


def pairs(similarity: float, size: int, count: int) -> Iterator[tuple[list[str], list[str]]]:
    """Made-up sets of ``size`` shingles each with about this similarity."""
    random = Random(f"{similarity} {size}")
    shared = round(2 * size * similarity / (1 + similarity))
    for _ in range(count):
        names = [f"name{random.getrandbits(48):x}\n(\n" for _ in range(2 * size - shared)]
        yield names[:size], names[size - shared :]


@given(ANY, st.randoms(use_true_random=False))
def test_a_signature_is_that_of_a_set(shingles: list[str], random: Random) -> None:
    shuffled = shingles + shingles[: len(shingles) // 2]
    random.shuffle(shuffled)
    assert signature(shingles) == signature(shuffled) == minhash_of(set(shingles), N) == minhash_of(iter(shingles), N)
    assert len(signature(shingles)) == 2 * N


def test_text_that_is_no_utf_8_has_a_signature() -> None:
    plain, odd = ["a", "é", "☃"], ["a", "é", "☃", "caf\udce9"]
    assert signature(plain) != signature(odd)
    assert abs(minhash_similarity(signature(plain), signature(odd)) - 0.75) <= 2 * ERROR_MAX


def test_the_empty_set_has_no_signature() -> None:
    assert minhash_of([], N) is None
    assert minhash_of(iter(()), N) is None
    assert minhash_of([""], N) is not None


# Conformance: 002-019
@given(SIGNATURES)
def test_similarity_is_the_share_of_equal_values(values: tuple[list[int], list[int]]) -> None:
    a, b = (b"".join(value.to_bytes(2, "little") for value in side) for side in values)
    assert minhash_similarity(a, b) == pytest.approx(slow.similarity(a, b), abs=1e-12)
    assert minhash_similarity(a, a) == 1


@pytest.mark.parametrize(("a", "b"), [(b"", b""), (b"ab", b"abcd"), (b"abc", b"abc")])
def test_signatures_of_other_sizes_are_refused(a: bytes, b: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        minhash_similarity(a, b)


@table("size", [3, 20, 128, 600])
@table("similarity", [0.0, 0.05, 0.3, 0.5, 0.8, 0.95])
def test_estimates_err_by_no_more_than_the_theory_allows(similarity: float, size: int) -> None:
    errors = [
        minhash_similarity(signature(a), signature(b)) - (jaccard(a, b) or 0.0) for a, b in pairs(similarity, size, 60)
    ]
    assert math.sqrt(sum(error**2 for error in errors) / len(errors)) <= ERROR_MAX
    assert abs(sum(errors) / len(errors)) <= ERROR_MAX / 4


def test_every_value_is_spread_over_all_sixteen_bits() -> None:
    found = b"".join(signature([f"x{n}.{m}" for m in range(20)]) for n in range(60))
    values = [int.from_bytes(found[at : at + 2], "little") for at in range(0, len(found), 2)]
    for bit in range(16):
        assert abs(sum(value >> bit & 1 for value in values) / len(values) - 0.5) < 0.04


def test_keys_are_those_of_the_bands() -> None:
    found = signature(["a", "b"])
    assert bands_of(found, 16) == [slow.hash64(f"band.{band}", found[band * 16 : band * 16 + 16]) for band in range(16)]
    assert not {*bands_of(found, 16)} & {*bands_of(found, 16, field="intent")}
    assert len({*bands_of(b"\0" * 256, 16)}) == 16


@pytest.mark.parametrize(("size", "bands"), [(256, 0), (256, 3), (256, 256), (0, 1), (7, 7)])
def test_bands_that_do_not_fit_are_refused(size: int, bands: int) -> None:
    with pytest.raises(ValueError, match="cannot be cut"):
        bands_of(b"x" * size, bands)


# Conformance: 002-020
@pytest.mark.parametrize("similarity", [0.4, 0.6, 0.7, 0.8])
def test_like_sets_share_a_key_as_often_as_the_formula_says(similarity: float) -> None:
    tried = [*pairs(similarity, 100, 250)]
    met = sum(bool({*bands_of(signature(a), 16)} & {*bands_of(signature(b), 16)}) for a, b in tried)
    chance = 1 - (1 - similarity**8) ** 16
    assert abs(met / len(tried) - chance) <= 4 * math.sqrt(chance * (1 - chance) / len(tried)) + 0.02
