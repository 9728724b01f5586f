"""Near copies by all three ways, and search by vectors."""

import builtins
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.near_copies import (
    WAYS,
    WORDS_MIN,
    Near,
    Way,
    compute_semantic_hash,
    find_duplicates,
    find_near_sources,
)
from custody.cite.vectors import VectorIndex, embed_source_texts
from custody.core.errors import InputError, MissingExtra, install_hint
from custody.sketch.hashing import compute_simhash_distance

VOCABULARY = [f"{a}{b}" for a in ("fish", "cache", "north", "price", "paper", "river") for b in "abcdefghijklmnop"]
words = st.lists(st.sampled_from(VOCABULARY), min_size=WORDS_MIN, max_size=120)
ALL = sorted(WAYS)


def a_text(seed: int, count: int = 300) -> str:
    """Return random words from thousands, so that two texts share few."""
    chance = random.Random(seed)
    return " ".join("".join(chance.choice("bdfgklmn") + chance.choice("aeiou") for _ in range(3)) for _ in range(count))


# Conformance: 003-050
@pytest.mark.parametrize("way", ALL)
def test_a_copy_is_found_however_it_is_spelled_and_others_are_not(way: Way) -> None:
    texts = [(f"S{n}", a_text(n)) for n in range(1, 6)]
    copy = a_text(3).upper().replace(" ", ",\n")
    found = find_duplicates([*texts, ("S9", copy)], way)
    assert found == [Near("S3", "S9", 1.0)]


# Conformance: 003-051
@pytest.mark.parametrize("way", ALL)
def test_the_same_texts_give_the_same_pairs_and_every_pair_once(way: Way) -> None:
    texts = [(f"S{n}", a_text(n % 4)) for n in range(1, 13)]
    found = find_duplicates(texts, way)
    assert found == find_duplicates(texts, way)
    assert {(near.one, near.other) for near in found} == {
        (f"S{n}", f"S{m}") for n in range(1, 13) for m in range(n + 4, 13, 4)
    }


@pytest.mark.parametrize("way", ALL)
def test_texts_without_words_match_nothing(way: Way) -> None:
    index = WAYS[way]()
    index.add("S1", "… !")
    index.add("S2", a_text(1))
    assert [one for one, _ in find_near_sources(index, a_text(1))] == ["S2"]


def test_a_term_weighs_as_much_as_four_trigrams() -> None:
    for text, weights in [("paper", [1, 1, 1, 4]), ("paper paper", [2, 2, 2, 8]), ("", [])]:
        (vector,) = embed_source_texts([text])
        assert sorted(abs(value) for value in vector if value) == weights


@given(words, st.data())
def test_winnowing_finds_every_passage_of_a_text(text: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - WORDS_MIN))
    end = data.draw(st.integers(start + WORDS_MIN, len(text)))
    index = WAYS["winnowing"]()
    index.add("S1", " ".join(text))
    assert find_near_sources(index, " ".join(text[start:end])) == [("S1", 1.0)]
    assert find_near_sources(index, "before " * 50 + " ".join(text) + " after" * 50)[0][0] == "S1"


@given(st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=WORDS_MIN - 1))
def test_short_texts_are_copies_only_of_the_same_words(text: list[str]) -> None:
    index = WAYS["winnowing"]()
    index.add("S1", " ".join(text))
    assert find_near_sources(index, " ".join(text).upper()) == [("S1", 1.0)]
    assert find_near_sources(index, " ".join([*text, "more"])) == []


def test_a_phrase_on_every_page_proposes_no_pair() -> None:
    phrase = a_text(99, 20)
    texts = [(f"S{n}", f"{phrase} {a_text(n, 15)}") for n in range(1, 101)]
    index = WAYS["winnowing"]()
    for source_id, text in texts:
        index.add(source_id, text)
    assert [one for one, _ in find_near_sources(index, phrase)] == [], "too common to propose"
    assert find_near_sources(index, texts[4][1])[0] == ("S5", 1.0), "its own text still does"


@given(words)
def test_the_semantic_hash_ignores_order(text: list[str]) -> None:
    assert compute_semantic_hash(" ".join(text)) == compute_semantic_hash(" ".join(reversed(text)))


# Conformance: 003-051
def test_a_few_other_words_change_few_bits() -> None:
    text = a_text(1, 400).split()
    changed = ["other" if at % 20 == 0 else word for at, word in enumerate(text)]
    assert (
        compute_simhash_distance(compute_semantic_hash(" ".join(text)), compute_semantic_hash(" ".join(changed))) <= 16
    )


# Vectors.


# Conformance: 003-104
def test_search_finds_forms_of_words_and_ranks_by_similarity() -> None:
    index = VectorIndex(
        [
            ("S1", "Caches store answers for later. A shared cache serves many."),
            ("S2", "Mackerel swim north in spring, and prices rise."),
            ("S3", "Bread is baked at night."),
        ]
    )
    assert [one for one, _ in index.search("shared caching", 5)] == ["S1"]
    assert [one for one, _ in index.search("price of a mackerel", 1)] == ["S2"]
    assert index.search("quantum", 5) == []
    assert index.search("", 5) == []


@given(st.lists(words.map(" ".join), min_size=1, max_size=6, unique=True))
def test_a_text_is_most_similar_to_itself(texts: list[str]) -> None:
    index = VectorIndex([(f"S{n}", text) for n, text in enumerate(texts)])
    for n, text in enumerate(texts):
        found = index.search(text, len(texts))
        assert dict(found)[f"S{n}"] == pytest.approx(1.0)
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        assert found == VectorIndex([(f"S{n}", text) for n, text in enumerate(texts)]).search(text, len(texts))


def test_own_vectors_can_be_passed() -> None:
    known = {"fish": [1.0, 0.2], "bread": [0.0, 1.0], "mackerel": [0.9, 0.1]}

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [known[text] for text in texts]

    index = VectorIndex([("S1", "bread"), ("S2", "fish")], embed)
    assert [one for one, _ in index.search("mackerel", 1)] == ["S2"]


@pytest.mark.parametrize(
    ("vectors", "says"),
    [
        ([[1.0], [1.0, 2.0]], "vectors of equal length"),
        ([[1.0]], "expected 2 vectors"),
        ([[1.0], [float("nan")]], "finite"),
    ],
)
def test_invalid_vectors_are_errors(vectors: list[list[float]], says: str) -> None:
    with pytest.raises(InputError, match=says):
        VectorIndex([("S1", "a"), ("S2", "b")], lambda _: vectors)


def test_a_question_with_other_dimensions_is_an_error() -> None:
    index = VectorIndex([("S1", "a")], lambda texts: [[1.0] * len(texts[0])])
    with pytest.raises(InputError, match="2 dimensions, the texts have 1"):
        index.search("ab", 1)


def test_an_empty_registry_finds_nothing() -> None:
    assert VectorIndex([]).search("anything", 3) == []
    assert embed_source_texts([]) == []


def test_without_numpy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *words: Any, **named: Any) -> Any:
        if name == "numpy":
            raise ImportError(name)
        return real(name, *words, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match="numpy is not installed") as missing:
        VectorIndex([("S1", "a")])
    assert missing.value.hint == install_hint("vector")
