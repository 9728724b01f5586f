"""The documents' own files and variables work as the documents show them."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from custody.config import VARIABLES, list_rule_documents
from custody.dupes.rules import DedupeRules
from custody.trust.rules import TIERS, TrustRules
from custody.workspace.rules_in_force import resolve_rules_in_force
from custody.workspace.wiring import import_rule_tables
from tests.builders.rules import reader

# Document 001, "Config File (`.ai-git/config.yaml`)", verbatim.
AI_GIT = """\
trust:
  decay_half_life_days: 30
  recovery_rate: 0.05
  ema_alpha: 0.3
"""

# Document 002, section 1: its examples, as a file.
CLASSIFICATION = """\
tests:
  - '**/*.test.ts'
  - '**/*.spec.ts'
  - '**/__tests__/**'
  - '**/tests/**'
  - '**/fixtures/**'
docs: ['**/*.md', 'docs/**']
meta: [.cursor/**, .aider/**, '**/*trace*.*', '**/*log*.*', '**/*prompt*.*']
production: default remainder
"""

# Document 002, sections 7 to 9: its names and numbers.
THRESHOLDS = """\
# tuned
w1: 0.3
w2: .3
w3: 2e-1
w4: 0.1
w5: 0.10
wt: 0.25
wd: 0.05
testCap: 0.3
docCap: 0.2
containThreshold: 0.9
epsilon: 0.05
rewriteLineThreshold: 1000
rewriteFileThreshold: 20
"""


def test_the_file_of_document_001_is_read_as_written_there() -> None:
    effective, sources = resolve_rules_in_force(reader({".ai-git/config.yaml": AI_GIT}), {})
    assert effective.of(TrustRules) == TrustRules()
    set_there = {s.rule.name: str(s.origins[0]) for s in effective.settings if s.origins[0].source != "default"}
    assert set_there == {
        name: f".ai-git/config.yaml: {name}"
        for name in ("trust.decay_half_life_days", "trust.recovery_rate", "trust.ema_alpha")
    }
    assert [(source.state, source.rules) for source in sources if source.name == ".ai-git/config.yaml"] == [("read", 3)]


def test_another_number_in_it_counts_and_other_tables_are_passed_over() -> None:
    text = AI_GIT.replace("30", "7") + "storage:\n  database: x\n"
    assert resolve_rules_in_force(reader({".ai-git/config.yaml": text}), {})[0].of(TrustRules).decay_half_life_days == 7


def test_the_channels_of_document_002_are_taken_as_it_lists_them() -> None:
    effective, _ = resolve_rules_in_force(reader({"config/classification_rules.yaml": CLASSIFICATION}), {})
    rules = effective.of(DedupeRules)
    assert rules.channel_patterns["tests"][:2] == ("**/*.test.ts", "**/*.spec.ts")
    assert rules.channel_patterns["docs"] == ("**/*.md", "docs/**")
    assert rules == replace(DedupeRules(), channel_patterns=rules.channel_patterns)
    effective, _ = resolve_rules_in_force(
        reader({"config/classification_rules.yaml": "docs: []\ngenerated: [dist/**]"}), {}
    )
    patterns = effective.of(DedupeRules).channel_patterns
    assert (patterns["docs"], patterns["generated"]) == ((), ("dist/**",))
    assert patterns["tests"] == DedupeRules().channel_patterns["tests"]


def test_the_thresholds_of_document_002_are_taken_by_its_names() -> None:
    rules = resolve_rules_in_force(reader({"config/thresholds.yaml": THRESHOLDS}), {})[0].of(DedupeRules)
    assert list(rules.weights.values()) == [0.3, 0.3, 0.2, 0.1, 0.1, 0.25, 0.05]
    assert (rules.tests_score_max, rules.docs_score_max) == (0.3, 0.2)
    assert (rules.contain_min, rules.contain_growth_min) == (0.9, 0.05)
    assert (rules.rewrite_lines_max, rules.rewrite_files_max) == (1_000, 20)


def test_thresholds_are_also_taken_by_the_rules_own_names() -> None:
    text = "same_feature_prod_min: 0.8\nweights:\n  prod_minhash_sim: 0.3\n"
    rules = resolve_rules_in_force(reader({"config/thresholds.yaml": text}), {})[0].of(DedupeRules)
    assert (rules.same_feature_prod_min, rules.weights["prod_minhash_sim"]) == (0.8, 0.3)


@pytest.mark.parametrize("path", ["config/thresholds.yaml", "config/classification_rules.yaml", ".ai-git/config.yaml"])
@pytest.mark.parametrize(("text", "state"), [("cpu:\n  warn: 80\n", "foreign"), ("", "read"), ("# nothing", "read")])
def test_a_file_in_which_nothing_is_ours_is_passed_over_and_said_to_be(path: str, text: str, state: str) -> None:
    effective, sources = resolve_rules_in_force(reader({path: text}), {})
    assert {source.name: source.state for source in sources}[path] == state
    assert all(setting.value == setting.rule.default for setting in effective.settings)


def test_variables_count_only_when_they_are_set() -> None:
    assert resolve_rules_in_force(reader({}), {})[0].of(TrustRules) == TrustRules()
    assert resolve_rules_in_force(reader({}), {"ANSIBEL_TRUST": "1", "PATH": "/bin"})[0].of(TrustRules) == TrustRules()
    one = {"ANSIBEL_TRUST_THRESHOLD_HIGH": "0.7"}
    assert resolve_rules_in_force(reader({}), one)[0].of(TrustRules).tier_score_min == (0.0, 0.2, 0.4, 0.7, 0.8)


def test_the_defaults_that_document_001_gives_its_variables_are_accepted() -> None:
    both = {"ANSIBEL_TRUST_THRESHOLD_HIGH": "0.8", "ANSIBEL_TRUST_THRESHOLD_MEDIUM": "0.5"}
    effective, sources = resolve_rules_in_force(reader({}), both)
    assert effective.of(TrustRules).tier_score_min == (0.0, 0.2, 0.5, 0.8, 0.8)
    assert [(source.state, source.rules) for source in sources if source.name == "environment"] == [("read", 2)]


def test_every_name_of_the_documents_stands_for_a_rule() -> None:
    for document in list_rule_documents(import_rule_tables()):
        for rule in document.keys.names.values():
            assert import_rule_tables().rules[rule.name] is rule
    tiers = {name: name.rpartition("_")[2].lower() for name in VARIABLES}
    assert {name: TIERS[entry] for name, entry in VARIABLES.items()} == tiers
    assert len(VARIABLES) == 2


def test_sources_are_listed_from_the_weakest_to_the_strongest(tmp_path: Path) -> None:
    _, sources = resolve_rules_in_force(reader({}), {"HOME": str(tmp_path)})
    assert [source.name for source in sources] == [
        ".ai-git/config.yaml",
        "config/classification_rules.yaml",
        "config/thresholds.yaml",
        "pyproject.toml",
        "custody.toml",
        "environment",
        "~/.config/custody/config.toml",
    ]
    assert {source.state for source in sources} == {"absent"}


def test_a_pyproject_without_our_table_is_somebody_elses() -> None:
    for text in ("", "[project]\nname = 'x'", "[tool.ruff]\nx = 1"):
        _, sources = resolve_rules_in_force(reader({"pyproject.toml": text}), {})
        assert {source.name: source.state for source in sources}["pyproject.toml"] == "foreign"
