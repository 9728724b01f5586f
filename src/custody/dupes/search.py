"""Which terms a change is kept under and searched by, and what shared ones weigh: the rarest say the most.

Weights are whole numbers, so that every database sums them alike.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

ALWAYS = ("commit", "closing", "mention", "band", "intent")
"""Fields of which every term is kept; they are few."""
NAMED = "named"
"""The field of commits that a change names: it searches for them, and is not found by them."""
FIELD_WEIGHTS = MappingProxyType(
    {
        "commit": 4.0,
        "named": 4.0,
        "closing": 3.0,
        "mention": 2.0,
        "path": 1.0,
        "band": 2.0,
        "intent": 1.0,
        "symbol": 1.0,
        "test": 1.5,
        "folder": 0.3,
        "line": 1.5,
        "identifier": 1.0,
        "word": 0.7,
    }
)
"""What a shared term of a field weighs beside how rare it is: a commit or an issue says more than a word."""
INDEX_PATHS_MAX = 16
"""Paths of a change that are indexed."""
INDEX_TERMS_MAX = 64
"""Rarest terms of a change that are indexed: the index stays small."""
TERM_CHANGES_MAX = 2_000
"""A term of more changes than this is too common to be indexed further."""
QUERY_TERMS_MAX = 600
"""Terms of a change whose frequency is looked up."""
QUERY_RARE_TERMS_MAX = 128
"""The rarest of these, which are searched for."""
QUERY_POSTINGS_MAX = 20_000
"""Entries of the index that one search reads: no hot file can make it slow."""
UNIT = 1_000
"""A weight of 1, as it is summed."""


@dataclass(frozen=True, slots=True)
class Search:
    """The terms to look for: what each weighs, and in how many changes it stands."""

    weights: Mapping[int, int]
    counts: Mapping[int, int]


def kept_terms(terms: Mapping[str, Sequence[int]], counts: Mapping[int, int]) -> list[int]:
    """The terms under which a change is indexed, given in how many changes each stands by now."""
    always = (term for name in ALWAYS for term in terms.get(name, ()))
    paths = terms.get("path", ())[:INDEX_PATHS_MAX]
    others = (term for name, some in terms.items() if name not in (*ALWAYS, "path", NAMED) for term in some)
    # By magnitude only: of terms that are about equally rare, two like changes must choose the same.
    rare = sorted(set(others), key=lambda term: (counts.get(term, 0).bit_length(), term))[:INDEX_TERMS_MAX]
    wanted = dict.fromkeys((*always, *paths, *rare))
    return [term for term in wanted if counts.get(term, 0) < TERM_CHANGES_MAX]


def search_of(terms: Mapping[str, Sequence[int]], counts: Mapping[int, int], changes: int) -> Search:
    """The rarest terms that stand in any change at all, as many as may be read."""
    weights = {
        term: _weight(counts[term], changes, FIELD_WEIGHTS[name])
        for name, some in terms.items()
        for term in some
        if term in counts
    }
    known = sorted(weights, key=lambda term: (counts[term], term))
    chosen = list(_affordable(known[:QUERY_RARE_TERMS_MAX], counts))
    return Search({term: weights[term] for term in chosen}, {term: counts[term] for term in chosen})


def asked_terms(terms: Mapping[str, Sequence[int]]) -> list[int]:
    """The terms of which it is to be known how rare they are, the telling fields first."""
    each = [term for some in terms.values() for term in some]
    return each[:QUERY_TERMS_MAX]


def _affordable(terms: Iterable[int], counts: Mapping[int, int]) -> Iterator[int]:
    read = 0
    for term in terms:
        read += counts[term]
        if read > QUERY_POSTINGS_MAX:
            return
        yield term


def _weight(count: int, changes: int, field_weight: float) -> int:
    """What a shared term says: the log of how rare it is, times what its field weighs."""
    return round(UNIT * field_weight * math.log((1 + changes) / (1 + count)))
