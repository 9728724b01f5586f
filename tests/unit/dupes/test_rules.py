"""The rules of duplicate search have the numbers of document 002, and are checked."""

from typing import Any

import pytest

from custody.core.errors import RulesError
from custody.dupes.app.check import EXACT_MAX
from custody.dupes.app.search import CANDIDATES_MAX, SCORED_MAX
from custody.dupes.facts.extractor import classify_file_channel
from custody.dupes.rules import CHANNELS, DedupeRules
from custody.dupes.score import (
    INDEX_PATHS_MAX,
    INDEX_TERMS_MAX,
    QUERY_RARE_TERMS_MAX,
    QUERY_TERMS_MAX,
    TERM_CHANGES_MAX,
)
from custody.dupes.signature import INTENT_VALUES, LSH_BANDS, MINHASH_VALUES, SHINGLE_TOKENS
from tests.builders.rules import taken_though_impossible
from tests.builders.table import table

RULES = DedupeRules()


# Conformance: 002-001, 002-002, 002-003, 002-004, 002-005
@table(
    ("path", "channel"),
    [
        ("src/a.test.ts", "tests"),
        ("src/deep/a.spec.ts", "tests"),
        ("src/__tests__/a.ts", "tests"),
        ("lib/tests/a.ts", "tests"),
        ("lib/fixtures/a.json", "tests"),
        ("src/notes.md", "docs"),
        ("docs/a/b.txt", "docs"),
        (".cursor/rules.json", "meta"),
        (".aider/history", "meta"),
        ("out/agent-trace.json", "meta"),
        ("out/session.log.txt", "meta"),
        ("out/prompt.txt", "meta"),
        ("src/a.ts", "production"),
    ],
)
def test_channels_follow_section_1(path: str, channel: str) -> None:
    assert tuple(RULES.channel_patterns) == CHANNELS
    assert classify_file_channel(path, RULES.channel_patterns).value == channel


# Conformance: 002-018, 002-019
def test_signatures_follow_section_2() -> None:
    assert (SHINGLE_TOKENS, MINHASH_VALUES, LSH_BANDS) == (5, 128, 16)
    assert MINHASH_VALUES % LSH_BANDS == INTENT_VALUES % LSH_BANDS == 0
    assert (RULES.normalise_whitespace, RULES.drop_comment_only_hunks) == (True, False)
    assert (RULES.mask_numbers, RULES.mask_strings) == (True, True)


# Conformance: 002-048
def test_scores_and_categories_have_the_documented_numbers() -> None:
    assert dict(RULES.weights) == {
        "prod_minhash_sim": 0.35,
        "prod_exports_sim": 0.25,
        "prod_symbols_sim": 0.20,
        "prod_files_sim": 0.10,
        "prod_imports_sim": 0.10,
        "tests_intent_sim": 0.20,
        "docs_struct_sim": 0.10,
    }
    assert (RULES.tests_score_max, RULES.docs_score_max) == (0.20, 0.10)
    assert (RULES.same_change_minhash_min, RULES.same_change_files_min) == (0.95, 0.8)
    assert (RULES.same_feature_prod_min, RULES.same_feature_support_min) == (0.75, 0.50)
    assert (RULES.competing_tests_min, RULES.competing_prod_max) == (0.85, 0.60)
    assert RULES.related_final_min == 0.30


def test_descent_rewrites_and_search_have_the_documented_numbers() -> None:
    assert RULES.contain_min == 0.9
    assert (RULES.rewrite_lines_max, RULES.rewrite_files_max, RULES.rewrite_renames_share_max) == (2_000, 50, 0.25)
    assert (RULES.rewrite_minhash_min, RULES.rewrite_paths_max) == (0.2, 0.6)
    assert (INDEX_PATHS_MAX, INDEX_TERMS_MAX, TERM_CHANGES_MAX) == (16, 64, 2_000)
    assert (QUERY_TERMS_MAX, QUERY_RARE_TERMS_MAX) == (600, 128)
    assert (CANDIDATES_MAX, SCORED_MAX, EXACT_MAX) == (200, 48, 5)


def test_no_number_may_be_negative_infinite_or_nan() -> None:
    assert taken_though_impossible(DedupeRules) == []


@table(
    ("arguments", "problem"),
    [
        ({"profile": "other"}, "'dedupe.profile' is 'other', not one of fitted, document"),
        ({"weights": {**RULES.weights, "prod_files_sim": 0.2}}, "'dedupe.weights' of production add up to 1.1"),
        ({"weights": dict.fromkeys(RULES.weights, 0.0)}, "add up to 0, not to at most 1"),
        ({"weights": {"w1": 1.0}}, "'dedupe.weights' has no 'docs_struct_sim'"),
        ({"competing_prod_max": 0.8}, "is 0.8, above 'dedupe.same_feature_prod_min', which is 0.75"),
        ({"related_final_min": 0.8}, "is 0.8, above 'dedupe.same_feature_prod_min', which is 0.75"),
        ({"channel_patterns": {"tests": ()}}, "'dedupe.channel_patterns' has no 'docs'"),
        (
            {"channel_patterns": {**RULES.channel_patterns, "docs": (" ",)}},
            "patterns.docs' has a pattern that is empty",
        ),
        ({"channel_patterns": {**RULES.channel_patterns, "docs": ("a\n",)}}, "a non-printable character"),
        ({"channel_patterns": {**RULES.channel_patterns, "docs": ("a" * 1_001,)}}, "is longer than 1,000 characters"),
    ],
)
def test_inconsistent_rules_are_rejected(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(RulesError, match=problem):
        DedupeRules(**arguments)
