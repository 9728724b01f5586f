"""The decision about a pair of changes: category, word and probability, which never contradict each other.

The rules of document 002 come first. The fitted model raises or lowers them, a relation explains the pair, and the
answer of a person binds it.
"""

from collections.abc import Collection
from types import MappingProxyType

from msgspec import Struct

from custody.dupes.model import Category, DuplicateChance, DuplicateVerdict, ExactKind, PairScore
from custody.dupes.relations import RelationReason
from custody.dupes.rules import DedupeRules

REPORTED = frozenset(DuplicateVerdict) - {DuplicateVerdict.NOTHING}
"""Verdicts that become suggestions."""
EVIDENCE_TERMS_MIN = 3
"""Minimum number of shared rare terms to suggest a change; an exact match needs none."""
IDENTICAL_CHANCE = 0.98
"""The least probability of identical content."""
DUPLICATE_CHANCE_MIN = 0.5
"""The least probability of what is called a duplicate."""
UNRELATED_CHANCE_MAX = 0.1
"""The highest probability without enough evidence, whatever the model says."""

_BY_CATEGORY = MappingProxyType(
    {
        Category.SAME_CHANGE: DuplicateVerdict.DUPLICATE,
        Category.SAME_FEATURE: DuplicateVerdict.DUPLICATE,
        Category.COMPETING_IMPLEMENTATION: DuplicateVerdict.COMPETING,
        Category.RELATED: DuplicateVerdict.UNSURE,
        Category.NOT_RELATED: DuplicateVerdict.NOTHING,
    }
)
_CLAIMS = frozenset((DuplicateVerdict.DUPLICATE, DuplicateVerdict.COMPETING))
_BY_ANSWER = MappingProxyType(
    {
        "duplicate": (DuplicateVerdict.DUPLICATE, Category.SAME_FEATURE),
        "same-feature": (DuplicateVerdict.DUPLICATE, Category.SAME_FEATURE),
        "competing": (DuplicateVerdict.COMPETING, Category.COMPETING_IMPLEMENTATION),
        "related": (DuplicateVerdict.EXPLAINED, Category.RELATED),
        "different": (DuplicateVerdict.EXPLAINED, Category.NOT_RELATED),
    }
)


class PersonAnswer(Struct, frozen=True):
    """The last answer about a pair, who gave it, and whether an earlier one disagrees."""

    answer: str
    actor: str
    at_ns: int
    is_disputed: bool = False

    @property
    def is_claim(self) -> bool:
        """Whether only one of the two changes should be merged."""
        return _BY_ANSWER[self.answer][0] in _CLAIMS


class PairEvidence(Struct, frozen=True, kw_only=True):
    """Everything that decides about a pair; ``terms`` is the number of rare terms that both share."""

    score: PairScore
    chance: DuplicateChance
    exact: Collection[ExactKind] = ()
    terms: int = 0
    relations: tuple[RelationReason, ...] = ()
    answer: PersonAnswer | None = None
    is_empty: bool = False

    @property
    def is_identical(self) -> bool:
        """Whether both have the same content."""
        return bool(self.exact) and self.score.category is Category.SAME_CHANGE and not self.is_empty


class PairDecision(Struct, frozen=True, kw_only=True):
    """The decision about a pair: one category, one word, one probability.

    ``relations`` explain the pair, ``answer`` is what a person said about it.
    """

    verdict: DuplicateVerdict
    category: Category
    rule: str
    probability: float
    low: float
    relations: tuple[RelationReason, ...] = ()
    answer: PersonAnswer | None = None

    @property
    def is_duplicate(self) -> bool:
        """Whether the two are called duplicates: the exit status follows this."""
        return self.verdict is DuplicateVerdict.DUPLICATE

    def __post_init__(self) -> None:
        if problem := _find_contradiction(self):
            raise AssertionError(problem)


def decide_pair(evidence: PairEvidence, rules: DedupeRules) -> PairDecision:
    """Decide about a pair: by its content, unless a relation explains it, unless a person has answered."""
    by_content = _decide_by_content(evidence, rules)
    if evidence.is_empty:
        return by_content
    if evidence.answer is not None:
        return _decide_by_answer(evidence, evidence.answer, by_content)
    if evidence.relations:
        return PairDecision(
            verdict=DuplicateVerdict.EXPLAINED,
            category=by_content.category,
            rule=by_content.rule,
            probability=0.0,
            low=0.0,
            relations=evidence.relations,
        )
    return by_content


def _decide_by_answer(evidence: PairEvidence, answer: PersonAnswer, by_content: PairDecision) -> PairDecision:
    verdict, category = _BY_ANSWER[answer.answer]
    is_claim = verdict in _CLAIMS
    if evidence.is_identical:
        verdict = DuplicateVerdict.DUPLICATE if is_claim else verdict
        category = Category.SAME_CHANGE
    dispute = ", an earlier answer disagrees" if answer.is_disputed else ""
    return PairDecision(
        verdict=verdict,
        category=category,
        rule=f"{answer.actor} answered '{answer.answer}'{dispute}; by content: {by_content.rule}",
        probability=float(is_claim),
        low=float(is_claim),
        relations=evidence.relations,
        answer=answer,
    )


def _decide_by_content(evidence: PairEvidence, rules: DedupeRules) -> PairDecision:
    score, chance = evidence.score, evidence.chance
    if evidence.is_empty:
        return _make_unrelated("an empty change has no duplicates", 0.0)
    if evidence.is_identical:
        return PairDecision(
            verdict=DuplicateVerdict.DUPLICATE,
            category=Category.SAME_CHANGE,
            rule=score.rule,
            probability=max(chance.probability, IDENTICAL_CHANCE),
            low=min(max(chance.low, rules.flag_low_min), max(chance.probability, IDENTICAL_CHANCE)),
        )
    if score.is_routine:
        return _make_unrelated(score.rule, 0.0)
    if evidence.terms < EVIDENCE_TERMS_MIN:
        return _make_unrelated(
            f"too little in common: {score.rule}", min(chance.probability, UNRELATED_CHANCE_MAX), chance.low
        )
    if rules.profile == "document":
        return _decide_by_document(evidence)
    return _decide_by_model(evidence, rules)


def _decide_by_document(evidence: PairEvidence) -> PairDecision:
    """Decide by the categories of the document; the probability is limited to what they allow."""
    score, chance = evidence.score, evidence.chance
    verdict = _BY_CATEGORY[score.category]
    probability = chance.probability
    if verdict in _CLAIMS:
        probability = max(probability, DUPLICATE_CHANCE_MIN)
    elif verdict is DuplicateVerdict.NOTHING:
        probability = min(probability, UNRELATED_CHANCE_MAX)
    return PairDecision(
        verdict=verdict,
        category=score.category,
        rule=score.rule,
        probability=probability,
        low=min(chance.low, probability),
    )


def _decide_by_model(evidence: PairEvidence, rules: DedupeRules) -> PairDecision:
    """Raise or lower the category of the document by the probability, and name both."""
    score, chance = evidence.score, evidence.chance
    by_rules = _BY_CATEGORY[score.category]
    low = min(chance.low, chance.probability)
    if chance.low >= rules.flag_low_min and chance.probability >= DUPLICATE_CHANCE_MIN:
        is_raised = by_rules not in _CLAIMS
        return PairDecision(
            verdict=DuplicateVerdict.DUPLICATE if is_raised else by_rules,
            category=Category.SAME_FEATURE if is_raised else score.category,
            rule=_name_change_of_category(score, f"raised by the model, at least {low:.0%}")
            if is_raised
            else score.rule,
            probability=chance.probability,
            low=low,
        )
    if by_rules in _CLAIMS or chance.probability >= rules.unsure_chance_min:
        is_changed = score.category is not Category.RELATED
        how = "lowered" if by_rules in _CLAIMS else "raised"
        return PairDecision(
            verdict=DuplicateVerdict.UNSURE,
            category=Category.RELATED,
            rule=_name_change_of_category(score, f"{how} by the model, {chance.probability:.0%}")
            if is_changed
            else score.rule,
            probability=chance.probability,
            low=low,
        )
    is_lowered = score.category is not Category.NOT_RELATED
    rule = _name_change_of_category(score, "lowered by the model") if is_lowered else score.rule
    return _make_unrelated(rule, chance.probability, low)


def _name_change_of_category(score: PairScore, how: str) -> str:
    return f"{score.category.value} by the rules ({score.rule}), {how}"


def _make_unrelated(rule: str, probability: float, low: float = 0.0) -> PairDecision:
    return PairDecision(
        verdict=DuplicateVerdict.NOTHING,
        category=Category.NOT_RELATED,
        rule=rule,
        probability=probability,
        low=min(low, probability),
    )


def _find_contradiction(decision: PairDecision) -> str | None:
    """Return how word, category and probability of a decision contradict each other; None if they agree."""
    if not 0 <= decision.low <= decision.probability <= 1:
        return "the lower bound is above the probability"
    if decision.verdict is DuplicateVerdict.EXPLAINED:
        return "an explained pair is likely a duplicate" if decision.probability else None
    if decision.relations and decision.answer is None:
        return "a pair with a relation is not explained"
    if _BY_CATEGORY[decision.category] is not decision.verdict:
        return f"{decision.verdict.value} and {decision.category.value}"
    if decision.verdict in _CLAIMS and decision.probability < DUPLICATE_CHANCE_MIN:
        return "an improbable duplicate"
    return None
