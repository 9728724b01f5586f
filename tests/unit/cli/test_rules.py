"""`custody rules` in a real repository: the rules in force, their origins, and errors in files."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from custody.workspace.rules_in_force import report_rules_in_force as rules_at
from custody.workspace.wiring import import_rule_tables
from custody.workspace.workspace import Workspace
from tests.builders.cli import Ran, a_git_folder
from tests.builders.in_process import custody
from tools.pages import rules as page

SEEN = """\
  attribute.profile                   lineage                         default
  attribute.points.commit_link        40                              custody.toml: attribute.points.commit_link
  attribute.points.content_hash       30                              default
  attribute.points.revision_parent    15                              default
  attribute.points.revision_ancestor  8                               default
  attribute.points.range_match        10                              default
  attribute.points.range_overlap      5                               default
  attribute.points.timestamp_match    5                               default
* attribute.near_lines_max            3                               custody.toml: attribute.near_lines_max (default 5)
  attribute.window_hours_before       24                              default
  attribute.window_hours_after        1                               default
  attribute.tier_points_min           95, 80, 60, 45, 25              default
  attribute.tier_confidence           1, 0.999, 0.95, 0.85, 0.7, 0.4  default
  attribute.carry_words_share_min     0.7                             default

1 of 14 rules differ from their defaults
read: custody.toml; not found: .ai-git/config.yaml, config/classification_rules.yaml, config/thresholds.yaml,\
 pyproject.toml, environment, ~/.config/custody/config.toml
attribute   sha256:DIGEST
all tables  sha256:DIGEST
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


def report(folder: Path, *words: str, **environment: str) -> Any:
    ran = custody(folder, "rules", *words, "--json", **environment)
    assert (ran.status, ran.err) == (0, "")
    return json.loads(ran.out)


def refused(ran: Ran, words: str) -> bool:
    return (ran.status, ran.out) == (2, "") and words in ran.err and "hint: " in ran.err


def test_a_fresh_repository_has_the_defaults(repository: Path) -> None:
    made = report(repository)
    assert [rule["rule"] for rule in made["rules"]] == list(import_rule_tables().rules)
    assert all(rule["value"] == rule["default"] and rule["origins"] == ["default"] for rule in made["rules"])
    assert sorted(made["digests"]) == sorted(import_rule_tables())
    assert {source["state"] for source in made["sources"]} == {"absent"}
    assert not (repository / ".git" / "custody").exists(), "looking must not make anything"


def test_what_people_see(repository: Path) -> None:
    (repository / "custody.toml").write_text("[attribute]\nnear_lines_max = 3\npoints.commit_link = 40\n")
    ran = custody(repository, "rules", "attribute")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == SEEN


def test_a_long_list_goes_on_below(repository: Path) -> None:
    lines = custody(repository, "rules", "dedupe").out.splitlines()
    assert lines[1:4] == [
        "  dedupe.channel_patterns.tests      **/*.test.?s, **/*.test.?sx,          default",
        "                                     **/*.test.??s, **/*.test-d.ts,",
        "                                     **/*.spec.?s, **/*.spec.?sx,",
    ]


def test_every_place_together(repository: Path, tmp_path: Path) -> None:
    (repository / ".ai-git").mkdir()
    (repository / "config").mkdir()
    (repository / ".ai-git" / "config.yaml").write_text("trust: {ema_alpha: 0.1, recovery_rate: 0.1}")
    (repository / "config" / "thresholds.yaml").write_text("testCap: 0.3")
    (repository / "pyproject.toml").write_text("[tool.custody.trust]\nema_alpha = 0.15\naudit_share = 0.5")
    (repository / "custody.toml").write_text("[trust]\naudit_share = 0.6\ntier_score_min = [0, 0.1, 0.2, 0.3, 0.9]")
    (tmp_path / "home" / "custody").mkdir(parents=True)
    (tmp_path / "home" / "custody" / "config.toml").write_text("trust.audit_share = 0.7")
    (repository / "deep").mkdir()
    users = str(tmp_path / "home")
    made = report(repository / "deep", XDG_CONFIG_HOME=users, ANSIBEL_TRUST_THRESHOLD_HIGH="0.8")
    changed = {
        rule["rule"]: (rule["value"], rule["origins"]) for rule in made["rules"] if rule["origins"] != ["default"]
    }
    assert changed == {
        "trust.ema_alpha": (0.15, ["pyproject.toml: tool.custody.trust.ema_alpha"]),
        "trust.recovery_rate": (0.1, [".ai-git/config.yaml: trust.recovery_rate"]),
        "dedupe.tests_score_max": (0.3, ["config/thresholds.yaml: testCap"]),
        "trust.audit_share": (0.7, [f"{tmp_path}/home/custody/config.toml: trust.audit_share"]),
        "trust.tier_score_min": (
            [0, 0.1, 0.2, 0.8, 0.9],
            ["ANSIBEL_TRUST_THRESHOLD_HIGH (entry 4)", "custody.toml: trust.tier_score_min"],
        ),
    }
    assert [source["rules"] for source in made["sources"]] == [2, 0, 1, 2, 2, 1, 1]


def test_the_digest_tells_rules_apart_and_nothing_else(repository: Path) -> None:
    fresh = report_bytes(repository)
    (repository / "custody.toml").write_text("[trust]\nema_alpha = 0.30\n")
    same = report_bytes(repository)
    (repository / "custody.toml").write_text("[trust]\nema_alpha = 0.31\n")
    other = report_bytes(repository)
    assert fresh["digest"] == same["digest"] != other["digest"]
    assert fresh["digests"]["dedupe"] == other["digests"]["dedupe"]
    assert fresh["digests"]["trust"] != other["digests"]["trust"]
    one = rules_at(Workspace(repository), "trust")
    assert (one.digest, one.digests) == (other["digest"], {"trust": other["digests"]["trust"]})


def report_bytes(repository: Path) -> Any:
    """Return the report in this process, where digests are not masked."""
    made = rules_at(Workspace(repository))
    return {"digest": made.digest, "digests": made.digests}


def test_one_table_and_a_misspelt_one(repository: Path) -> None:
    assert {rule["rule"].partition(".")[0] for rule in report(repository, "trust")["rules"]} == {"trust"}
    ran = custody(repository, "rules", "trsut")
    assert refused(ran, "unknown table of rules 'trsut'")
    assert "hint: the tables are attribute, cite, dedupe, gate, graph, review, trust\n" in ran.err


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("custody.toml", "[trust]\nema_alpa = 1", "unknown rule 'trust.ema_alpa' in 'custody.toml'"),
        ("custody.toml", "[remote]\nurl = 'x'", "a repository cannot set 'remote' in 'custody.toml'"),
        ("pyproject.toml", "<<<<<<< HEAD", "'pyproject.toml' is not TOML: Invalid statement at line 1, column 1"),
        ("config/thresholds.yaml", "w1: &a 1", "an anchor at line 1, column 5"),
        (".ai-git/config.yaml", "trust: {ema_alpha: high}", "must be a finite number, not the text 'high'"),
    ],
)
def test_a_bad_file_is_the_callers_turn(repository: Path, file: str, text: str, words: str) -> None:
    (repository / file).parent.mkdir(exist_ok=True)
    (repository / file).write_text(text)
    assert refused(custody(repository, "rules"), words)
    assert refused(custody(repository, "rules", "--json"), words)


def test_a_file_that_is_not_a_regular_file_of_the_repository_is_refused(repository: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.toml"
    outside.write_text("trust.ema_alpha = 0.9")
    file = repository / "custody.toml"
    file.symlink_to(outside)
    assert refused(custody(repository, "rules"), "'custody.toml' is a symbolic link")
    file.unlink()
    os.mkfifo(file)
    assert refused(custody(repository, "rules"), "'custody.toml' is not a regular file")
    file.unlink()
    file.write_bytes(b"#" * (1024 * 1024 + 1))
    assert refused(custody(repository, "rules"), "'custody.toml' is larger than 1,048,576 bytes")


def test_a_folder_behind_a_link_is_refused_only_if_it_holds_such_a_file(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (repository / "config").symlink_to(tmp_path / "elsewhere")
    assert custody(repository, "rules").status == 0
    (tmp_path / "elsewhere" / "thresholds.yaml").write_text("w1: 0.1")
    assert refused(custody(repository, "rules"), "'config/thresholds.yaml' is behind a symbolic link")
    (repository / "config").unlink()
    (repository / "config").write_text("a file, as many repositories have one")
    assert custody(repository, "rules").status == 0


def test_a_bare_repository_and_no_repository(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare")], check=True)
    assert custody(tmp_path / "bare", "rules").status == 0
    ran = custody(tmp_path, "rules")
    assert (ran.status, ran.out) == (2, "")
    made = rules_at(Workspace(tmp_path, "postgresql://nobody@localhost/nothing"))
    assert {source.state for source in made.sources} == {"absent"}, "a team's database has no repository's files"


def test_every_rule_has_its_row_on_the_page() -> None:
    rows = [
        line.split("`")[1]
        for line in page.rules_page().splitlines()
        if line.startswith(tuple(f"| `{t}." for t in import_rule_tables()))
    ]
    assert sorted(rows) == sorted([*import_rule_tables().rules, *import_rule_tables().dropped])
    assert all(
        page.meanings(kind).keys() == set(kind.__struct_fields__) for kind in import_rule_tables().classes.values()
    )


def test_the_help_names_every_table(repository: Path) -> None:
    text = " ".join(custody(repository, "rules", "--help").out.split())
    listed = text.partition("TABLE shows one table: ")[2].partition(".")[0]
    tables = set(import_rule_tables())
    assert set(listed.replace(" or ", ", ").split(", ")) == tables
