"""Vector search among sources.

An ``Embedder`` makes the vectors. The default is lexical and offline: terms and their trigrams, hashed to the
dimensions of a vector, so that forms of a word match and synonyms do not. Pass your own to use a model; this file
calls none. An index is built from the registry when it is needed.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from custody.cite.model import SourceID
from custody.cite.support import split_statement_terms
from custody.core.errors import InputError, MissingExtra
from custody.core.plural import count_noun
from custody.sketch.hashing import hash64

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 2048
TERM_WEIGHT = 4
"""Weight of a term, relative to a trigram."""
RUN_LETTERS = 3
SCORE_DIGITS = 6
"""Digits of scores that are compared; later digits may differ between machines."""
LIKENESS_MIN = 0.05
"""Minimum score; below it, matches are hash collisions."""

Embedder = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Returns a vector for each text, all of the same length."""


def embed_source_texts(texts: Sequence[str]) -> list[list[float]]:
    """Return the default vectors: integers, the same on every machine."""
    return [_embed_source_text(text) for text in texts]


class VectorIndex:
    """An index of texts by id as unit vectors; dimensions that many texts share count less."""

    def __init__(self, texts: Sequence[tuple[SourceID, str]], embed: Embedder = embed_source_texts) -> None:
        try:
            import numpy as np
        except ImportError as error:
            raise MissingExtra("numpy", "vector") from error
        self._embed = embed
        self._ids = [source_id for source_id, _ in texts]
        matrix = _source_vector_matrix(embed([text for _, text in texts]), len(texts))
        shared = (matrix != 0).sum(axis=0)
        self._rarity = 1 + np.log2((1 + len(texts)) / (1 + shared))
        self._rows = _normalize_source_vectors(matrix * self._rarity)

    def search(self, question: str, most: int, least: float = LIKENESS_MIN) -> list[tuple[SourceID, float]]:
        """Return up to ``most`` ids with their cosine similarity to the question, the highest first, ties in order."""
        if not self._ids:
            return []
        query = _source_vector_matrix(self._embed([question]), 1)
        if query.shape[1] != self._rows.shape[1]:
            raise InputError(f"the question has {query.shape[1]} dimensions, the texts have {self._rows.shape[1]}")
        scores = self._rows @ _normalize_source_vectors(query * self._rarity)[0]
        ranked = sorted((-round(float(score), SCORE_DIGITS), at) for at, score in enumerate(scores))
        return [(self._ids[at], -score) for score, at in ranked[:most] if -score >= least]


def _embed_source_text(text: str) -> list[float]:
    vector = [0.0] * DIMENSIONS
    for feature, count in Counter(_source_text_features(text)).items():
        weight = TERM_WEIGHT if feature[0] == "=" else 1
        value = hash64("vector", feature)
        # A plus or minus sign per feature keeps collisions from adding up.
        vector[value % DIMENSIONS] += (1 if value >= 0 else -1) * weight * count.bit_length()
    return vector


def _source_text_features(text: str) -> Iterator[str]:
    for term in split_statement_terms(text):
        yield f"={term}"
        yield from (term[at : at + RUN_LETTERS] for at in range(len(term) - RUN_LETTERS + 1))


def _source_vector_matrix(vectors: Sequence[Sequence[float]], rows: int) -> "NDArray[np.float64]":
    import numpy as np

    if len(vectors) != rows or len({len(vector) for vector in vectors}) > 1:
        raise InputError(f"expected {count_noun(rows, 'vector')} of equal length", hint="check the embedding function")
    matrix = np.asarray([list(vector) for vector in vectors], dtype=np.float64).reshape(rows, -1 if rows else 0)
    if not np.isfinite(matrix).all():
        raise InputError("a vector contains a value that is not a finite number", hint="check the embedding function")
    return matrix


def _normalize_source_vectors(matrix: "NDArray[np.float64]") -> "NDArray[np.float64]":
    import numpy as np

    lengths = np.sqrt((matrix * matrix).sum(axis=1, keepdims=True))
    return matrix / np.where(lengths == 0, 1, lengths)
