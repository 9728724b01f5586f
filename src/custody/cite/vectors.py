"""Search among sources by vectors: those whose texts are most like a question, also where they are shown by less.

A vector is made by an ``Embedder``. Ours is lexical and offline: terms and the runs of three letters in them, hashed to
the places of a vector, so that forms of a word meet and synonyms do not. Whoever has a model hands in its own; nothing
here asks one. No truth lives in an index: it is made from the registry when it is asked.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from custody.cite.model import SourceID
from custody.cite.support import terms_of
from custody.core.errors import InputError, MissingExtra
from custody.sketch.hashing import hash64

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 2048
TERM_WEIGHT = 4
"""A whole term counts as much as so many runs of three letters."""
RUN_LETTERS = 3
SCORE_DIGITS = 6
"""Scores are compared to so many digits: machines may differ in later ones."""
LIKENESS_MIN = 0.05
"""Below this two texts have no more in common than a place that their words met in by chance."""

Embedder = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Gives each text a vector, all of one length."""


def lexical(texts: Sequence[str]) -> list[list[float]]:
    """Our own vectors: whole numbers, the same on every machine."""
    return [_lexical(text) for text in texts]


class VectorIndex:
    """Texts under ids as vectors of length 1; places that many texts share count less."""

    def __init__(self, texts: Sequence[tuple[SourceID, str]], embed: Embedder = lexical) -> None:
        try:
            import numpy as np
        except ImportError as error:
            raise MissingExtra("numpy", "vector") from error
        self._embed = embed
        self._ids = [source_id for source_id, _ in texts]
        matrix = _matrix(embed([text for _, text in texts]), len(texts))
        shared = (matrix != 0).sum(axis=0)
        self._rarity = 1 + np.log2((1 + len(texts)) / (1 + shared))
        self._rows = _unit(matrix * self._rarity)

    def search(self, question: str, most: int, least: float = LIKENESS_MIN) -> list[tuple[SourceID, float]]:
        """At most so many ids with the cosine of the angle to the question, the nearest first; of equals in order."""
        if not self._ids:
            return []
        asked = _matrix(self._embed([question]), 1)
        if asked.shape[1] != self._rows.shape[1]:
            raise InputError(f"the question has {asked.shape[1]} places, the texts have {self._rows.shape[1]}")
        scores = self._rows @ _unit(asked * self._rarity)[0]
        ranked = sorted((-round(float(score), SCORE_DIGITS), at) for at, score in enumerate(scores))
        return [(self._ids[at], -score) for score, at in ranked[:most] if -score >= least]


def _lexical(text: str) -> list[float]:
    made = [0.0] * DIMENSIONS
    for feature, count in Counter(_features(text)).items():
        weight = TERM_WEIGHT if feature[0] == "=" else 1
        value = hash64("vector", feature)
        # The sign keeps two features that meet in one place from adding up.
        made[value % DIMENSIONS] += (1 if value >= 0 else -1) * weight * count.bit_length()
    return made


def _features(text: str) -> Iterator[str]:
    for term in terms_of(text):
        yield f"={term}"
        yield from (term[at : at + RUN_LETTERS] for at in range(len(term) - RUN_LETTERS + 1))


def _matrix(vectors: Sequence[Sequence[float]], rows: int) -> "NDArray[np.float64]":
    import numpy as np

    if len(vectors) != rows or len({len(vector) for vector in vectors}) > 1:
        raise InputError(f"{rows} text(s) need as many vectors of one length", hint="look at the function that embeds")
    matrix = np.asarray([list(vector) for vector in vectors], dtype=np.float64).reshape(rows, -1 if rows else 0)
    if not np.isfinite(matrix).all():
        raise InputError("a vector holds what is no finite number", hint="look at the function that embeds")
    return matrix


def _unit(matrix: "NDArray[np.float64]") -> "NDArray[np.float64]":
    import numpy as np

    lengths = np.sqrt((matrix * matrix).sum(axis=1, keepdims=True))
    return matrix / np.where(lengths == 0, 1, lengths)
