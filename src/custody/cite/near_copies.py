"""Near copies among texts, found in three ways.

Use ``Winnowing``: it also finds a passage inside a long page. ``SimHash`` and ``LSHForest`` are from document 003; they
compare whole texts, so they find a text with every third word replaced, but no short passage. Measured on 84 documents
of four projects, each changed in eight ways (``python -m bench cite-near``; the bounds were chosen on documents of a
fifth project):

| way | precision | recall | 15 % of words replaced | 30 % | half of it | a tenth of it | framed by twice as much |
|---|---|---|---|---|---|---|---|
| winnowing | 1.000 | 0.876 | 0.976 | 0.036 | 1.000 | 1.000 | 1.000 |
| SimHash | 0.880 | 0.731 | 0.952 | 0.798 | 0.810 | 0.024 | 0.274 |
| LSH forest | 1.000 | 0.871 | 1.000 | 0.857 | 1.000 | 0.119 | 0.988 |
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar, Literal, Protocol

from msgspec import Struct

from custody.cite.keys import RUN_WORDS, WINDOW_RUNS, split_source_words
from custody.cite.model import SourceID
from custody.cite.support import split_statement_terms
from custody.sketch.hashing import BITS, Forest, compute_simhash, compute_simhash_distance
from custody.sketch.minhash import compute_minhash, estimate_minhash_similarity
from custody.sketch.tokens import shingle_tokens
from custody.sketch.winnow import winnow_fingerprints

Way = Literal["winnowing", "simhash", "forest"]
WORDS_MIN = RUN_WORDS + WINDOW_RUNS - 1
"""Minimum words for fingerprints; shorter texts are copies only if they have the same words."""
COMMON_TEXTS_MAX = 64
"""A fingerprint of more texts than this proposes no pair."""
SHINGLE_WORDS = 3
SIGNATURE_VALUES, TREES = 128, 16
ALIKE_MAX = 32
"""Maximum candidates from the forest."""


class Near(Struct, frozen=True):
    """Two texts that are nearly copies, and their similarity, from 0 to 1."""

    one: SourceID
    other: SourceID
    nearness: float


class NearIndex(Protocol):
    """An index of texts by id that finds near copies; ``least`` is the default minimum similarity."""

    least: ClassVar[float]

    def add(self, source_id: SourceID, text: str) -> None:
        """Add a text."""

    def find_near(self, text: str, least: float) -> list[tuple[SourceID, float]]:
        """Return the texts with at least this similarity, the nearest first, ties in the order of adding."""


class Winnowing:
    """Similarity is the share of the shorter text's fingerprints that the longer text has."""

    least: ClassVar[float] = 0.25

    def __init__(self) -> None:
        self._prints: dict[SourceID, frozenset[int]] = {}
        self._holders: dict[int, list[SourceID]] = {}

    def add(self, source_id: SourceID, text: str) -> None:
        """Add the fingerprints of a text."""
        self._prints[source_id] = prints = _fingerprint_source_words(split_source_words(text))
        for fingerprint in prints:
            self._holders.setdefault(fingerprint, []).append(source_id)

    def find_near(self, text: str, least: float) -> list[tuple[SourceID, float]]:
        """Return the texts that nearly contain this one, or that it nearly contains."""
        prints = _fingerprint_source_words(split_source_words(text))
        rare = (
            holders for fingerprint in prints if len(holders := self._holders.get(fingerprint, ())) <= COMMON_TEXTS_MAX
        )
        met = {source_id for holders in rare for source_id in holders}
        return _sort_near_sources(
            (
                (source_id, _measure_source_containment(prints, self._prints[source_id]))
                for source_id in self._prints
                if source_id in met
            ),
            least,
        )


class SimHash:
    """Similarity is the share of equal bits of two hashes; all hashes are compared."""

    least: ClassVar[float] = 0.75

    def __init__(self) -> None:
        self._hashes: dict[SourceID, int] = {}

    def add(self, source_id: SourceID, text: str) -> None:
        """Add the hash of a text."""
        self._hashes[source_id] = compute_semantic_hash(text)

    def find_near(self, text: str, least: float) -> list[tuple[SourceID, float]]:
        """Return the texts with a hash that differs in few bits."""
        query = compute_semantic_hash(text)
        return _sort_near_sources(
            (
                (source_id, 1 - compute_simhash_distance(query, known) / BITS)
                for source_id, known in self._hashes.items()
            ),
            least,
        )


class LSHForest:
    """Similarity is the estimated Jaccard similarity of runs of three words, among the candidates of a forest."""

    least: ClassVar[float] = 0.15

    def __init__(self) -> None:
        self._forest = Forest(TREES)
        self._signatures: list[tuple[SourceID, bytes]] = []

    def add(self, source_id: SourceID, text: str) -> None:
        """Add the signature of a text; a text without words has none."""
        signature = _minhash_source_text(text)
        if signature is not None:
            self._forest.add(len(self._signatures), signature)
            self._signatures.append((source_id, signature))

    def find_near(self, text: str, least: float) -> list[tuple[SourceID, float]]:
        """Return the texts most similar to this one."""
        query = _minhash_source_text(text)
        if query is None:
            return []
        candidates = sorted(self._forest.find_nearest(query, ALIKE_MAX))
        return _sort_near_sources(
            (
                (source_id, estimate_minhash_similarity(query, known))
                for source_id, known in map(self._signatures.__getitem__, candidates)
            ),
            least,
        )


WAYS: Mapping[Way, type[Winnowing] | type[SimHash] | type[LSHForest]] = MappingProxyType(
    {"winnowing": Winnowing, "simhash": SimHash, "forest": LSHForest}
)


def compute_semantic_hash(text: str) -> int:
    """Return the SimHash of a text's distinct terms: 64 bits; near copies share nearly all of them."""
    return compute_simhash(dict.fromkeys(split_statement_terms(text), 1))


def find_duplicates(
    texts: Iterable[tuple[SourceID, str]], way: Way = "winnowing", least: float | None = None
) -> list[Near]:
    """Return every pair of near copies once, in the order of the texts; the nearest pairs first."""
    index = WAYS[way]()
    pairs: list[Near] = []
    for source_id, text in texts:
        pairs += (
            Near(earlier_id, source_id, nearness) for earlier_id, nearness in find_near_sources(index, text, least)
        )
        index.add(source_id, text)
    return sorted(pairs, key=lambda near: -near.nearness)


def find_near_sources(index: NearIndex, text: str, least: float | None = None) -> list[tuple[SourceID, float]]:
    """Return the near copies of a text in an index; ``least`` overrides its minimum similarity."""
    return index.find_near(text, index.least if least is None else least)


def _fingerprint_source_words(words: list[str]) -> frozenset[int]:
    if len(words) < WORDS_MIN:
        return frozenset(winnow_fingerprints([" ".join(words)], 1, 1)) if words else frozenset()
    return frozenset(winnow_fingerprints(words, RUN_WORDS, WINDOW_RUNS))


def _measure_source_containment(left: frozenset[int], right: frozenset[int]) -> float:
    return len(left & right) / min(len(left), len(right))


def _minhash_source_text(text: str) -> bytes | None:
    return compute_minhash(shingle_tokens(split_source_words(text), SHINGLE_WORDS), SIGNATURE_VALUES)


def _sort_near_sources(matches: Iterable[tuple[SourceID, float]], least: float) -> list[tuple[SourceID, float]]:
    return sorted((match for match in matches if match[1] >= least), key=lambda match: -match[1])
