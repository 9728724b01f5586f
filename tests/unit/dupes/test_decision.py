"""One decision per pair: category, word and probability agree, whatever is known."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.dupes.decision import PairDecision, PairEvidence, PersonAnswer, decide_pair
from custody.dupes.facts.model import Channel
from custody.dupes.model import (
    Category,
    DuplicateChance,
    DuplicateVerdict,
    ExactKind,
    HashVariant,
    PairScore,
    Relation,
    Signature,
)
from custody.dupes.rules import PROFILES, DedupeRules
from custody.dupes.score import SIGNALS, score_pair
from custody.dupes.wire import ANSWERS, DUPLICATE_ANSWERS

RULES = DedupeRules()
PLAIN = ExactKind(Channel.PRODUCTION, HashVariant.PLAIN)
CLAIMS = (DuplicateVerdict.DUPLICATE, DuplicateVerdict.COMPETING)
BACKPORT = ((Relation.BACKPORT_OF, "the same change for main"),)


def a_score(category: Category, *, is_routine: bool = False) -> PairScore:
    return PairScore(dict.fromkeys(SIGNALS), 0.5, 0.5, category, "a rule", is_routine)


def decide(category: Category, probability: float, low: float = 0.0, **more: object) -> PairDecision:
    chance = DuplicateChance(probability, low, ())
    return decide_pair(replace(PairEvidence(score=a_score(category), chance=chance, terms=9), **more), RULES)


def test_the_model_raises_and_lowers_the_category_and_says_so() -> None:
    raised = decide(Category.NOT_RELATED, 0.99, 0.95)
    assert (raised.verdict, raised.category) == (DuplicateVerdict.DUPLICATE, Category.SAME_FEATURE)
    assert raised.rule == "NOT_RELATED by the rules (a rule), raised by the model, at least 95%"
    lowered = decide(Category.SAME_FEATURE, 0.6, 0.5)
    assert (lowered.verdict, lowered.category) == (DuplicateVerdict.UNSURE, Category.RELATED)
    assert lowered.rule == "SAME_FEATURE by the rules (a rule), lowered by the model, 60%"
    assert decide(Category.RELATED, 0.2).category is Category.NOT_RELATED


def test_identical_content_is_the_same_change_and_a_relation_explains_it() -> None:
    identical = decide(Category.SAME_CHANGE, 0.1, exact=(PLAIN,), terms=0)
    assert (identical.category, identical.is_duplicate, identical.probability) == (Category.SAME_CHANGE, True, 0.98)
    explained = decide(Category.SAME_CHANGE, 0.99, 0.95, exact=(PLAIN,), relations=BACKPORT)
    assert (explained.category, explained.is_duplicate, explained.probability) == (Category.SAME_CHANGE, False, 0.0)
    assert explained.verdict is DuplicateVerdict.EXPLAINED


def test_an_empty_change_has_no_duplicate() -> None:
    empty = decide(Category.SAME_CHANGE, 0.99, 0.99, exact=(PLAIN,), is_empty=True, relations=BACKPORT)
    assert (empty.verdict, empty.probability) == (DuplicateVerdict.NOTHING, 0.0)


def test_routine_changes_are_never_duplicates_whatever_the_model_says() -> None:
    evidence = PairEvidence(
        score=a_score(Category.NOT_RELATED, is_routine=True), chance=DuplicateChance(0.99, 0.99, ()), terms=9
    )
    assert decide_pair(evidence, RULES).verdict is DuplicateVerdict.NOTHING


def test_the_answer_of_a_person_binds_its_pair() -> None:
    duplicate = decide(Category.NOT_RELATED, 0.01, answer=PersonAnswer("duplicate", "ana", 1), relations=BACKPORT)
    assert (duplicate.is_duplicate, duplicate.probability) == (True, 1.0)
    assert duplicate.rule.startswith("ana answered 'duplicate'; by content:")
    different = decide(Category.SAME_CHANGE, 0.99, exact=(PLAIN,), answer=PersonAnswer("different", "ben", 1, True))
    assert (different.verdict, different.category) == (DuplicateVerdict.EXPLAINED, Category.SAME_CHANGE)
    assert "an earlier answer disagrees" in different.rule


shares = st.floats(0, 1)
signals = st.fixed_dictionaries({name: st.none() | shares for name in SIGNALS})
signatures = st.builds(Signature, prod_hash=st.none() | st.just(1), is_bot=st.booleans(), is_release=st.booleans())
kinds = st.frozensets(st.builds(ExactKind, st.sampled_from([None, Channel.PRODUCTION]), st.sampled_from(HashVariant)))
answers = st.none() | st.builds(PersonAnswer, st.sampled_from(ANSWERS), st.just("ana"), st.just(1), st.booleans())


@st.composite
def evidences(draw: st.DrawFn) -> tuple[PairEvidence, DedupeRules]:
    """Return any evidence about a pair, with any profile and thresholds."""
    rules = DedupeRules(
        profile=draw(st.sampled_from(PROFILES)), flag_low_min=draw(shares), unsure_chance_min=draw(shares)
    )
    exact = draw(kinds)
    evidence = PairEvidence(
        score=score_pair(draw(signatures), draw(signatures), draw(signals), rules, exact),
        chance=DuplicateChance(draw(shares), draw(shares), ()),
        exact=exact,
        terms=draw(st.integers(0, 6)),
        relations=draw(st.sampled_from([(), BACKPORT])),
        answer=draw(answers),
        is_empty=draw(st.booleans()),
    )
    return evidence, rules


@given(evidences())
def test_word_category_and_probability_never_contradict_each_other(drawn: tuple[PairEvidence, DedupeRules]) -> None:
    evidence, rules = drawn
    decision = decide_pair(evidence, rules)
    if decision.is_duplicate:
        assert decision.category in (Category.SAME_CHANGE, Category.SAME_FEATURE)
        assert decision.probability >= 0.5
        assert evidence.answer is not None or not evidence.relations
    if decision.verdict is DuplicateVerdict.COMPETING:
        assert decision.category is Category.COMPETING_IMPLEMENTATION
    if decision.verdict is DuplicateVerdict.UNSURE:
        assert decision.category is Category.RELATED
    if decision.verdict is DuplicateVerdict.NOTHING:
        assert decision.category is Category.NOT_RELATED
    if decision.verdict is DuplicateVerdict.EXPLAINED:
        assert decision.probability == 0.0
    assert 0 <= decision.low <= decision.probability <= 1


@given(evidences())
def test_identical_content_is_always_the_same_change(drawn: tuple[PairEvidence, DedupeRules]) -> None:
    evidence, rules = drawn
    if evidence.is_identical:
        assert decide_pair(evidence, rules).category is Category.SAME_CHANGE


@given(evidences())
def test_an_answer_decides_about_anything_but_an_empty_change(drawn: tuple[PairEvidence, DedupeRules]) -> None:
    evidence, rules = drawn
    if evidence.answer is not None and not evidence.is_empty:
        decision = decide_pair(evidence, rules)
        assert (decision.verdict in CLAIMS) == (evidence.answer.answer in DUPLICATE_ANSWERS)
