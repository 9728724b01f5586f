"""Every number of duplicate search; the defaults are those of document 002 and of its page."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from custody.core.errors import RulesError
from custody.core.rules import check_keys, check_one_of, check_order, check_range, check_ranges
from custody.dupes.patterns import PATTERNS

PROFILES = ("fitted", "document")
CHANNELS = ("tests", "docs", "meta", "generated")
"""The channels that patterns name, in the order in which they are tried; production is the rest."""
CLUSTERED = ("SAME_CHANGE", "SAME_FEATURE", "COMPETING_IMPLEMENTATION", "RELATED")
"""The categories by which changes can be put together."""
PATTERN_BYTES_MAX = 1_000

_WEIGHTS = MappingProxyType(
    {
        "prod_minhash_sim": 0.35,
        "prod_exports_sim": 0.25,
        "prod_symbols_sim": 0.2,
        "prod_files_sim": 0.1,
        "prod_imports_sim": 0.1,
        "tests_intent_sim": 0.2,
        "docs_struct_sim": 0.1,
    }
)
_FIELDS_MAX = MappingProxyType(
    {
        "commit": 16,
        "named": 16,
        "closing": 8,
        "mention": 8,
        "path": 32,
        "band": 16,
        "intent": 16,
        "symbol": 64,
        "test": 64,
        "folder": 8,
        "line": 160,
        "identifier": 160,
        "word": 48,
    }
)
_FIELD_WEIGHTS = MappingProxyType(
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
_ROUNDING = 1e-9
"""Weights that are meant to add up to 1 may miss it by this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupeRules:
    """How changes are split, sketched, found again, compared and put into categories."""

    profile: Literal["fitted", "document"] = "fitted"
    """``fitted``: a fitted model speaks beside the categories; ``document``: the categories of document 002 alone."""

    channel_patterns: Mapping[str, tuple[str, ...]] = field(hash=False, default_factory=lambda: PATTERNS)
    """Which paths are of this channel; channels are tried in turn, production is the rest; ``!`` takes files out."""

    main_branches: tuple[str, ...] = (
        *("main", "master", "develop", "trunk", "default", "next"),
        *("stable/**", "release/**", "releases/**", "release-*", "maint-*", "*-stable", "*-maintenance", "*.x"),
    )
    """Branches that changes land on, beside those that are named by a version; all others are changes themselves."""

    normalise_whitespace: bool = True
    """Whether trailing space and line ends are left out of a change's exact hash."""
    drop_comment_only_hunks: bool = False
    """Whether hunks that change comments only are left out of a change's exact hash."""
    mask_numbers: bool = True
    """Whether numbers are alike in the masked view of tokens; the literal view keeps them."""
    mask_strings: bool = True
    """Whether strings are alike in the masked view of tokens; the literal view keeps them."""
    shingle_tokens: int = 5
    """How many tokens make a shingle."""
    minhash_values: int = 128
    """How many values a MinHash signature has."""
    intent_values: int = 64
    """How many values the signatures of tests and of documents have; ``lsh_bands`` divides it too."""
    lsh_bands: int = 16
    """Into how many bands a signature is cut for look-ups; it divides ``minhash_values``."""
    doc_block_tokens_max: int = 16
    """How many tokens of a code block in a document count; document 002 leaves the number open, this one is ours."""

    line_chars_min: int = 6
    """A changed line with fewer characters says too little to be compared: a bracket is everywhere."""
    kept_lines: int = 32
    """How many changed lines a signature keeps; of more, a sample that is the same for the same lines."""
    kept_identifiers: int = 48
    """How many identifiers a signature keeps."""
    kept_names: int = 16
    """How many files, symbols, exports, imports and words a signature keeps, of each."""

    field_terms_max: Mapping[str, int] = field(hash=False, default_factory=lambda: _FIELDS_MAX)
    """How many terms of this field a change may have."""
    field_weights: Mapping[str, float] = field(hash=False, default_factory=lambda: _FIELD_WEIGHTS)
    """What a shared term of this field weighs in a search, beside how rare it is."""
    index_paths_max: int = 16
    """How many paths of a change are indexed."""
    index_terms_max: int = 64
    """How many of a change's rarest terms are indexed."""
    term_changes_max: int = 2_000
    """A term of more changes than this is too common to be indexed further."""
    query_postings_max: int = 20_000
    """How many entries of the index one search may read, the rarest terms first: no hot file can blow it up."""
    query_terms_max: int = 600
    """How many terms of a change are looked at for how rare they are."""
    query_rare_terms_max: int = 128
    """How many of these, the rarest, are searched for."""
    candidates_max: int = 200
    """How many candidates a search keeps."""
    scored_max: int = 48
    """How many of the candidates are scored, the best first."""
    exact_max: int = 5
    """How many of the scored are compared exactly, from git, for evidence."""

    weights: Mapping[str, float] = field(hash=False, default_factory=lambda: _WEIGHTS)
    """What this similarity weighs: the first five in the production score, the last two in the final score."""
    tests_score_max: float = 0.2
    """The most that tests add to the final score."""
    docs_score_max: float = 0.1
    """The most that documents add to the final score."""
    same_change_minhash_min: float = 0.95
    """A change is the same if its MinHash similarity is above this, with literal overlap."""
    same_change_files_min: float = 0.8
    """And if its similarity of files is above this."""
    same_change_lines_min: float = 0.5
    """And if at least this share of its changed lines is literally the same: masked numbers make all bumps alike."""
    same_feature_prod_min: float = 0.75
    """A change is the same feature from this production score on."""
    same_feature_support_min: float = 0.5
    """And if tests, documents or MinHash support it with at least this."""
    competing_tests_min: float = 0.85
    """A change competes from this similarity of test intent on."""
    competing_prod_max: float = 0.6
    """And if its production score is at most this."""
    related_final_min: float = 0.3
    """A change is related from this final score on."""

    flag_low_min: float = 0.94
    """A change is called a duplicate if the lower bound of its chance is at least this; below, custody is not sure."""
    unsure_chance_min: float = 0.5
    """From this chance on it is told as related, not sure."""
    evidence_terms_min: int = 3
    """So many rare terms, lines or names must be shared before anything is said aloud; an exact match needs none."""
    learnt_answers_min: int = 20
    """From so many answers of people on, the chances of a repository are calibrated by them."""

    cluster_term_changes_max: int = 12
    """Terms of more changes do not bring two of them together when clusters are made."""
    cluster_terms_min: int = 3
    """Two changes are compared for clusters when they share so many such terms, or a whole diff."""
    contain_min: float = 0.9
    """A change descends from another if it contains more than this share of it."""
    part_lines_min: int = 5
    """A change with fewer telling lines is not called a part of another: two imports are in many changes."""
    contain_growth_min: float = 0.1
    """And if it is larger by at least this share; document 002 leaves the number open, this one is ours."""
    contain_symbols_min: int = 3
    """Changes are compared by the names that they change only if each has at least this many."""
    rewrite_lines_max: int = 2_000
    """A change of more lines is compared as a rewrite."""
    rewrite_files_max: int = 50
    """A change of more files is compared as a rewrite."""
    rewrite_renames_share_max: float = 0.25
    """A change of which a larger share is renames is compared as a rewrite."""
    rewrite_minhash_min: float = 0.2
    """Two changes with a lower MinHash similarity are compared as rewrites if they share paths."""
    rewrite_paths_max: float = 0.6
    """And they share paths if their overlap is above this."""
    winnow_tokens: int = 10
    """How many tokens make a fingerprint of a rewrite: a line or two; a shorter run in common never shows."""
    winnow_window: int = 6
    """Of so many runs in a row one is kept: ``winnow_tokens + winnow_window - 1`` tokens in common always show."""

    cluster_categories: tuple[str, ...] = ("SAME_CHANGE", "SAME_FEATURE", "COMPETING_IMPLEMENTATION")
    """Which categories put two changes into one cluster."""
    cluster_links_share_min: float = 0.5
    """A change that is not linked to its cluster's centre is linked to at least this share of the rest."""

    def __post_init__(self) -> None:
        check_one_of("dedupe.profile", self.profile, PROFILES)
        frozen = {channel: tuple(patterns) for channel, patterns in self.channel_patterns.items()}
        object.__setattr__(self, "channel_patterns", MappingProxyType(frozen))
        for name in ("weights", "field_terms_max", "field_weights"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        self._check_patterns()
        self._check_signatures()
        self._check_search()
        self._check_scores()
        self._check_categories()
        self._check_descent()
        self._check_clusters()

    def _check_patterns(self) -> None:
        check_keys("dedupe.channel_patterns", self.channel_patterns, CHANNELS)
        for channel, patterns in self.channel_patterns.items():
            for pattern in patterns:
                if problem := _pattern_problem(pattern):
                    raise RulesError(f"dedupe.channel_patterns.{channel}", f"has a pattern that {problem}")

    def _check_signatures(self) -> None:
        sizes = {
            "shingle_tokens": self.shingle_tokens,
            "minhash_values": self.minhash_values,
            "intent_values": self.intent_values,
            "lsh_bands": self.lsh_bands,
            "doc_block_tokens_max": self.doc_block_tokens_max,
        }
        kept = {
            "kept_lines": self.kept_lines,
            "kept_identifiers": self.kept_identifiers,
            "kept_names": self.kept_names,
            "line_chars_min": self.line_chars_min,
        }
        check_ranges("dedupe", sizes | kept, least=1)
        for name in ("minhash_values", "intent_values"):
            if sizes[name] % self.lsh_bands:
                problem = f"is {self.lsh_bands}, which does not divide 'dedupe.{name}', {sizes[name]}"
                raise RulesError("dedupe.lsh_bands", problem)

    def _check_search(self) -> None:
        terms = {"query_rare_terms_max": self.query_rare_terms_max, "query_terms_max": self.query_terms_max}
        kept = {"exact_max": self.exact_max, "scored_max": self.scored_max, "candidates_max": self.candidates_max}
        indexed = {
            "index_paths_max": self.index_paths_max,
            "index_terms_max": self.index_terms_max,
            "term_changes_max": self.term_changes_max,
            "query_postings_max": self.query_postings_max,
        }
        check_keys("dedupe.field_terms_max", self.field_terms_max, _FIELDS_MAX)
        check_ranges("dedupe.field_terms_max", self.field_terms_max, least=0)
        check_keys("dedupe.field_weights", self.field_weights, _FIELD_WEIGHTS)
        check_ranges("dedupe.field_weights", self.field_weights, least=0)
        check_ranges("dedupe", {**terms, **kept, **indexed}, least=1)
        for chain in (terms, kept):
            check_order(*((f"dedupe.{name}", value) for name, value in chain.items()))

    def _check_scores(self) -> None:
        check_keys("dedupe.weights", self.weights, _WEIGHTS)
        check_ranges("dedupe.weights", self.weights, least=0, most=1)
        production = math.fsum(weight for name, weight in self.weights.items() if name.startswith("prod_"))
        if not 0 < production <= 1 + _ROUNDING:
            raise RulesError("dedupe.weights", f"of production add up to {production:g}, not to at most 1")
        check_ranges(
            "dedupe", {"tests_score_max": self.tests_score_max, "docs_score_max": self.docs_score_max}, least=0, most=1
        )

    def _check_categories(self) -> None:
        feature = ("dedupe.same_feature_prod_min", self.same_feature_prod_min)
        competing = ("dedupe.competing_prod_max", self.competing_prod_max)
        others = {
            "same_change_minhash_min": self.same_change_minhash_min,
            "same_change_files_min": self.same_change_files_min,
            "same_change_lines_min": self.same_change_lines_min,
            "same_feature_support_min": self.same_feature_support_min,
            "competing_tests_min": self.competing_tests_min,
            "related_final_min": self.related_final_min,
            "flag_low_min": self.flag_low_min,
            "unsure_chance_min": self.unsure_chance_min,
        }
        check_ranges("dedupe", others, least=0, most=1)
        floors = {"evidence_terms_min": self.evidence_terms_min, "learnt_answers_min": self.learnt_answers_min}
        check_ranges("dedupe", floors, least=0)
        for rule, score in (feature, competing):
            check_range(rule, score, least=0, most=1)
        check_order(competing, feature)
        check_order(("dedupe.related_final_min", self.related_final_min), feature)

    def _check_descent(self) -> None:
        shares = {
            "contain_min": self.contain_min,
            "contain_growth_min": self.contain_growth_min,
            "rewrite_renames_share_max": self.rewrite_renames_share_max,
            "rewrite_minhash_min": self.rewrite_minhash_min,
            "rewrite_paths_max": self.rewrite_paths_max,
        }
        check_ranges("dedupe", shares, least=0, most=1)
        pairing = {
            "cluster_term_changes_max": self.cluster_term_changes_max,
            "cluster_terms_min": self.cluster_terms_min,
        }
        check_ranges("dedupe", pairing, least=1)
        check_range("dedupe.part_lines_min", self.part_lines_min, least=1)
        limits = {"rewrite_lines_max": self.rewrite_lines_max, "rewrite_files_max": self.rewrite_files_max}
        check_ranges("dedupe", limits, least=0)
        sizes = {
            "winnow_tokens": self.winnow_tokens,
            "winnow_window": self.winnow_window,
            "contain_symbols_min": self.contain_symbols_min,
        }
        check_ranges("dedupe", sizes, least=1)

    def _check_clusters(self) -> None:
        for category in self.cluster_categories:
            check_one_of("dedupe.cluster_categories", category, CLUSTERED)
        check_range("dedupe.cluster_links_share_min", self.cluster_links_share_min, above=0, most=1)


def _pattern_problem(pattern: str) -> str | None:
    if not pattern.strip():
        return "is empty"
    if len(pattern) > PATTERN_BYTES_MAX:
        return f"is longer than {PATTERN_BYTES_MAX:,} characters"
    return None if pattern.isprintable() else "holds a character that cannot be printed"
