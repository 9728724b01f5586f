"""The channel of a file, by path and by syntax."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core import paths as globs
from custody.dupes.facts.extractor import (
    classify_file_channel,
    extract_file_facts,
    is_generated_file,
    is_source_file,
    refine_channel,
)
from custody.dupes.facts.model import Channel, Facts
from custody.dupes.rules import DedupeRules
from tests.builders.table import table

RULES = DedupeRules().channel_patterns
DOCUMENT = {
    "tests": ["**/*.test.ts", "**/*.spec.ts", "**/__tests__/**", "**/tests/**", "**/fixtures/**"],
    "docs": ["**/*.md", "docs/**"],
    "meta": [".cursor/**", ".aider/**", "**/*trace*.*", "**/*log*.*", "**/*prompt*.*"],
    "generated": [],
}
"""The patterns of document 002."""

PATHS = {
    Channel.PRODUCTION: """
        src/login.ts stacktrace.py planner.go src/catalog.js blog/models.py prompt.ts src/Prompt.tsx log.rs trace.java
        main.py src/latest/a.ts lib/latest.java src/contest.go Makefile setup.cfg pyproject.toml
        .github/workflows/log-issues.yml
        django/test/client.py django/middleware/security.py cmd/install.go src/history.rs src/changelog.ts
        internal/distance/a.go src/builder.py docs.py src/vendors.ts api/schema/user-prompt.schema.json src/attest.py
        app/blog.json config/catalog.json .cursor/hook.ts src/testing.py data.txt requirements.txt log4j.xml logback.xml
    """,
    Channel.TESTS: """
        a.test.ts src/a.spec.tsx src/a.test.mjs src/__tests__/a.js tests/a.py pkg/tests/helper.rs test/a.js
        packages/x/test/a.ts test_a.py pkg/a_test.py conftest.py a/b/conftest.py pkg/a_test.go src/test/java/A.java
        crates/x/tests/a.rs src/parser_tests.rs src/tests.rs spec/models/a_spec.rb e2e/login.ts web/e2e/a.cy.ts
        tests/fixtures/session.log testdata/a.json js_tests/admin/a.js integration-tests/a.ts tests/README.md
        src/test-utils/render.tsx app/src/androidTest/A.kt
    """,
    Channel.DOCS: """
        README.md README CHANGELOG.md docs/conf.py docs/topics/http.txt CHANGES/6193.feature CHANGES.rst
        CHANGES/1.bugfix.rst LICENSE AUTHORS a.rst guide.adoc prompt.md src/log.md newsfragments/12.feature.rst
        NEWS.txt pkg/README.md changes/dupes.added.md
    """,
    Channel.META: """
        agent-trace.json session.log logs/run.log trace-2024.txt agentTrace.json system-prompt.txt .cursor/rules/a.mdc
        .aider.chat.history.md .claude/settings.json .claude/commands/fix.md CLAUDE.md AGENTS.md pkg/AGENTS.md GEMINI.md
        .github/copilot-instructions.md .cursorrules conversation_log.json .codex/config.toml
    """,
    Channel.GENERATED: """
        package-lock.json web/yarn.lock Cargo.lock poetry.lock go.sum dist/a.js web/jquery.min.js a.js.map
        vendor/x/a_test.go third_party/lib/README.md node_modules/a/tests/b.js api/a.pb.go api/a_pb2.py
        src/__snapshots__/a.snap tests/snapshots/a.snap src/prompt.snap locale/de/django.po locale/de/django.mo
    """,
}


@table(("path", "channel"), [(path, channel) for channel, paths in PATHS.items() for path in paths.split()])
def test_channels_of_paths(path: str, channel: Channel) -> None:
    assert classify_file_channel(path, RULES) is channel


@pytest.mark.parametrize(
    "path", "login.ts stacktrace.py planner.go catalog.js blog/models.py prompt.ts logs.txt blog.txt trace.go".split()
)
def test_meta_patterns_match_no_source_file_and_no_part_of_a_word(path: str) -> None:
    assert classify_file_channel(path, DOCUMENT) is Channel.PRODUCTION


@pytest.mark.parametrize("path", "agent-trace.json trace-2024.txt a/log.txt my_prompt.txt agentTrace.json".split())
def test_meta_patterns_match_whole_words(path: str) -> None:
    assert classify_file_channel(path, DOCUMENT) is Channel.META


def test_the_last_matching_pattern_decides() -> None:
    rules = {"tests": ["**/tests/**", "!**/tests/live/**", "**/tests/live/a.py"]}
    found = [classify_file_channel(f"tests/{name}", rules) for name in ("a.py", "live/b.py", "live/a.py")]
    assert found == [Channel.TESTS, Channel.PRODUCTION, Channel.TESTS]


def test_patterns_ignore_case() -> None:
    assert classify_file_channel("Docs/A.MD", RULES) is Channel.DOCS


@given(st.text(min_size=1), st.lists(st.text("ab/*?!.", min_size=1, max_size=9), max_size=4))
def test_every_path_has_one_channel_whatever_the_rules(path: str, patterns: list[str]) -> None:
    rules = {"tests": patterns, "docs": [], "meta": patterns[::-1], "generated": []}
    assert classify_file_channel(path, rules) in Channel
    assert classify_file_channel(path, {**rules, "tests": []}) is not Channel.META or not is_source_file(path)


def test_a_hostile_pattern_takes_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backtracking matcher would try the path again for every star; here each character is compared a few times."""
    comparisons: list[str] = []

    def same(character: str, pattern: str) -> bool:
        comparisons.append(character)
        return pattern in ("?", character)

    monkeypatch.setattr(globs, "_matches_pattern_character", same)

    def count_comparisons(size: int) -> int:
        comparisons.clear()
        assert classify_file_channel("a" * size + "/b", {"docs": ["**/*a*a*a*a*b"]}) is Channel.PRODUCTION
        return len(comparisons)

    few, many = count_comparisons(2_000), count_comparisons(4_000)
    assert 2_000 <= few and many <= 2.5 * few


TEST_FACTS = Facts(is_test=True)


# Conformance: 002-007, 002-008
@pytest.mark.parametrize("channel", Channel)
def test_syntax_moves_production_files_to_tests_only(channel: Channel) -> None:
    assert refine_channel(channel, Facts()) is channel
    assert refine_channel(channel, TEST_FACTS) is (Channel.TESTS if channel is Channel.PRODUCTION else channel)


# Conformance: 002-007
@table(
    ("path", "content", "is_test"),
    [
        ("a.ts", "describe('a', () => { it('b', () => {}) })", True),
        ("a.ts", "import { vi } from 'vitest';\nexport const x = 1;", True),
        ("a.ts", "import { defineConfig } from 'vitest/config';", False),
        ("a.ts", "export function run() { it('runs in another file', () => {}) }", False),
        ("a.ts", "const test = /a/; if (test.test('a')) it(1);", False),
        ("a.js", "const t = require('node:test');", True),
        ("a.py", "import pytest\n\ndef test_a(): assert 1", True),
        ("a.py", "def test_connection(host):\n    return ping(host)\n", False),
        ("a.py", "import pytest\n\n@pytest.fixture\ndef client(): ...", False),
        ("a.py", "class A(TestCase):\n    def test_a(self): ...", True),
        ("a.py", "class TestClient:\n    def get(self): ...", False),
        ("a.go", 'package a\nimport "testing"\nfunc help(t *testing.T) {}', True),
        ("a.go", "package a\nfunc TestMode() {}", False),
        ("a.rs", "pub fn a() {}\n#[cfg(test)]\nmod tests { #[test] fn b() {} }", False),
        ("a.rs", "use super::*;\n#[test]\nfn b() {}\nfn helper() {}", True),
        ("a.rs", "pub fn a() {}\n#[test]\nfn b() {}", False),
        ("a.rs", "#![cfg(test)]\nfn helper() {}", True),
        ("a.java", "import org.junit.jupiter.api.Test;\nclass A {}", True),
        ("a.java", "import java.util.List;\nclass A {}", False),
    ],
)
def test_test_files_by_syntax(path: str, content: str, is_test: bool) -> None:
    assert extract_file_facts(path, content.encode()).is_test is is_test


@table(
    ("head", "is_generated"),
    [
        (b"// Code generated by protoc-gen-go. DO NOT EDIT.\n", True),
        (b"#!/bin/sh\n# This file is automatically generated by a tool\n", True),
        (b"/**\n * @generated SignedSource<<abc>>\n */\n", True),
        (b"# @generated by pip-compile\n", True),
        (b"// <auto-generated />\n", True),
        (b"const marker = '@generated';\n", False),
        (b"// see the @generated/thing package\n", False),
        (b"# Report generated on demand\n", False),
        (b"", False),
        (b"x\n" * 3_000 + b"# @generated\n", False),
    ],
)
def test_generated_files_by_their_comments(head: bytes, is_generated: bool) -> None:
    assert is_generated_file(head) is is_generated
