"""Hashes, shingles and rare terms: what stands for a text, and what two of them have in common."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.sketch.hashing import hash32, hash64, hash64_of_bytes
from custody.sketch.tokens import containment, jaccard, shingles_of
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


def test_the_same_word_of_two_fields_has_two_hashes() -> None:
    assert hash64("path", "a") != hash64("word", "a")
    assert hash64("path", "a") != hash64("pat", "ha")


def test_a_long_value_is_hashed_like_a_short_one() -> None:
    for length in (0, 1, 127, 128, 129, 100_000):
        assert hash64("line", "x" * length) == slow.hash64("line", b"x" * length)


def test_another_process_gives_the_same_hash() -> None:
    code = "from custody.sketch.hashing import hash64; print(hash64('path', 'src/größe.ts'))"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        assert int(done.stdout) == hash64("path", "src/größe.ts")


# Conformance: 002-018
@given(TOKENS, st.integers(1, 7))
def test_shingles_are_all_runs_of_tokens(tokens: list[str], k: int) -> None:
    assert shingles_of(tokens, k) == slow.shingles(tokens, k)
    assert shingles_of(tuple(tokens), k) == slow.shingles(tokens, k)


@given(TOKENS, TOKENS, st.integers(1, 7))
def test_different_runs_are_different_shingles(one: list[str], other: list[str], k: int) -> None:
    runs = [{tuple(tokens[at : at + k]) for at in range(max(1, len(tokens) - k + 1))} for tokens in (one, other)]
    assert len(set(shingles_of(one, k)) | set(shingles_of(other, k))) == len((runs[0] | runs[1]) - {()})


def test_a_shingle_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="a shingle of 0 tokens is none"):
        shingles_of(["a"], 0)


@given(SETS, SETS)
def test_likeness_is_counted_one_by_one(a: set[int], b: set[int]) -> None:
    both, either = sum(x in b for x in a), len({*a, *b})
    assert jaccard(a, b) == (both / either if either else None)
    assert containment(a, b) == (both / len(a) if a else None)


@given(st.lists(st.integers(0, 5)), st.lists(st.integers(0, 5)))
def test_repetitions_do_not_count(a: list[int], b: list[int]) -> None:
    assert jaccard(a, b) == jaccard(set(a), set(b))
    assert containment(a + a, b) == containment(set(a), set(b))


def test_nothing_is_like_nothing_is_not_said() -> None:
    assert jaccard([], []) is None
    assert containment([], [1]) is None
    assert jaccard([], [1]) == containment([1], []) == 0.0
