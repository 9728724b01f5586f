"""Does the text of a cited source speak of the statement at all? Told from words alone, offline.

The score is the largest share of the statement's terms, numbers counting double, that stand together in one window of
the source. The chance is a logistic function of the score, fitted on sentences of real reports against the rest of
their own section and against sections of other reports (docs/cite.md has the figures). It says whether a text is about
the same thing, never whether it says the same.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from custody.cite.codes import CitationCode
from custody.cite.document import ListEntry
from custody.cite.prose import sentences_with_uses
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding, brief, name_entry

WINDOW_TERMS = 200
"""Terms of a statement that stand further apart than this do not speak of one thing."""
STEM_CHARACTERS = 6
"""Words are compared by their beginnings, so that forms of one word are one term."""
WORDS_FIT = (-3.92, 16.0)
SIGNS_FIT = (-4.47, 33.1)
"""Intercept and slope of the logistic function; Chinese statements have more terms, so fewer of them need to meet."""
_TERM = re.compile(r"[0-9]+(?:[.,][0-9]+)*|[a-zà-öø-ÿ]{3,}|[\u3040-\u30ff\u3400-\u9fff]+")
_COMMON = frozenset(
    """the and for are was were that this with from have has had not but its their they which who whom will would can
    could may might should been being than then also more most other some such into over under about after before
    between during through while where when what how why all any each both few many much very just only own same
    there here these those our your his her him she out off per via due upon among across""".split()
)


@dataclass(frozen=True, slots=True)
class Support:
    """How much of a statement a text speaks of, and the chance that it speaks of the same thing."""

    score: float
    chance: float


def support(statement: str, text: str) -> Support | None:
    """Whether ``text`` speaks of ``statement``; None where either has no words to compare."""
    wanted = Counter(terms_of(statement))
    found = list(terms_of(text))
    if not wanted or not found:
        return None
    score = _best_share(wanted, found)
    intercept, slope = SIGNS_FIT if _is_chinese(wanted) else WORDS_FIT
    return Support(score, 1 / (1 + math.exp(-(intercept + slope * score))))


def unsupported(
    subject: AuditSubject, text_of: Callable[[ListEntry], str | None], rules: CiteRules
) -> Iterator[CheckFinding]:
    """Cited sentences of which the cited source, where its text is known, does not speak."""
    for sentence, entries in sentences_with_uses(subject):
        for entry in entries:
            text = text_of(entry)
            said = None if text is None else support(sentence.text, text)
            if said is not None and said.chance < rules.support_chance_min:
                message = f"{name_entry(entry)} hardly speaks of '{brief(sentence.text)}' (chance {said.chance:.2f})"
                yield CheckFinding(CitationCode.SUPPORT, sentence.at, message)


def _is_chinese(terms: Mapping[str, int]) -> bool:
    return 2 * sum(term[0] >= "\u3040" for term in terms) > len(terms)


def terms_of(text: str) -> Iterator[str]:
    """Numbers, the beginnings of words, pairs of Chinese characters; common words left out."""
    for match in _TERM.finditer(text.casefold()):
        word = match[0]
        if word[0] >= "\u3040":
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif word not in _COMMON:
            yield word if word[0].isdigit() else word[:STEM_CHARACTERS]


def _best_share(wanted: Mapping[str, int], found: Sequence[str]) -> float:
    """The largest share of the wanted terms, by weight, in any window.

    >>> _best_share({"market": 1, "12": 1}, ["market", "share"])
    0.3333333333333333
    """
    weights = {term: 2 if term[0].isdigit() else 1 for term in wanted}
    total = sum(weights.values())
    inside: Counter[str] = Counter()
    held = best = 0
    for at, term in enumerate(found):
        if term in weights:
            inside[term] += 1
            held += weights[term] if inside[term] == 1 else 0
        if at >= WINDOW_TERMS and (gone := found[at - WINDOW_TERMS]) in weights:
            inside[gone] -= 1
            held -= weights[gone] if inside[gone] == 0 else 0
        best = max(best, held)
    return best / total
