"""The nouns of search: words, terms, and the score of a session."""

import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType

from msgspec import Struct

from custody.core.patterns import lazy_pattern

WORD_CHARACTERS_MAX = 64
WORDS_MAX = 10_000
"""Maximum words of one text; the rest of a longer text is not found."""
TERMS_MAX = 16
PLURAL_CHARACTERS_MIN = 4

_UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts without spaces between words: each character counts as a word."""
_RUN = lazy_pattern(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_PART = lazy_pattern(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")
"""A part of an identifier: RefundPart, HTTPServer2."""
_TERM = lazy_pattern(r'"([^"]*)"?|([^\s"]+)')


def split_search_words(text: str) -> list[str]:
    """Return the words of a text as the index has them: parts of identifiers, without case and plural endings.

    >>> split_search_words("RefundPart fails: pytest tests/test_fees.py")
    ['refund', 'part', 'fail', 'pytest', 'test', 'test', 'fee', 'py']
    >>> split_search_words("Größe der HTTPServer-Klassen")
    ['grösse', 'der', 'http', 'server', 'klassen']
    """
    words: list[str] = []
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text)):
        run = match[0]
        parts = _PART.findall(run) if run.isascii() and not run.islower() else [run]
        words.extend(_fold_word(part) for part in parts)
        if len(words) >= WORDS_MAX:
            break
    return words[:WORDS_MAX]


def _fold_word(word: str) -> str:
    folded = word.casefold()[:WORD_CHARACTERS_MAX]
    is_plural = len(folded) >= PLURAL_CHARACTERS_MIN and folded.endswith("s") and not folded.endswith("ss")
    return folded[:-1] if is_plural and folded.isascii() else folded


class SearchTerm(Struct, frozen=True):
    """A word, or words in a row; with ``is_prefix`` the last one may go on."""

    words: tuple[str, ...]
    is_prefix: bool = False


def parse_search_terms(text: str) -> tuple[SearchTerm, ...]:
    """Return the terms of a question: words, ``"words in a row"``, and ``prefix*``; each once.

    >>> [term.words for term in parse_search_terms('round "half to even" feesTable')]
    [('round',), ('half', 'to', 'even'), ('fee', 'table')]
    >>> parse_search_terms("refu*")
    (SearchTerm(words=('refu',), is_prefix=True),)
    """
    terms: dict[SearchTerm, None] = {}
    for match in _TERM.finditer(text):
        typed = match[1] if match[1] is not None else match[2]
        is_prefix = match[1] is None and typed.endswith("*")
        words = tuple(_split_prefix(typed) if is_prefix else split_search_words(typed))
        if words:
            terms[SearchTerm(words, is_prefix)] = None
    return tuple(terms)[:TERMS_MAX]


def _split_prefix(typed: str) -> list[str]:
    """Return the words of a prefix; its last word keeps a plural ending, since it is not the whole word."""
    words = split_search_words(typed)
    last = typed.rstrip("*").casefold()
    return [*words[:-1], f"{words[-1]}s"] if words and last.endswith("s") and not last.endswith("ss") else words


class TextKind(Enum):
    """The kind of a text that can be searched."""

    PROMPT = "prompt"
    COMMIT = "commit"
    FILE = "file"
    COMMAND = "command"
    ANSWER = "answer"


WEIGHTS: Mapping[TextKind, float] = MappingProxyType(
    {TextKind.PROMPT: 3.0, TextKind.COMMIT: 2.5, TextKind.FILE: 1.5, TextKind.COMMAND: 1.0, TextKind.ANSWER: 2.0}
)
"""How much a word counts by where it is: a prompt says what a session is about, a command rarely does."""
SHARED_KINDS: Collection[TextKind] = (TextKind.COMMIT, TextKind.FILE)
"""Kinds that anyone with the repository can read; the others need the right to read texts."""
SATURATION = 1.2
LENGTH_SHARE = 0.5
"""How far the length of a session lowers what one occurrence counts."""
TOGETHER = 2.0
"""The extra weight of words that occur in one text."""
SHARE_MIN = 0.3
"""The minimum share of the terms' weight that a session must match."""

SessionKey = tuple[str, str]
"""An agent and the id of its session."""


class SearchCorpus(Struct, frozen=True):
    """The indexed sessions with the number of their texts by kind."""

    texts: Mapping[SessionKey, Mapping[TextKind, int]]

    def mean_texts(self, kind: TextKind) -> float:
        """Return the mean number of texts of this kind in the sessions that have any."""
        counts = [by_kind[kind] for by_kind in self.texts.values() if by_kind.get(kind)]
        return sum(counts) / len(counts) if counts else 1.0


TermMatches = Mapping[SessionKey, Mapping[TextKind, int]]
"""The texts that a term occurs in, counted by session and kind."""


def weigh_terms(corpus: SearchCorpus, matches: Sequence[TermMatches]) -> list[float]:
    """Return the weight of each term: the fewer sessions have it, the more it says; 0 if none has it."""
    total = max(len(corpus.texts), *map(len, matches))
    return [math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5)) if found else 0.0 for found in matches]


def rank_sessions(
    corpus: SearchCorpus, matches: Sequence[TermMatches], weights: Sequence[float]
) -> dict[SessionKey, float]:
    """Return the score of each session that matches enough of the terms; it falls with the share of the others."""
    means = {kind: corpus.mean_texts(kind) for kind in TextKind}
    scores: dict[SessionKey, float] = {}
    matched: dict[SessionKey, list[int]] = {}
    for term, (found, weight) in enumerate(zip(matches, weights, strict=True)):
        for session, counts in found.items():
            texts = corpus.texts.get(session, {})
            occurrence = sum(
                WEIGHTS[kind] * _saturate(count, texts.get(kind, count) / means[kind]) for kind, count in counts.items()
            )
            scores[session] = scores.get(session, 0.0) + weight * occurrence
            matched.setdefault(session, []).append(term)
    shares = {session: compute_matched_share(terms, weights) for session, terms in matched.items()}
    return {session: score * shares[session] for session, score in scores.items() if shares[session] >= SHARE_MIN}


def compute_matched_share(terms: Iterable[int], weights: Sequence[float]) -> float:
    """Return the share of these terms in the weight of all.

    >>> compute_matched_share([0, 0, 2], [1.0, 2.0, 1.0])
    0.5
    """
    total = sum(weights)
    return sum(weights[term] for term in set(terms)) / total if total else 1.0


def _saturate(count: int, length: float) -> float:
    """Return what ``count`` occurrences add, at most 1; ``length`` is the session's over the mean."""
    return count / (count + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length))


def weigh_text(kind: TextKind, terms: Iterable[int], weights: Sequence[float]) -> float:
    """Return what one text adds to the score of its session, by the terms in it."""
    return TOGETHER * WEIGHTS[kind] * sum(weights[term] for term in set(terms))
