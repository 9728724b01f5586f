"""Similarity, scores, categories and verdicts of pairs, and the terms of a search; only this file decides them."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from custody.dupes.facts.model import Channel
from custody.dupes.model import (
    Category,
    DuplicateChance,
    DuplicateVerdict,
    ExactKind,
    HashVariant,
    PairScore,
    Signature,
    Similarities,
)
from custody.dupes.rules import DedupeRules
from custody.sketch.hashing import BottomSketch, containment, jaccard
from custody.sketch.minhash import minhash_similarity

Verdict = tuple[Category, str]
"""A category, and the rule that decided."""

_PRODUCTION = ("prod_minhash_sim", "prod_exports_sim", "prod_symbols_sim", "prod_files_sim", "prod_imports_sim")


def score_pair(
    a: Signature, b: Signature, similarities: Similarities, rules: DedupeRules, exact: Collection[ExactKind] = ()
) -> PairScore:
    """What the rules make of a pair; ``exact`` are the kinds of exact hashes that both have alike."""
    production = prod_score(similarities, rules)
    final = (
        production
        + min(_weighted("tests_intent_sim", similarities, rules), rules.tests_score_max)
        + min(_weighted("docs_struct_sim", similarities, rules), rules.docs_score_max)
    )
    decided = _exactly(a, b, exact) or next(_deciding(a, b, similarities, production, final, rules))
    category, rule = decided
    return PairScore(similarities, production, final, category, rule)


def prod_score(similarities: Similarities, rules: DedupeRules) -> float:
    """How alike the production code is, from 0 to 1.

    What is missing on a side is left out of the sum and of the weights; without changed lines of code on both sides
    there is no production to speak of.
    """
    if similarities["prod_minhash_sim"] is None:
        return 0.0
    present = [(rules.weights[name], value) for name in _PRODUCTION if (value := similarities[name]) is not None]
    whole = sum(rules.weights[name] for name in _PRODUCTION)
    weights = sum(weight for weight, _ in present)
    return whole * sum(weight * value for weight, value in present) / weights if weights else 0.0


def _weighted(name: str, similarities: Similarities, rules: DedupeRules) -> float:
    return rules.weights[name] * (similarities[name] or 0.0)


def _deciding(
    a: Signature, b: Signature, similarities: Similarities, production: float, final: float, rules: DedupeRules
) -> Iterator[Verdict]:
    """The rules in the document's order; the first one that holds decides."""
    yield from _same_change(similarities, rules)
    if (a.is_bot and b.is_bot) or (a.is_release and b.is_release):
        yield Category.NOT_RELATED, "routine work of machines and releases is alike without being the same"
    yield from _same_feature(similarities, production, rules)
    yield from _competing(similarities, production, rules)
    if final >= rules.related_final_min:
        yield Category.RELATED, f"final score {final:.3f} from {rules.related_final_min:g} on"
    yield Category.NOT_RELATED, f"final score {final:.3f} below {rules.related_final_min:g}"


def _exactly(a: Signature, b: Signature, exact: Collection[ExactKind]) -> Verdict | None:
    """That the diffs are the same; production decides where either has any, else the whole change does."""
    channel = Channel.PRODUCTION if a.prod_hash is not None or b.prod_hash is not None else None
    what = "diff" if channel is None else "production diff"
    for likeness, how in ((HashVariant.PLAIN, ""), (HashVariant.SPACELESS, " but for white space")):
        if ExactKind(channel, likeness) in exact:
            return Category.SAME_CHANGE, f"the same {what}{how}"
    return None


def _same_change(similarities: Similarities, rules: DedupeRules) -> Iterator[Verdict]:
    minhash, files = similarities["prod_minhash_sim"] or 0.0, similarities["prod_files_sim"] or 0.0
    lines = similarities["lines_sim"] or 0.0
    if (
        minhash > rules.same_change_minhash_min
        and files > rules.same_change_files_min
        and lines >= rules.same_change_lines_min
    ):
        yield Category.SAME_CHANGE, f"MinHash {minhash:.3f}, files {files:.3f}, literal lines {lines:.3f}"


def _same_feature(similarities: Similarities, production: float, rules: DedupeRules) -> Iterator[Verdict]:
    if production < rules.same_feature_prod_min:
        return
    for name in ("tests_intent_sim", "docs_struct_sim", "prod_minhash_sim"):
        if (similarities[name] or 0.0) >= rules.same_feature_support_min:
            yield Category.SAME_FEATURE, f"production score {production:.3f}, supported by {name}"


def _competing(similarities: Similarities, production: float, rules: DedupeRules) -> Iterator[Verdict]:
    tests = similarities["tests_intent_sim"] or 0.0
    if similarities["prod_minhash_sim"] is None:  # without code on both sides nothing competes
        return
    if tests >= rules.competing_tests_min and production <= rules.competing_prod_max:
        yield Category.COMPETING_IMPLEMENTATION, f"test intent {tests:.3f}, production score {production:.3f}"


# What two signatures have in common, signal by signal; a signal that one side cannot give is missing, never 0 or 1.


DOCUMENTS = (
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

OURS = (
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
"""Those that we add."""

SIGNALS = (*DOCUMENTS, *OURS)


def similarities(a: Signature, b: Signature) -> Similarities:
    """Every signal of a pair; the same whichever is asked first."""
    return {name: measure(a, b) for name, measure in _MEASURES.items()}


def _minhash(a: bytes | None, b: bytes | None) -> float | None:
    return None if a is None or b is None else minhash_similarity(a, b)


def _set(a: BottomSketch, b: BottomSketch) -> float | None:
    """How alike two sets are; that one is empty says nothing about the other."""
    return jaccard(a, b) if a.size and b.size else None


def _contained(a: BottomSketch, b: BottomSketch) -> float | None:
    """How much of the smaller set is in the larger one."""
    if not a.size or not b.size:
        return None
    if a.size != b.size:
        return containment(*sorted((a, b), key=lambda bottom: bottom.size))
    # Of two samples of equal sets, each has its own idea of the share.
    shares = [share for share in (containment(a, b), containment(b, a)) if share is not None]
    return max(shares, default=None)


def _exact(a: Signature, b: Signature) -> float | None:
    return None if a.prod_hash is None or b.prod_hash is None else float(a.prod_hash == b.prod_hash)


def _references(a: Signature, b: Signature) -> float | None:
    return float(bool(a.references & b.references)) if a.references and b.references else None


def _size_ratio(a: Signature, b: Signature) -> float | None:
    sizes = (a.added + a.removed, b.added + b.removed)
    return min(sizes) / max(sizes) if min(sizes) else None


_MEASURES: Mapping[str, Callable[[Signature, Signature], float | None]] = MappingProxyType(
    {
        "prod_diff_exact": _exact,
        "prod_minhash_sim": lambda a, b: _minhash(a.minhash, b.minhash),
        "prod_files_sim": lambda a, b: _set(a.prod_files, b.prod_files),
        "prod_symbols_sim": lambda a, b: _set(a.symbols, b.symbols),
        "prod_exports_sim": lambda a, b: _set(a.exports, b.exports),
        "prod_imports_sim": lambda a, b: _set(a.imports, b.imports),
        "tests_intent_sim": lambda a, b: _minhash(a.intent, b.intent),
        "docs_struct_sim": lambda a, b: _minhash(a.structure, b.structure),
        "lines_sim": lambda a, b: _set(a.lines, b.lines),
        "lines_contained": lambda a, b: _contained(a.lines, b.lines),
        "identifiers_sim": lambda a, b: _set(a.identifiers, b.identifiers),
        "identifiers_contained": lambda a, b: _contained(a.identifiers, b.identifiers),
        "context_sim": lambda a, b: _set(a.context, b.context),
        "files_sim": lambda a, b: _set(a.files, b.files),
        "size_ratio": _size_ratio,
        "words_sim": lambda a, b: _set(a.words, b.words),
        "references_sim": _references,
    }
)


# What is said aloud about a pair: a duplicate, likely one, related but not sure, or nothing. Advice, never more.


ALOUD = frozenset((DuplicateVerdict.DUPLICATE, DuplicateVerdict.COMPETING, DuplicateVerdict.UNSURE))

_BY_CATEGORY = {
    Category.SAME_CHANGE: DuplicateVerdict.DUPLICATE,
    Category.SAME_FEATURE: DuplicateVerdict.DUPLICATE,
    Category.COMPETING_IMPLEMENTATION: DuplicateVerdict.COMPETING,
    Category.RELATED: DuplicateVerdict.UNSURE,
    Category.NOT_RELATED: DuplicateVerdict.NOTHING,
}


def verdict(
    scored: PairScore, chance: DuplicateChance, exact: Collection[ExactKind], terms: int, rules: DedupeRules
) -> DuplicateVerdict:
    """The category's word; with the fitted model on top it is raised or lowered to what the chance bears out.

    ``terms`` is how many rare terms both have: with too few of them nothing is said aloud but an exact match.
    """
    word = _BY_CATEGORY[scored.category]
    if exact and scored.category is Category.SAME_CHANGE:
        return word
    if terms < rules.evidence_terms_min:
        return DuplicateVerdict.NOTHING
    if rules.profile == "document":
        return word
    if chance.low >= rules.flag_low_min:
        return DuplicateVerdict.COMPETING if word is DuplicateVerdict.COMPETING else DuplicateVerdict.DUPLICATE
    if (
        word in (DuplicateVerdict.DUPLICATE, DuplicateVerdict.COMPETING)
        or chance.probability >= rules.unsure_chance_min
    ):
        return DuplicateVerdict.UNSURE
    return DuplicateVerdict.NOTHING


# Which terms a change is kept under and searched by, and what shared ones weigh: the rarest say the most.
# Weights are whole numbers, so that every database sums them alike.


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
