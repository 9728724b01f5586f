"""Hashes, shingles and the similarity of sets."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sketch.hashing import hash32, hash64, hash64_of_bytes
from custody.sketch.tokens import compute_set_containment, compute_set_jaccard, shingle_tokens
from tests.unit.sketch import slow

TOKENS = st.lists(st.sampled_from(["a", "b", "c", "=", "'x y'", "é", "\udce9"]), max_size=30)
SETS = st.sets(st.integers(0, 12))
ANY = st.text(st.characters() | st.sampled_from("\udc80\udce9\ud800"))


@given(st.text("abc"), ANY)
def test_a_hash_is_the_digest_of_field_and_value(field: str, value: str) -> None:
    data = value.encode("utf-8", "surrogatepass")
    assert hash64(field, value) == hash64_of_bytes(field, data) == slow.hash64(field, data)
    assert hash32(field, value) == slow.hash64(field, data) % 2**32


@given(ANY)
def test_a_hash_fits_what_databases_store(value: str) -> None:
    assert -(2**63) <= hash64("word", value) < 2**63
    assert 0 <= hash32("word", value) < 2**32


def test_the_field_is_part_of_the_hash() -> None:
    assert hash64("path", "a") != hash64("word", "a")
    assert hash64("path", "a") != hash64("pat", "ha")


def test_a_long_value_is_hashed_like_a_short_one() -> None:
    for length in (0, 1, 127, 128, 129, 100_000):
        assert hash64("line", "x" * length) == slow.hash64("line", b"x" * length)


def test_another_process_computes_the_same_hash() -> None:
    code = "from custody.sketch.hashing import hash64; print(hash64('path', 'src/größe.ts'))"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        assert int(done.stdout) == hash64("path", "src/größe.ts")


# Conformance: 002-018
@given(TOKENS, st.integers(1, 7))
def test_shingles_are_all_runs_of_tokens(tokens: list[str], k: int) -> None:
    assert shingle_tokens(tokens, k) == slow.shingles(tokens, k)
    assert shingle_tokens(tuple(tokens), k) == slow.shingles(tokens, k)


@given(TOKENS, TOKENS, st.integers(1, 7))
def test_different_runs_are_different_shingles(one: list[str], other: list[str], k: int) -> None:
    runs = [{tuple(tokens[at : at + k]) for at in range(max(1, len(tokens) - k + 1))} for tokens in (one, other)]
    assert len(set(shingle_tokens(one, k)) | set(shingle_tokens(other, k))) == len((runs[0] | runs[1]) - {()})


def test_a_shingle_of_0_tokens_is_rejected() -> None:
    with pytest.raises(ValueError, match="invalid size of a shingle: 0"):
        shingle_tokens(["a"], 0)


@given(SETS, SETS)
def test_similarity_matches_counting(a: set[int], b: set[int]) -> None:
    both, either = sum(x in b for x in a), len({*a, *b})
    assert compute_set_jaccard(a, b) == (both / either if either else None)
    assert compute_set_containment(a, b) == (both / len(a) if a else None)


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_repetitions_do_not_count(a: list[int], b: list[int]) -> None:
    assert compute_set_jaccard(a, b) == compute_set_jaccard(set(a), set(b))
    assert compute_set_containment(a + a, b) == compute_set_containment(set(a), set(b))


def test_empty_sets_have_no_exact_similarity() -> None:
    assert compute_set_jaccard([], []) is None
    assert compute_set_containment([], [1]) is None
    assert compute_set_jaccard([], [1]) == compute_set_containment([1], []) == 0.0
