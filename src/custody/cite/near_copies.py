"""Which texts are nearly copies of each other, found in three ways.

``Winnowing`` is the one to use: it finds a passage inside a long page as surely as a whole copy. ``SimHash`` and
``LSHForest`` are the document's own names; they compare whole texts, so they also find one of which every third word is
another, but no short passage. Measured on 84 documents of four projects, each changed in eight ways (``python -m bench
cite-near``; the bounds were chosen on documents of a fifth):

| way | precision | recall | 15 % of words replaced | 30 % | half of it | a tenth of it | framed by twice as much |
|---|---|---|---|---|---|---|---|
| winnowing | 1.000 | 0.876 | 0.976 | 0.036 | 1.000 | 1.000 | 1.000 |
| SimHash | 0.880 | 0.731 | 0.952 | 0.798 | 0.810 | 0.024 | 0.274 |
| LSH forest | 1.000 | 0.871 | 1.000 | 0.857 | 1.000 | 0.119 | 0.988 |
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, Protocol

from custody.cite.keys import RUN_WORDS, WINDOW_RUNS, split_compared_words
from custody.cite.model import SourceID
from custody.cite.support import terms_of
from custody.sketch.hashing import BITS, Forest, distance, simhash_of
from custody.sketch.minhash import minhash_of, minhash_similarity
from custody.sketch.tokens import shingles_of
from custody.sketch.winnow import fingerprints_of

Way = Literal["winnowing", "simhash", "forest"]
WORDS_MIN = RUN_WORDS + WINDOW_RUNS - 1
"""Texts of fewer words are copies only if they have the same words: too little could be in common by chance."""
COMMON_TEXTS_MAX = 64
"""A fingerprint of more texts than this proposes no pair; it still counts where another one does."""
SHINGLE_WORDS = 3
SIGNATURE_VALUES, TREES = 128, 16
ALIKE_MAX = 32
"""So many of the most alike are looked at."""


@dataclass(frozen=True, slots=True)
class Near:
    """Two texts of which one is nearly a copy of the other, and how near, from 0 to 1."""

    one: SourceID
    other: SourceID
    nearness: float


class NearIndex(Protocol):
    """Texts under ids, and which of them are near another; ``least`` is how near a copy usually is."""

    least: ClassVar[float]

    def add(self, source_id: SourceID, text: str) -> None:
        """Keep a text."""

    def near(self, text: str, least: float) -> list[tuple[SourceID, float]]:
        """The kept texts that are at least so near, the nearest first, of equals in the order of keeping."""


class Winnowing:
    """Nearness is the share of the shorter text's fingerprints that the longer one has too."""

    least: ClassVar[float] = 0.25

    def __init__(self) -> None:
        self._prints: dict[SourceID, frozenset[int]] = {}
        self._holders: dict[int, list[SourceID]] = {}

    def add(self, source_id: SourceID, text: str) -> None:
        """Keep a text's fingerprints."""
        self._prints[source_id] = prints = _prints(split_compared_words(text))
        for fingerprint in prints:
            self._holders.setdefault(fingerprint, []).append(source_id)

    def near(self, text: str, least: float) -> list[tuple[SourceID, float]]:
        """The kept texts that hold this one or are held by it, nearly."""
        prints = _prints(split_compared_words(text))
        rare = (
            holders for fingerprint in prints if len(holders := self._holders.get(fingerprint, ())) <= COMMON_TEXTS_MAX
        )
        met = {source_id for holders in rare for source_id in holders}
        return _best(
            (
                (source_id, _compute_containment(prints, self._prints[source_id]))
                for source_id in self._prints
                if source_id in met
            ),
            least,
        )


class SimHash:
    """Nearness is the share of equal bits of two hashes; every kept hash is looked at."""

    least: ClassVar[float] = 0.75

    def __init__(self) -> None:
        self._hashes: dict[SourceID, int] = {}

    def add(self, source_id: SourceID, text: str) -> None:
        """Keep a text's hash."""
        self._hashes[source_id] = compute_semantic_hash(text)

    def near(self, text: str, least: float) -> list[tuple[SourceID, float]]:
        """The kept texts whose hash differs in few bits."""
        asked = compute_semantic_hash(text)
        return _best(((source_id, 1 - distance(asked, kept) / BITS) for source_id, kept in self._hashes.items()), least)


class LSHForest:
    """Nearness is the estimated Jaccard similarity of runs of three words, of those that a forest says are alike."""

    least: ClassVar[float] = 0.15

    def __init__(self) -> None:
        self._forest = Forest(TREES)
        self._kept: list[tuple[SourceID, bytes]] = []

    def add(self, source_id: SourceID, text: str) -> None:
        """Keep a text's signature; one without words has none."""
        signature = _signature(text)
        if signature is not None:
            self._forest.add(len(self._kept), signature)
            self._kept.append((source_id, signature))

    def near(self, text: str, least: float) -> list[tuple[SourceID, float]]:
        """The kept texts most like this one."""
        asked = _signature(text)
        if asked is None:
            return []
        alike = sorted(self._forest.most_alike(asked, ALIKE_MAX))
        return _best(
            ((source_id, minhash_similarity(asked, kept)) for source_id, kept in map(self._kept.__getitem__, alike)),
            least,
        )


WAYS: Mapping[Way, type[Winnowing] | type[SimHash] | type[LSHForest]] = MappingProxyType(
    {"winnowing": Winnowing, "simhash": SimHash, "forest": LSHForest}
)


def compute_semantic_hash(text: str) -> int:
    """The SimHash of a text's different terms: 64 bits, of which near copies share nearly all."""
    return simhash_of(dict.fromkeys(terms_of(text), 1))


def find_duplicates(
    texts: Iterable[tuple[SourceID, str]], way: Way = "winnowing", least: float | None = None
) -> list[Near]:
    """Every pair of near copies once, the one that came first leading; the nearest pairs first."""
    index = WAYS[way]()
    pairs: list[Near] = []
    for source_id, text in texts:
        pairs += (Near(earlier_id, source_id, nearness) for earlier_id, nearness in near_to(index, text, least))
        index.add(source_id, text)
    return sorted(pairs, key=lambda near: -near.nearness)


def near_to(index: NearIndex, text: str, least: float | None = None) -> list[tuple[SourceID, float]]:
    """What an index holds that is near a text, by its own bound unless ``least`` is given."""
    return index.near(text, index.least if least is None else least)


def _prints(words: list[str]) -> frozenset[int]:
    if len(words) < WORDS_MIN:
        return frozenset(fingerprints_of([" ".join(words)], 1, 1)) if words else frozenset()
    return frozenset(fingerprints_of(words, RUN_WORDS, WINDOW_RUNS))


def _compute_containment(left: frozenset[int], right: frozenset[int]) -> float:
    return len(left & right) / min(len(left), len(right))


def _signature(text: str) -> bytes | None:
    return minhash_of(shingles_of(split_compared_words(text), SHINGLE_WORDS), SIGNATURE_VALUES)


def _best(matches: Iterable[tuple[SourceID, float]], least: float) -> list[tuple[SourceID, float]]:
    return sorted((match for match in matches if match[1] >= least), key=lambda match: -match[1])
