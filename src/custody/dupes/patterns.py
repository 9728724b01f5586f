"""Which paths belong to which channel, unless a repository's own rules say otherwise.

Each list is ordered: the last pattern that fits decides, and one that begins with ``!`` takes files out again. The
channels are tried in turn, production is the rest; so what is in doubt stays production.
"""

from collections.abc import Iterable, Iterator
from types import MappingProxyType

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
