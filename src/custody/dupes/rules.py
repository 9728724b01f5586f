"""The settable numbers of duplicate search; the defaults are those of document 002 and of its page."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from custody.core.errors import RulesError
from custody.core.rules import check_keys, check_one_of, check_order, check_ranges

# Which paths belong to which channel, unless a repository's own rules say otherwise.
# Each list is ordered: the last pattern that fits decides, and one that begins with ``!`` takes files out again. The
# channels are tried in turn, production is the rest; so what is in doubt stays production.


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

# A folder named test is one of tests only where projects keep theirs: elsewhere it may be a library's own test support.
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
# What programs are set up with is a part of them, whatever word its name holds.
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


def _but(*lists: Iterable[str]) -> Iterator[str]:
    return (f"!{pattern}" for patterns in lists for pattern in patterns)


PATTERNS = MappingProxyType(
    {
        "tests": (*_TESTS, *_but(_NEWS, _SNAPSHOTS, _VENDORED)),
        "docs": (
            *_DOCS,
            *_NEWS,
            *(f"**/{name}{ending}" for name in _READ_FIRST for ending in ("", ".txt")),
            *_but(_AGENTS, _VENDORED),
        ),
        "meta": (*_META, *_but(_SETTINGS, _SNAPSHOTS, _VENDORED), *_AGENTS),
        "generated": (*_GENERATED, *_SNAPSHOTS, *_VENDORED),
    }
)
"""The defaults of ``dedupe.channel_patterns``."""


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
_ROUNDING = 1e-9
"""Weights that are meant to add up to 1 may miss it by this."""
_SHARES = (
    *("tests_score_max", "docs_score_max"),
    *("same_change_minhash_min", "same_change_files_min", "same_change_lines_min"),
    *("same_feature_prod_min", "same_feature_support_min"),
    *("competing_tests_min", "competing_prod_max", "related_final_min"),
    *("flag_low_min", "unsure_chance_min", "contain_min", "contain_growth_min"),
    *("rewrite_renames_share_max", "rewrite_minhash_min", "rewrite_paths_max"),
)
"""Rules with a value from 0 to 1."""
_COUNTS = ("evidence_terms_min", "learnt_answers_min", "rewrite_lines_max", "rewrite_files_max")
"""Rules that count and have no upper limit."""


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

    contain_min: float = 0.9
    """A change descends from another if it contains more than this share of it."""
    contain_growth_min: float = 0.1
    """And if it is larger by at least this share; document 002 leaves the number open, this one is ours."""
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

    cluster_categories: tuple[str, ...] = ("SAME_CHANGE", "SAME_FEATURE", "COMPETING_IMPLEMENTATION")
    """Which categories put two changes into one cluster."""

    def __post_init__(self) -> None:
        check_one_of("dedupe.profile", self.profile, PROFILES)
        frozen = {channel: tuple(patterns) for channel, patterns in self.channel_patterns.items()}
        object.__setattr__(self, "channel_patterns", MappingProxyType(frozen))
        object.__setattr__(self, "weights", MappingProxyType(dict(self.weights)))
        self._check_patterns()
        self._check_weights()
        check_ranges("dedupe", {name: getattr(self, name) for name in _SHARES}, least=0, most=1)
        check_ranges("dedupe", {name: getattr(self, name) for name in _COUNTS}, least=0)
        feature = ("dedupe.same_feature_prod_min", self.same_feature_prod_min)
        check_order(("dedupe.competing_prod_max", self.competing_prod_max), feature)
        check_order(("dedupe.related_final_min", self.related_final_min), feature)
        for category in self.cluster_categories:
            check_one_of("dedupe.cluster_categories", category, CLUSTERED)

    def _check_patterns(self) -> None:
        check_keys("dedupe.channel_patterns", self.channel_patterns, CHANNELS)
        for channel, patterns in self.channel_patterns.items():
            for pattern in patterns:
                if problem := _pattern_problem(pattern):
                    raise RulesError(f"dedupe.channel_patterns.{channel}", f"has a pattern that {problem}")

    def _check_weights(self) -> None:
        check_keys("dedupe.weights", self.weights, _WEIGHTS)
        check_ranges("dedupe.weights", self.weights, least=0, most=1)
        production = math.fsum(weight for name, weight in self.weights.items() if name.startswith("prod_"))
        if not 0 < production <= 1 + _ROUNDING:
            raise RulesError("dedupe.weights", f"of production add up to {production:g}, not to at most 1")


def _pattern_problem(pattern: str) -> str | None:
    if not pattern.strip():
        return "is empty"
    if len(pattern) > PATTERN_BYTES_MAX:
        return f"is longer than {PATTERN_BYTES_MAX:,} characters"
    return None if pattern.isprintable() else "holds a character that cannot be printed"
