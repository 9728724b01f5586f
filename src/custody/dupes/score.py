"""Similarities, scores, categories and verdicts of pairs, and the terms of a search."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from custody.dupes.facts.model import Channel
from custody.dupes.model import (
    Category,
    ExactKind,
    HashVariant,
    PairScore,
    Signature,
    Similarities,
)
from custody.dupes.rules import DedupeRules
from custody.sketch.hashing import BottomSketch, estimate_sketch_containment, estimate_sketch_jaccard
from custody.sketch.minhash import estimate_minhash_similarity

Verdict = tuple[Category, str]
"""A category, and the rule that decided."""

SAME_CHANGE_LINES_MIN = 0.5
"""The least share of literally equal lines of SAME_CHANGE: masked numbers make all version bumps equal."""
_PRODUCTION = ("prod_minhash_sim", "prod_exports_sim", "prod_symbols_sim", "prod_files_sim", "prod_imports_sim")


def score_pair(
    a: Signature, b: Signature, similarities: Similarities, rules: DedupeRules, exact: Collection[ExactKind] = ()
) -> PairScore:
    """Score a pair by the rules; ``exact`` holds the kinds of exact hashes that both share."""
    production = score_production_code(similarities, rules)
    final = (
        production
        + min(_weigh_similarity("tests_intent_sim", similarities, rules), rules.tests_score_max)
        + min(_weigh_similarity("docs_struct_sim", similarities, rules), rules.docs_score_max)
    )
    verdict = _decide_exact_match(a, b, exact) or next(_decide_category(a, b, similarities, production, final, rules))
    category, rule = verdict
    is_routine = category is Category.NOT_RELATED and _is_routine_pair(a, b)
    return PairScore(similarities, production, final, category, rule, is_routine)


def score_production_code(similarities: Similarities, rules: DedupeRules) -> float:
    """Return the similarity of the production code, from 0 to 1.

    Missing signals are left out of the sum and of the weights. Without changed lines of code on both sides it is 0.
    """
    if similarities["prod_minhash_sim"] is None:
        return 0.0
    present = [(rules.weights[name], value) for name in _PRODUCTION if (value := similarities[name]) is not None]
    total = sum(rules.weights[name] for name in _PRODUCTION)
    weights = sum(weight for weight, _ in present)
    return total * sum(weight * value for weight, value in present) / weights if weights else 0.0


def _weigh_similarity(name: str, similarities: Similarities, rules: DedupeRules) -> float:
    return rules.weights[name] * (similarities[name] or 0.0)


def _decide_category(
    a: Signature, b: Signature, similarities: Similarities, production: float, final: float, rules: DedupeRules
) -> Iterator[Verdict]:
    """Yield the categories that hold, in the order of document 002; the first one decides."""
    yield from _decide_same_change(similarities, rules)
    if _is_routine_pair(a, b):
        yield Category.NOT_RELATED, "both are routine changes of bots or releases"
    yield from _decide_same_feature(similarities, production, rules)
    yield from _decide_competing_change(similarities, production, rules)
    if final >= rules.related_final_min:
        yield Category.RELATED, f"final score {final:.2f}, at least {rules.related_final_min:g}"
    yield Category.NOT_RELATED, f"final score {final:.2f}, below {rules.related_final_min:g}"


def _is_routine_pair(a: Signature, b: Signature) -> bool:
    return (a.is_bot and b.is_bot) or (a.is_release and b.is_release)


def _decide_exact_match(a: Signature, b: Signature, exact: Collection[ExactKind]) -> Verdict | None:
    """Return the verdict for equal diffs: of production code if either has any, else of the whole change."""
    channel = Channel.PRODUCTION if a.prod_hash is not None or b.prod_hash is not None else None
    diff = "diff" if channel is None else "production diff"
    for variant, exception in ((HashVariant.PLAIN, ""), (HashVariant.SPACELESS, " except for white space")):
        if ExactKind(channel, variant) in exact:
            return Category.SAME_CHANGE, f"same {diff}{exception}"
    return None


def _decide_same_change(similarities: Similarities, rules: DedupeRules) -> Iterator[Verdict]:
    minhash, files = similarities["prod_minhash_sim"] or 0.0, similarities["prod_files_sim"] or 0.0
    lines = similarities["lines_sim"] or 0.0
    if (
        minhash > rules.same_change_minhash_min
        and files > rules.same_change_files_min
        and lines >= SAME_CHANGE_LINES_MIN
    ):
        yield Category.SAME_CHANGE, f"MinHash {minhash:.2f}, files {files:.2f}, literal lines {lines:.2f}"


def _decide_same_feature(similarities: Similarities, production: float, rules: DedupeRules) -> Iterator[Verdict]:
    if production < rules.same_feature_prod_min:
        return
    for name in ("tests_intent_sim", "docs_struct_sim", "prod_minhash_sim"):
        if (similarities[name] or 0.0) >= rules.same_feature_support_min:
            yield Category.SAME_FEATURE, f"production score {production:.2f}, supported by {name}"


def _decide_competing_change(similarities: Similarities, production: float, rules: DedupeRules) -> Iterator[Verdict]:
    tests = similarities["tests_intent_sim"] or 0.0
    if similarities["prod_minhash_sim"] is None:  # only code can compete
        return
    if tests >= rules.competing_tests_min and production <= rules.competing_prod_max:
        yield Category.COMPETING_IMPLEMENTATION, f"test intent {tests:.2f}, production score {production:.2f}"


# Signals of two signatures; a signal that one side lacks is None, never 0 or 1.


DOCUMENT_SIGNALS = (
    "prod_diff_exact",
    "prod_minhash_sim",
    "prod_files_sim",
    "prod_symbols_sim",
    "prod_exports_sim",
    "prod_imports_sim",
    "tests_intent_sim",
    "docs_struct_sim",
)
"""The eight signals of document 002."""

OWN_SIGNALS = (
    "lines_sim",
    "lines_contained",
    "identifiers_sim",
    "identifiers_contained",
    "context_sim",
    "files_sim",
    "size_ratio",
    "words_sim",
    "references_sim",
)
"""Our additional signals."""

SIGNALS = (*DOCUMENT_SIGNALS, *OWN_SIGNALS)


def measure_similarities(a: Signature, b: Signature) -> Similarities:
    """Return every signal of a pair; symmetric."""
    return {name: measure(a, b) for name, measure in _MEASURES.items()}


def _compare_minhashes(a: bytes | None, b: bytes | None) -> float | None:
    return None if a is None or b is None else estimate_minhash_similarity(a, b)


def _compare_bottom_sketches(a: BottomSketch, b: BottomSketch) -> float | None:
    """Return the Jaccard similarity of two sets; None if one is empty."""
    return estimate_sketch_jaccard(a, b) if a.size and b.size else None


def _measure_containment(a: BottomSketch, b: BottomSketch) -> float | None:
    """Return the share of the smaller set that is in the larger."""
    if not a.size or not b.size:
        return None
    if a.size != b.size:
        return estimate_sketch_containment(*sorted((a, b), key=lambda bottom: bottom.size))
    # Samples of equally large sets give two estimates.
    shares = [
        share for share in (estimate_sketch_containment(a, b), estimate_sketch_containment(b, a)) if share is not None
    ]
    return max(shares, default=None)


def _compare_production_hashes(a: Signature, b: Signature) -> float | None:
    return None if a.prod_hash is None or b.prod_hash is None else float(a.prod_hash == b.prod_hash)


def _compare_issue_references(a: Signature, b: Signature) -> float | None:
    return float(bool(a.references & b.references)) if a.references and b.references else None


def _compare_change_sizes(a: Signature, b: Signature) -> float | None:
    sizes = (a.added + a.removed, b.added + b.removed)
    return min(sizes) / max(sizes) if min(sizes) else None


_MEASURES: Mapping[str, Callable[[Signature, Signature], float | None]] = MappingProxyType(
    {
        "prod_diff_exact": _compare_production_hashes,
        "prod_minhash_sim": lambda a, b: _compare_minhashes(a.minhash, b.minhash),
        "prod_files_sim": lambda a, b: _compare_bottom_sketches(a.prod_files, b.prod_files),
        "prod_symbols_sim": lambda a, b: _compare_bottom_sketches(a.symbols, b.symbols),
        "prod_exports_sim": lambda a, b: _compare_bottom_sketches(a.exports, b.exports),
        "prod_imports_sim": lambda a, b: _compare_bottom_sketches(a.imports, b.imports),
        "tests_intent_sim": lambda a, b: _compare_minhashes(a.intent, b.intent),
        "docs_struct_sim": lambda a, b: _compare_minhashes(a.structure, b.structure),
        "lines_sim": lambda a, b: _compare_bottom_sketches(a.lines, b.lines),
        "lines_contained": lambda a, b: _measure_containment(a.lines, b.lines),
        "identifiers_sim": lambda a, b: _compare_bottom_sketches(a.identifiers, b.identifiers),
        "identifiers_contained": lambda a, b: _measure_containment(a.identifiers, b.identifiers),
        "context_sim": lambda a, b: _compare_bottom_sketches(a.context, b.context),
        "files_sim": lambda a, b: _compare_bottom_sketches(a.files, b.files),
        "size_ratio": _compare_change_sizes,
        "words_sim": lambda a, b: _compare_bottom_sketches(a.words, b.words),
        "references_sim": _compare_issue_references,
    }
)


# Terms by which changes are indexed and searched, and their weights: rare terms weigh most.
# Weights are integers, so that every database sums them equally.


ALWAYS = ("commit", "closing", "mention", "band", "intent")
"""Fields whose few terms are all indexed."""
NAMED = "named"
"""The field of commits that a change names: searched for, but not indexed."""
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
"""The weight of a shared term by field, beside its rarity: a commit or an issue means more than a word."""
INDEX_PATHS_MAX = 16
"""Paths indexed per change."""
INDEX_TERMS_MAX = 64
"""Rarest terms indexed per change, which keeps the index small."""
TERM_CHANGES_MAX = 2_000
"""Changes per term: more common terms are not indexed."""
QUERY_TERMS_MAX = 600
"""Terms per change whose frequency is looked up."""
QUERY_RARE_TERMS_MAX = 128
"""Rarest terms that are searched for."""
QUERY_POSTINGS_MAX = 20_000
"""Index entries read per search, so that no common term makes it slow."""
UNIT = 1_000
"""The integer for a weight of 1."""


class Search(Struct, frozen=True):
    """The terms to search for: their weights, and the number of changes with each."""

    weights: Mapping[int, int]
    counts: Mapping[int, int]


def select_index_terms(terms: Mapping[str, Sequence[int]], counts: Mapping[int, int]) -> list[int]:
    """Return the terms to index a change by; ``counts`` is the number of changes with each term."""
    always = (term for name in ALWAYS for term in terms.get(name, ()))
    paths = terms.get("path", ())[:INDEX_PATHS_MAX]
    others = (term for name, values in terms.items() if name not in (*ALWAYS, "path", NAMED) for term in values)
    # By magnitude only: similar changes must choose the same among about equally rare terms.
    rare = sorted(set(others), key=lambda term: (counts.get(term, 0).bit_length(), term))[:INDEX_TERMS_MAX]
    chosen = dict.fromkeys((*always, *paths, *rare))
    return [term for term in chosen if counts.get(term, 0) < TERM_CHANGES_MAX]


def make_term_search(terms: Mapping[str, Sequence[int]], counts: Mapping[int, int], changes: int) -> Search:
    """Return a search for the rarest indexed terms, within the limits of a search."""
    weights = {
        term: _weigh_shared_term(counts[term], changes, FIELD_WEIGHTS[name])
        for name, values in terms.items()
        for term in values
        if term in counts
    }
    known = sorted(weights, key=lambda term: (counts[term], term))
    chosen = list(_limit_term_postings(known[:QUERY_RARE_TERMS_MAX], counts))
    return Search({term: weights[term] for term in chosen}, {term: counts[term] for term in chosen})


def select_query_terms(terms: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the terms whose frequency to look up, the most important fields first."""
    return [term for values in terms.values() for term in values][:QUERY_TERMS_MAX]


def _limit_term_postings(terms: Iterable[int], counts: Mapping[int, int]) -> Iterator[int]:
    postings = 0
    for term in terms:
        postings += counts[term]
        if postings > QUERY_POSTINGS_MAX:
            return
        yield term


def _weigh_shared_term(count: int, changes: int, field_weight: float) -> int:
    """Return the weight of a shared term: its inverse frequency, logarithmic, times the weight of its field."""
    return round(UNIT * field_weight * math.log((1 + changes) / (1 + count)))
