"""The rules of duplicate search; defaults follow document 002."""

import math
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import force_setattr

from custody.core.errors import RulesError
from custody.core.rules import check_rule_choice, check_rule_keys, check_rule_order, check_rule_ranges
from custody.core.structs import hash_struct

# Default path patterns of each channel.
# The last matching pattern of a list decides; a pattern with ``!`` excludes files. Channels are tried in order, and all
# other files are production.


_VENDORED = "**/vendor/** **/vendored/** **/third_party/** **/third-party/** **/node_modules/**".split()
_SNAPSHOTS = "**/__snapshots__/** **/*.snap **/*.snap.new".split()
_NEWS = "CHANGES/** changelog.d/** **/newsfragments/** changes/**/*.md".split()
_READ_FIRST = "README CHANGELOG CHANGES NEWS HISTORY AUTHORS CONTRIBUTORS COPYING LICENSE LICENCE NOTICE".split()

_AGENTS = """
    **/.cursor/** **/.aider/** **/.aider* **/.claude/** **/.codex/** **/.gemini/** **/.agents/** **/.windsurf/**
    **/.continue/** **/.roo/** **/.cline/** **/.opencode/** **/.specstory/** **/.specify/** **/.beads/**
    **/.cursorrules **/.cursorignore **/.windsurfrules **/.clinerules **/.geminiignore
    **/CLAUDE.md **/CLAUDE.local.md **/AGENTS.md **/AGENT.md **/GEMINI.md
    .github/copilot-instructions.md .github/instructions/** .github/prompts/** .github/chatmodes/**
""".split()

# A folder ``test`` holds tests only at the usual places: elsewhere it may be a library's test support.
_TESTS = """
    **/*.test.?s **/*.test.?sx **/*.test.??s **/*.test-d.ts **/*.spec.?s **/*.spec.?sx **/*.spec.??s
    **/*.cy.?s **/*.cy.?sx **/*.e2e.?s **/*.e2e-spec.?s **/__tests__/** **/__test__/** **/__mocks__/**
    **/__fixtures__/** **/tests/** **/*-tests/** **/*_tests/** **/fixtures/** **/testdata/** **/test-data/**
    **/test_data/** **/test-utils/** **/test_utils/** **/testutil/** **/testutils/** **/e2e/** test/** spec/**
    packages/*/test/** apps/*/test/** crates/*/test/** libs/*/test/** **/src/test/** **/src/androidTest/**
    **/src/commonTest/** **/src/jvmTest/** **/src/integrationTest/**
    **/test_*.py **/*_test.py **/*_tests.py **/tests.py **/conftest.py **/*_test.go
    **/*_test.rs **/*_tests.rs **/tests.rs **/test_*.rs **/*_test.exs **/*_test.rb **/*_spec.rb
    **/*_test.cc **/*_test.cpp **/*_unittest.cc **/*_test.dart **/*Tests.java **/*Tests.kt **/*Tests.cs **/*Tests.swift
    **/*.feature **/*.bats
""".split()

_DOCS = """
    **/*.md **/*.mdx **/*.markdown **/*.rst **/*.adoc **/*.ipynb docs/** doc/** documentation/** **/docs/**/*.txt
    **/LICENSE-MIT **/LICENSE-APACHE **/INSTALL.txt
""".split()

_META = "**/*trace*.* **/*traces*.* **/*log*.* **/*.log **/*prompt*.*".split()
# Settings are part of a program, whatever their names contain.
_SETTINGS = "**/*.yml **/*.yaml **/*.toml **/*.xml **/*.ini **/*.properties **/*.schema.json **/*.svg".split()

_GENERATED = """
    **/*.lock **/*.lockb **/package-lock.json **/npm-shrinkwrap.json **/pnpm-lock.yaml **/go.sum **/go.work.sum
    **/gradle.lockfile **/packages.lock.json **/Package.resolved **/.terraform.lock.hcl
    **/*.min.js **/*.min.mjs **/*.min.css **/*.bundle.js **/*.map **/dist/** **/.next/** **/.yarn/**
    **/*.pb.go **/*.pb.gw.go **/*.pb.cc **/*.pb.h **/*.pb.rs **/*_pb2.py **/*_pb2.pyi **/*_pb2_grpc.py
    **/*_pb.js **/*_pb.ts **/*_pb.d.ts **/*_generated.go **/*.generated.* **/*.gen.go **/*.gen.ts **/zz_generated*
    **/*.g.dart **/*.freezed.dart **/*.Designer.cs **/*.g.cs **/generated/** **/__generated__/**
    **/bower_components/** **/Pods/** **/Godeps/** **/*.egg-info/** **/*.pyc **/*.class **/*.po **/*.pot **/*.mo
""".split()


def _negate_channel_patterns(*lists: Iterable[str]) -> Iterator[str]:
    return (f"!{pattern}" for patterns in lists for pattern in patterns)


PATTERNS = MappingProxyType(
    {
        "tests": (*_TESTS, *_negate_channel_patterns(_NEWS, _SNAPSHOTS, _VENDORED)),
        "docs": (
            *_DOCS,
            *_NEWS,
            *(f"**/{name}{ending}" for name in _READ_FIRST for ending in ("", ".txt")),
            *_negate_channel_patterns(_AGENTS, _VENDORED),
        ),
        "meta": (*_META, *_negate_channel_patterns(_SETTINGS, _SNAPSHOTS, _VENDORED), *_AGENTS),
        "generated": (*_GENERATED, *_SNAPSHOTS, *_VENDORED),
    }
)
"""The defaults of ``dedupe.channel_patterns``."""


PROFILES = ("fitted", "document")
CHANNELS = ("tests", "docs", "meta", "generated")
"""The channels with patterns, in the order in which they are tried; all other files are production."""
CLUSTER_CATEGORIES = ("SAME_CHANGE", "SAME_FEATURE", "COMPETING_IMPLEMENTATION", "RELATED")
"""The categories that can put changes into one cluster."""
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
_ROUNDING = 1e-9
"""Tolerance of weights that should add up to 1."""
_SHARES = (
    *("tests_score_max", "docs_score_max"),
    *("same_change_minhash_min", "same_change_files_min"),
    *("same_feature_prod_min", "same_feature_support_min"),
    *("competing_tests_min", "competing_prod_max", "related_final_min"),
    *("flag_low_min", "unsure_chance_min", "contain_min", "contain_growth_min"),
    *("rewrite_renames_share_max", "rewrite_minhash_min", "rewrite_paths_max"),
)
"""Rules with a value from 0 to 1."""
_COUNTS = ("rewrite_lines_max", "rewrite_files_max")
"""Rules that are counts without an upper limit."""


class DedupeRules(Struct, frozen=True, kw_only=True):
    """Rules for classifying, sketching, searching, comparing and clustering changes."""

    profile: Literal["fitted", "document"] = "fitted"
    """``fitted``: categories and a fitted model decide; ``document``: only the categories of document 002 decide."""

    channel_patterns: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: PATTERNS)
    """Path patterns of this channel; ``!`` excludes files; files without a channel are production."""

    main_branches: tuple[str, ...] = (
        *("main", "master", "develop", "trunk", "default", "next"),
        *("stable/**", "release/**", "releases/**", "release-*", "maint-*", "*-stable", "*-maintenance", "*.x"),
    )
    """Main branches, in addition to those named by a version; all other branches are changes."""

    normalise_whitespace: bool = True
    """Whether exact hashes ignore trailing space and line ends."""
    drop_comment_only_hunks: bool = False
    """Whether exact hashes ignore hunks that change comments only."""
    mask_numbers: bool = True
    """Whether the masked view of tokens treats all numbers as equal."""
    mask_strings: bool = True
    """Whether the masked view of tokens treats all strings as equal."""

    weights: Mapping[str, float] = field(default_factory=lambda: _WEIGHTS)
    """Weight of this similarity; the first five are in the production score, the last two in the final score."""
    tests_score_max: float = 0.2
    """Maximum that tests add to the final score."""
    docs_score_max: float = 0.1
    """Maximum that documents add to the final score."""
    same_change_minhash_min: float = 0.95
    """SAME_CHANGE needs a MinHash similarity above this."""
    same_change_files_min: float = 0.8
    """SAME_CHANGE needs a similarity of files above this."""
    same_feature_prod_min: float = 0.75
    """SAME_FEATURE needs at least this production score."""
    same_feature_support_min: float = 0.5
    """SAME_FEATURE needs at least this similarity of tests, documents or MinHash."""
    competing_tests_min: float = 0.85
    """COMPETING_IMPLEMENTATION needs at least this similarity of test intent."""
    competing_prod_max: float = 0.6
    """COMPETING_IMPLEMENTATION needs at most this production score."""
    related_final_min: float = 0.3
    """RELATED needs at least this final score."""

    flag_low_min: float = 0.94
    """Minimum lower bound of the probability to call a change a duplicate."""
    unsure_chance_min: float = 0.5
    """Minimum probability to call a change possibly related."""

    contain_min: float = 0.9
    """A change descends from another if it contains more than this share of it."""
    contain_growth_min: float = 0.1
    """A change descends from another if it is larger by at least this share."""
    rewrite_lines_max: int = 2_000
    """A change with more changed lines is compared as a rewrite."""
    rewrite_files_max: int = 50
    """A change with more files is compared as a rewrite."""
    rewrite_renames_share_max: float = 0.25
    """A change with a larger share of renamed files is compared as a rewrite."""
    rewrite_minhash_min: float = 0.2
    """Two changes with a lower code similarity are compared as rewrites if they share paths."""
    rewrite_paths_max: float = 0.6
    """Two changes share paths if the similarity of their paths is above this."""

    cluster_categories: tuple[str, ...] = ("SAME_CHANGE", "SAME_FEATURE", "COMPETING_IMPLEMENTATION")
    """Categories that put two changes into one cluster."""

    def __post_init__(self) -> None:
        check_rule_choice("dedupe.profile", self.profile, PROFILES)
        frozen = {channel: tuple(patterns) for channel, patterns in self.channel_patterns.items()}
        force_setattr(self, "channel_patterns", MappingProxyType(frozen))
        force_setattr(self, "weights", MappingProxyType(dict(self.weights)))
        self._check_patterns()
        self._check_weights()
        check_rule_ranges("dedupe", {name: getattr(self, name) for name in _SHARES}, least=0, most=1)
        check_rule_ranges("dedupe", {name: getattr(self, name) for name in _COUNTS}, least=0)
        feature = ("dedupe.same_feature_prod_min", self.same_feature_prod_min)
        check_rule_order(("dedupe.competing_prod_max", self.competing_prod_max), feature)
        check_rule_order(("dedupe.related_final_min", self.related_final_min), feature)
        for category in self.cluster_categories:
            check_rule_choice("dedupe.cluster_categories", category, CLUSTER_CATEGORIES)

    def _check_patterns(self) -> None:
        check_rule_keys("dedupe.channel_patterns", self.channel_patterns, CHANNELS)
        for channel, patterns in self.channel_patterns.items():
            for pattern in patterns:
                if problem := _find_channel_pattern_problem(pattern):
                    raise RulesError(f"dedupe.channel_patterns.{channel}", f"has a pattern that {problem}")

    def _check_weights(self) -> None:
        check_rule_keys("dedupe.weights", self.weights, _WEIGHTS)
        check_rule_ranges("dedupe.weights", self.weights, least=0, most=1)
        production = math.fsum(weight for name, weight in self.weights.items() if name.startswith("prod_"))
        if not 0 < production <= 1 + _ROUNDING:
            raise RulesError("dedupe.weights", f"of production add up to {production:g}, not to at most 1")

    def __hash__(self) -> int:
        return hash_struct(self, but=("channel_patterns", "weights"))


def _find_channel_pattern_problem(pattern: str) -> str | None:
    if not pattern.strip():
        return "is empty"
    if len(pattern) > PATTERN_BYTES_MAX:
        return f"is longer than {PATTERN_BYTES_MAX:,} characters"
    return None if pattern.isprintable() else "contains a non-printable character"
