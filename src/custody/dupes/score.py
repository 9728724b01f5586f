"""The document's scores and categories, in its order, with the thresholds in force; this file alone decides them."""

from collections.abc import Collection, Iterator

from custody.dupes.category import Category
from custody.dupes.facts.model import Channel
from custody.dupes.model import ExactKind, HashVariant, PairScore, Signature, Similarities
from custody.dupes.rules import DedupeRules

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
