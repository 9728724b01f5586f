import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.dupes.facts.model import Channel
from custody.dupes.model import Category, ExactKind, HashVariant, Signature
from custody.dupes.rules import DedupeRules
from custody.dupes.score import DOCUMENT_SIGNALS, SIGNALS, measure_similarities, score_pair, score_production_code
from tests.builders.table import table

RULES = DedupeRules()
A = Signature(prod_hash=1)
MISSING: dict[str, float | None] = dict.fromkeys(SIGNALS)


def categorize(signals: dict[str, float], *exact: ExactKind) -> Category:
    return score_pair(A, A, MISSING | signals, RULES, exact).category


# Conformance: 002-039
def test_the_eight_signals_have_the_documents_names() -> None:
    assert DOCUMENT_SIGNALS == (
        *("prod_diff_exact", "prod_minhash_sim", "prod_files_sim", "prod_symbols_sim", "prod_exports_sim"),
        *("prod_imports_sim", "tests_intent_sim", "docs_struct_sim"),
    )


# Conformance: 002-042, 002-043, 002-044, 002-045, 002-046
@table(
    ("signals", "category"),
    [
        ({}, Category.NOT_RELATED),
        ({"prod_minhash_sim": 0.96, "prod_files_sim": 0.9, "lines_sim": 0.6}, Category.SAME_CHANGE),
        # Masked numbers make every version bump alike: without literal overlap it is not the same change.
        ({"prod_minhash_sim": 1.0, "prod_files_sim": 1.0, "lines_sim": 0.0}, Category.SAME_FEATURE),
        ({"prod_minhash_sim": 0.95, "prod_files_sim": 0.81, "lines_sim": 1.0}, Category.SAME_FEATURE),
        ({"prod_minhash_sim": 0.75, "prod_files_sim": 0.75}, Category.SAME_FEATURE),
        ({"prod_minhash_sim": 0.49, "prod_exports_sim": 1.0, "prod_symbols_sim": 1.0}, Category.RELATED),
        (
            {"prod_minhash_sim": 0.49, "prod_exports_sim": 1.0, "prod_symbols_sim": 1.0, "docs_struct_sim": 0.5},
            Category.SAME_FEATURE,
        ),
        ({"prod_minhash_sim": 0.1, "tests_intent_sim": 0.85}, Category.COMPETING_IMPLEMENTATION),
        ({"prod_minhash_sim": 0.61, "tests_intent_sim": 0.85}, Category.RELATED),
        # Empty is not equal: tests alone compete with nothing.
        ({"tests_intent_sim": 1.0}, Category.NOT_RELATED),
        ({"prod_minhash_sim": 0.3}, Category.RELATED),
        ({"prod_minhash_sim": 0.299}, Category.NOT_RELATED),
        ({"prod_minhash_sim": 0.15, "tests_intent_sim": 0.8}, Category.RELATED),
    ],
)
def test_the_documents_rules_decide_in_their_order(signals: dict[str, float], category: Category) -> None:
    assert categorize(signals) is category


# Conformance: 002-041
def test_tests_and_documents_are_capped() -> None:
    rules = DedupeRules(weights={**RULES.weights, "tests_intent_sim": 0.9, "docs_struct_sim": 0.9})
    score = score_pair(
        A, A, MISSING | {"tests_intent_sim": 1.0, "docs_struct_sim": 1.0, "prod_minhash_sim": 0.2}, rules
    )
    assert score.final_score == pytest.approx(0.2 + 0.2 + 0.1)


# Conformance: 002-040
def test_the_production_score_is_the_documents_weighted_sum() -> None:
    signals = {
        "prod_minhash_sim": 0.5,
        "prod_exports_sim": 0.4,
        "prod_symbols_sim": 0.3,
        "prod_files_sim": 0.2,
        "prod_imports_sim": 0.1,
    }
    assert score_production_code(MISSING | signals, RULES) == pytest.approx(
        0.35 * 0.5 + 0.25 * 0.4 + 0.2 * 0.3 + 0.1 * 0.3
    )


# Conformance: 002-013
@pytest.mark.parametrize("variant", [HashVariant.PLAIN, HashVariant.SPACELESS])
def test_the_same_production_diff_is_the_same_change(variant: HashVariant) -> None:
    assert categorize({}, ExactKind(Channel.PRODUCTION, variant)) is Category.SAME_CHANGE
    assert categorize({}, ExactKind(Channel.TESTS, variant)) is Category.NOT_RELATED


def test_without_production_the_whole_diff_decides() -> None:
    plain = ExactKind(None, HashVariant.PLAIN)
    assert score_pair(Signature(), Signature(), MISSING, RULES, (plain,)).category is Category.SAME_CHANGE
    assert score_pair(A, Signature(), MISSING, RULES, (plain,)).category is Category.NOT_RELATED


def test_bots_and_releases_match_only_exactly() -> None:
    bot = replace(A, is_bot=True)
    similar = MISSING | {"prod_minhash_sim": 0.9, "prod_files_sim": 1.0}
    assert score_pair(bot, bot, similar, RULES).category is Category.NOT_RELATED
    assert score_pair(bot, A, similar, RULES).category is Category.SAME_FEATURE
    exact = (ExactKind(Channel.PRODUCTION, HashVariant.PLAIN),)
    assert score_pair(bot, bot, similar, RULES, exact).category is Category.SAME_CHANGE


shares = st.none() | st.floats(0, 1)


@given(st.fixed_dictionaries({name: shares for name in SIGNALS}))
def test_scores_stay_between_0_and_what_caps_allow(signals: dict[str, float | None]) -> None:
    score = score_pair(A, A, signals, RULES)
    assert 0 <= score.prod_score <= 1 + 1e-9
    assert score.prod_score <= score.final_score <= score.prod_score + 0.3 + 1e-9
    assert score.rule


@given(
    st.fixed_dictionaries({name: shares for name in SIGNALS}), st.sampled_from(DOCUMENT_SIGNALS[1:6]), st.floats(0, 1)
)
def test_a_higher_production_signal_never_lowers_the_score(
    signals: dict[str, float | None], name: str, more: float
) -> None:
    if signals[name] is not None:
        raised = signals | {name: max(signals[name] or 0.0, more)}
        assert score_production_code(raised, RULES) >= score_production_code(signals, RULES) - 1e-12


def test_empty_signatures_share_nothing() -> None:
    assert set(measure_similarities(Signature(), Signature()).values()) == {None}
