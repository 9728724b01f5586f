"""``custody gate`` as a user sees it: the level first, a line for each reason, exit status 1 only for block."""

import json
from pathlib import Path

import pytest

from custody.core.wire.time import text_from
from tests.builders.cli import Ran, spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.repo import NOON, a_history, a_repository

NS = 1_000_000_000
OLD = "one = first(1)\n"
SEEN = OLD + "alpha = beta(gamma)\n"
NEW = SEEN + "delta = epsilon(zeta)\n"

ROBOT = (
    "robot: 0.5000 MEDIUM, 12 decision(s), 50 of 50 line(s) left; chance 0.606, at least 0.250, risk target 1.00%,"
    " realised none yet"
)
UNINDEXED = (
    "  not looked at: duplicates, since no change is indexed, and gate.duplicates is 'when-indexed';"
    " calls, since gate.calls is 'off'"
)
NOTHING_RECORDED = f"""\
review
  ATTR-UNSEEN (review): nothing was ever recorded here; run 'custody init' so that agents' work is recorded, or\
 'custody import' what was recorded elsewhere
{UNINDEXED}
FORK..HEAD: 2 added line(s): 2 none
"""
HALF_KNOWN = f"""\
block
  ATTR-NONE (block): nothing shows who wrote 1 of 2 added line(s), the first at 'a.py:3'; import the transcripts of\
 the sessions that worked on it, or have a person read these lines
  ATTR-SHARE (review): agents wrote 50.0% of the added lines, more than 25.0%: 1 of 2 added line(s), the first at\
 'a.py:2'; have a person read the change
{ROBOT}
{UNINDEXED}
FORK..HEAD: 2 added line(s): 1 agent, 1 none
"""
STRICT = '[gate]\nagent_share_max = 0.25\n[gate.levels]\nATTR-UNSEEN = "block"\nATTR-NONE = "block"\n'

UNFIT = '[gate.levels]\nATTR-SHARE = "block"\n'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose last commit adds two lines; other branches left the commit before to set rules."""
    built = a_repository(tmp_path / "repository")
    first, _ = a_history(built, {b"a.py": OLD.encode()}, {b"a.py": NEW.encode()})
    for name, rules in (("strict", STRICT), ("unfit", UNFIT)):
        files = {b"a.py": OLD.encode(), b"custody.toml": rules.encode()}
        built.commit(files, first, ref=f"refs/heads/{name}")
    built.checkout()
    return built.path


def said(repository: Path, ran: Ran) -> str:
    """What was printed, without the ids of the commits."""
    head = (repository / ".git" / "refs" / "heads" / "main").read_text()[:12]
    first, _, last = ran.out.rstrip("\n").rpartition("\n")
    assert f"..{head}: " in last or not last.count(": ")
    return f"{first}\nFORK..HEAD: {last.partition(': ')[2]}\n"


def an_agent_wrote(repository: Path, after: str) -> None:
    """An agent with a good record."""
    for number in range(12):
        at = text_from((NOON - 3600 * number) * NS)
        spool_of(repository).put(an_event("decision", id=f"d{number}", at=at, changed_lines=50))
    spool_of(repository).put(an_event(at=text_from((NOON + 90) * NS), path="a.py", before=OLD, after=after))


def test_without_a_store_a_review_is_asked_for(repository: Path) -> None:
    ran = custody(repository, "gate", "HEAD~1..HEAD")
    assert (ran.status, said(repository, ran), ran.err) == (0, NOTHING_RECORDED, "")


def test_what_is_known_is_approved(repository: Path) -> None:
    an_agent_wrote(repository, NEW)
    ran = custody(repository, "gate", "HEAD~1")
    assert (ran.status, said(repository, ran)) == (
        0,
        f"approve\n{ROBOT}\n{UNINDEXED}\nFORK..HEAD: 2 added line(s): 2 agent\n",
    )


def test_reasons_stand_by_strictness_and_block_is_status_1(repository: Path) -> None:
    an_agent_wrote(repository, SEEN)
    ran = custody(repository, "gate", "strict...HEAD")
    assert (ran.status, said(repository, ran)) == (1, HALF_KNOWN)


def test_an_empty_change_says_that_it_is_one(repository: Path) -> None:
    ran = custody(repository, "gate", "HEAD")
    assert (ran.status, said(repository, ran)) == (0, f"approve\n{UNINDEXED}\nFORK..HEAD: no lines added\n")


def test_json(repository: Path) -> None:
    an_agent_wrote(repository, SEEN)
    ran = custody(repository, "gate", "strict", "--json")
    assert ran.status == 1
    report = json.loads(ran.out)
    assert (report["report"], report["version"], report["outcome"]) == ("gate", 1, "found")
    assert report["level"] == "block"
    assert report["added"] == {"agent": 1, "mixed": 0, "person": 0, "none": 1}
    assert [(reason["code"], reason["level"]) for reason in report["reasons"]] == [
        ("ATTR-NONE", "block"),
        ("ATTR-SHARE", "review"),
    ]
    assert all(sorted(reason) == ["code", "level", "places", "remedy", "sentence"] for reason in report["reasons"])
    assert report["rules_digest"] == "sha256:DIGEST"


@pytest.mark.parametrize("change", ["nowhere..HEAD", "HEAD..nowhere", "..-x"])
def test_a_commit_that_is_not_there_is_the_callers_turn(repository: Path, change: str) -> None:
    ran = custody(repository, "gate", change)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("custody: ")


def test_levels_that_do_not_fit_are_the_callers_turn(repository: Path) -> None:
    ran = custody(repository, "gate", "unfit")
    assert (ran.status, ran.out) == (2, "")
    assert "'gate.levels' has ATTR-UNSEEN at review, milder than ATTR-SHARE at block" in ran.err


def test_the_work_tree(repository: Path) -> None:
    (repository / "a.py").write_text(NEW + "three = third(3)\n")
    ran = custody(repository, "gate", "--worktree")
    assert ran.status == 0 and ran.out.endswith("..the work tree: 1 added line(s): 1 none\n")
    for wrong in (["gate"], ["gate", "--worktree", "HEAD~1"]):
        assert custody(repository, *wrong).status == 2


def test_a_change_is_judged_by_the_rules_of_its_base(repository: Path) -> None:
    an_agent_wrote(repository, SEEN)
    (repository / "custody.toml").write_text("[gate]\nagent_share_max = 0.25\n")
    assert "ATTR-SHARE" not in custody(repository, "gate", "HEAD~1..HEAD").out
    ran = custody(repository, "gate", "--worktree")
    assert "POLICY-CHANGED (review): the change sets rules: gate.agent_share_max from 1 to 0.25" in ran.out
    (repository / "custody.toml").write_text("[gate\n")
    assert (
        "POLICY-CHANGED (review): the change sets rules: they cannot be read: "
        in custody(repository, "gate", "--worktree").out
    )


def test_other_shapes(repository: Path) -> None:
    an_agent_wrote(repository, SEEN)
    markdown = custody(repository, "gate", "strict", "--format", "markdown")
    assert markdown.status == 1 and "**custody: block**" in markdown.out
    run = json.loads(custody(repository, "gate", "strict", "--format", "check-run").out)
    assert run["conclusion"] == "failure"
    assert [(one["path"], one["start_line"]) for one in run["output"]["annotations"]] == [("a.py", 3), ("a.py", 2)]
    sarif = json.loads(custody(repository, "gate", "strict", "--format", "sarif").out)
    assert [result["ruleId"] for result in sarif["runs"][0]["results"]] == ["ATTR-NONE", "ATTR-SHARE"]
    assert custody(repository, "gate", "strict", "--format", "sarif", "--json").status == 2
