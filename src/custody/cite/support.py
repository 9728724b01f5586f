"""The lexical support of a statement by the text of its source, offline.

The score is the largest share of the statement's terms, numbers counting double, in one window of the
source. The chance is a logistic function of the score, fitted on sentences of real reports against the rest of
their own section and against sections of other reports (figures in docs/cite.md). It estimates whether a text is about
the same topic, not whether it agrees.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from custody.cite.codes import CitationCode
from custody.cite.document import ListEntry
from custody.cite.prose import pair_sentences_with_sources
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding, name_source_entry, shorten_citation_text
from custody.core.patterns import lazy_pattern

WINDOW_TERMS = 200
"""Window of terms; terms further apart are not about one topic."""
STEM_CHARACTERS = 6
"""Length of a stem, so that forms of a word are one term."""
WORDS_FIT = (-3.92, 16.0)
CHARACTERS_FIT = (-4.47, 33.1)
"""Intercept and slope of the logistic function; Chinese statements have more terms, so a smaller share is enough."""
_TERM = lazy_pattern(r"[0-9]+(?:[.,][0-9]+)*|[a-zà-öø-ÿ]{3,}|[\u3040-\u30ff\u3400-\u9fff]+")
_COMMON = frozenset(
    """the and for are was were that this with from have has had not but its their they which who whom will would can
    could may might should been being than then also more most other some such into over under about after before
    between during through while where when what how why all any each both few many much very just only own same
    there here these those our your his her him she out off per via due upon among across""".split()
)


class Support(Struct, frozen=True):
    """The share of a statement's terms in a text, and the chance that both are about the same topic."""

    score: float
    chance: float


def score_citation_support(statement: str, text: str) -> Support | None:
    """Return how well ``text`` supports ``statement``; None if either has no terms."""
    statement_terms = Counter(split_statement_terms(statement))
    text_terms = list(split_statement_terms(text))
    if not statement_terms or not text_terms:
        return None
    score = _best_support_share(statement_terms, text_terms)
    intercept, slope = CHARACTERS_FIT if _is_chinese_statement(statement_terms) else WORDS_FIT
    return Support(score, 1 / (1 + math.exp(-(intercept + slope * score))))


def find_unsupported_citations(
    subject: AuditSubject, text_of: Callable[[ListEntry], str | None], rules: CiteRules
) -> Iterator[CheckFinding]:
    """Yield the cited sentences that the stored text of the cited source does not support."""
    for sentence, entries in pair_sentences_with_sources(subject):
        for entry in entries:
            text = text_of(entry)
            support = None if text is None else score_citation_support(sentence.text, text)
            if support is not None and support.chance < rules.support_chance_min:
                statement = shorten_citation_text(sentence.text)
                message = f"{name_source_entry(entry)} may not support '{statement}' (score {support.chance:.2f})"
                yield CheckFinding(CitationCode.SUPPORT, sentence.at, message)


def _is_chinese_statement(terms: Mapping[str, int]) -> bool:
    return 2 * sum(term[0] >= "\u3040" for term in terms) > len(terms)


def split_statement_terms(text: str) -> Iterator[str]:
    """Yield numbers, stems, and pairs of Chinese characters, without common words."""
    for match in _TERM.finditer(text.casefold()):
        word = match[0]
        if word[0] >= "\u3040":
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif word not in _COMMON:
            yield word if word[0].isdigit() else word[:STEM_CHARACTERS]


def _best_support_share(wanted: Mapping[str, int], text_terms: Sequence[str]) -> float:
    """Return the largest share of the wanted terms, by weight, in any window.

    >>> _best_support_share({"market": 1, "12": 1}, ["market", "share"])
    0.3333333333333333
    """
    weights = {term: 2 if term[0].isdigit() else 1 for term in wanted}
    total = sum(weights.values())
    inside: Counter[str] = Counter()
    held = best = 0
    for at, term in enumerate(text_terms):
        if term in weights:
            inside[term] += 1
            held += weights[term] if inside[term] == 1 else 0
        if at >= WINDOW_TERMS and (gone := text_terms[at - WINDOW_TERMS]) in weights:
            inside[gone] -= 1
            held -= weights[gone] if inside[gone] == 0 else 0
        best = max(best, held)
    return best / total
