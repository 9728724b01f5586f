"""Which terms a change is kept under and searched by, and what shared ones weigh: the rarest say the most.

Weights are whole numbers, so that every database sums them alike.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from custody.dupes.rules import DedupeRules
from custody.sketch.rare_terms import rarest

ALWAYS = ("commit", "closing", "mention", "band", "intent")
"""Fields of which every term is kept; they are few."""
NAMED = "named"
"""The field of commits that a change names: it searches for them, and is not found by them."""
UNIT = 1_000
"""A weight of 1, as it is summed."""


@dataclass(frozen=True, slots=True)
class Search:
    """The terms to look for: what each weighs, and in how many changes it stands."""

    weights: Mapping[int, int]
    counts: Mapping[int, int]


def kept_terms(terms: Mapping[str, Sequence[int]], counts: Mapping[int, int], rules: DedupeRules) -> list[int]:
    """The terms under which a change is indexed, given in how many changes each stands by now."""
    always = (term for name in ALWAYS for term in terms.get(name, ()))
    paths = terms.get("path", ())[: rules.index_paths_max]
    others = (term for name, some in terms.items() if name not in (*ALWAYS, "path", NAMED) for term in some)
    # By magnitude only: of terms that are about equally rare, two like changes must choose the same.
    rare = rarest(others, lambda term: counts.get(term, 0).bit_length(), keep=rules.index_terms_max)
    wanted = dict.fromkeys((*always, *paths, *rare))
    return [term for term in wanted if counts.get(term, 0) < rules.term_changes_max]


def search_of(
    terms: Mapping[str, Sequence[int]], counts: Mapping[int, int], changes: int, rules: DedupeRules
) -> Search:
    """The rarest terms that stand in any change at all, as many as may be read."""
    weights = {
        term: _weight(counts[term], changes, rules.field_weights[name])
        for name, some in terms.items()
        for term in some
        if term in counts
    }
    known = sorted(weights, key=lambda term: (counts[term], term))
    chosen = list(_affordable(known[: rules.query_rare_terms_max], counts, rules.query_postings_max))
    return Search({term: weights[term] for term in chosen}, {term: counts[term] for term in chosen})


def asked_terms(terms: Mapping[str, Sequence[int]], rules: DedupeRules) -> list[int]:
    """The terms of which it is to be known how rare they are, the telling fields first."""
    each = [term for some in terms.values() for term in some]
    return each[: rules.query_terms_max]


def _affordable(terms: Iterable[int], counts: Mapping[int, int], most: int) -> Iterator[int]:
    read = 0
    for term in terms:
        read += counts[term]
        if read > most:
            return
        yield term


def _weight(count: int, changes: int, field_weight: float) -> int:
    """What a shared term says: the log of how rare it is, times what its field weighs."""
    return round(UNIT * field_weight * math.log((1 + changes) / (1 + count)))
