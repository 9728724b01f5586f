"""``custody gate`` as a user sees it: the level first, a line for each reason, exit status 1 only for block."""

import json
from pathlib import Path

import msgspec
import pytest

from custody.core.paths import Hunk
from custody.core.wire.time import format_timestamp
from custody.dupes.app.patch_identity import IdentifiedHunk
from custody.gate.app.gate import GateRequest, gate, judge_change
from custody.gate.app.reading_order import JudgedHunk, ReadingOrder
from custody.gate.cli import render_verdict
from custody.gate.risk import HunkRisk, RiskFactor, RiskLevel
from custody.gate.wire.report import PlaceReport, ReasonReport
from custody.terminal.screen import Screen, text_columns
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.hooks import RECORDED_AGENT, a_recorded_edit
from tests.builders.in_process import custody
from tests.builders.repo import NOON, Built, a_history, a_repository

NS = 1_000_000_000
OLD = "one = first(1)\n"
SEEN = OLD + "alpha = beta(gamma)\n"
NEW = SEEN + "delta = epsilon(zeta)\n"

ROBOT = (
    "claude-code: trust 0.50 (medium), 12 reviews; budget: 50 lines; acceptance probability 0.61, at least 0.25;"
    " risk target 1.00%, realized none yet\nbudget: claude-code 50 of 50 lines left"
)
SELF_REPORTED = "CAN MERGE (self-reported evidence only)"
UNINDEXED = "skipped: duplicates (no change is indexed, gate.duplicates = when-indexed), tool calls (gate.calls = off)"
NOTHING_RECORDED = f"""\
! NEEDS REVIEW  HEAD~1..HEAD  +2 in 1 file

No agent activity has been recorded in this repository.

Read these first
  1  medium  a.py:2-3  author not checked · no test run known  ATTR-UNSEEN, TEST-NONE

Reasons
  ATTR-UNSEEN (review): no agent activity has been recorded in this repository; run 'custody init' to record agents, or\
 'custody import' to add their transcripts

2 added lines: 2 unknown
{UNINDEXED}

hint: custody gate HEAD~1..HEAD -v shows reasons and budgets in full
"""
HALF_KNOWN_REASONS = """\
Reasons
  ATTR-NONE (block): nothing shows who wrote 1 of 2 added lines, first at 'a.py:3'; import the transcripts of\
 the sessions that worked on it, or have a person read these lines
  ATTR-SHARE (review): agents wrote 50.0% of the added lines, more than 25.0%: 1 of 2 added lines, first at\
 'a.py:2'; have a person read the change
"""
HALF_KNOWN_TOP = f"""\
x BLOCKED  strict...HEAD  +2 in 1 file

Nothing shows who wrote 1 line of a.py, and agents wrote more than the rules allow.

Read these first
  1  high  a.py:2-3  nothing shows who wrote it · written by agents · no test run recorded  ATTR-NONE, ATTR-SHARE

{HALF_KNOWN_REASONS}
2 added lines: 1 agent, 1 unknown
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


def an_agent_wrote(repository: Path, after: str) -> None:
    """Record an agent with a good record."""
    for number in range(12):
        at = format_timestamp((NOON - 3600 * number) * NS)
        about = {"id": f"d{number}", "at": at, "changed_lines": 50, "commit": Built(repository).head()}
        spool_of(repository).put(an_event("decision", agent=RECORDED_AGENT, **about))
    spool_of(repository).put(
        a_recorded_edit("a.py", OLD, after, root=repository, at=format_timestamp((NOON + 90) * NS))
    )


def test_without_a_store_a_review_is_asked_for(repository: Path) -> None:
    ran = custody(repository, "gate", "HEAD~1..HEAD")
    assert (ran.status, ran.out, ran.err) == (0, NOTHING_RECORDED, "")


def test_what_is_known_is_approved(repository: Path) -> None:
    an_agent_wrote(repository, NEW)
    ran = custody(repository, "gate", "HEAD~1")
    agents = "agents: claude-code 0.50 (medium, 12 reviews)"
    assert (ran.status, ran.out) == (
        0,
        f"✓ {SELF_REPORTED}  HEAD~1..HEAD  +2 in 1 file\n\n2 added lines: 2 agents\n{agents}\n{UNINDEXED}\n",
    )


def test_reasons_stand_by_strictness_and_block_is_status_1(repository: Path) -> None:
    an_agent_wrote(repository, SEEN)
    ran = custody(repository, "gate", "strict...HEAD")
    rest = f"agents: claude-code 0.50 (medium, 12 reviews)\n{UNINDEXED}\n\n"
    hint = "hint: custody gate strict...HEAD -v shows reasons and budgets in full\n"
    assert (ran.status, ran.out) == (1, f"{HALF_KNOWN_TOP}{rest}{hint}")


def test_verbose_shows_budgets_and_commits(repository: Path) -> None:
    an_agent_wrote(repository, SEEN)
    ran = custody(repository, "gate", "strict...HEAD", "-v")
    head = (repository / ".git" / "refs" / "heads" / "main").read_text()[:7]
    first, _, last = ran.out.rstrip("\n").rpartition("\n")
    assert (ran.status, first) == (1, f"{HALF_KNOWN_TOP}{ROBOT}\n{UNINDEXED}")
    assert last.startswith("compared ") and last.endswith(f"..{head}")


def test_an_empty_change_says_that_it_is_one(repository: Path) -> None:
    ran = custody(repository, "gate", "HEAD")
    hint = "hint: custody gate HEAD~1..HEAD checks the last commit\n"
    assert (ran.status, ran.out) == (0, f"NOTHING TO MERGE  HEAD..HEAD\n\nno lines added\n{UNINDEXED}\n\n{hint}")


def rendered(repository: Path, screen: Screen, *, verbose: bool = False) -> list[str]:
    with judge_change(Workspace(repository), GateRequest(change="strict...HEAD")) as judged:
        lines = render_verdict(judged.report, judged.make_order(), screen, "strict...HEAD", verbose=verbose)
        return [screen.render(line) for line in lines]


def an_order(path: str, first: int, count: int) -> ReadingOrder:
    """Return a reading order with one hunk of high risk."""
    risk = HunkRisk(RiskLevel.HIGH, (RiskFactor("ATTR-NONE", RiskLevel.HIGH, "nothing shows who wrote it"),))
    hunk = IdentifiedHunk("h", (Hunk(first - 1, first, (), (b"new\n",) * count),))
    return ReadingOrder("Bad \x1b[2J.", (JudgedHunk(id="h", path=path, file=None, hunk=hunk, risk=risk),))


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("columns", [80, 120])
def test_a_verdict_fits_the_terminal(repository: Path, columns: int, *, verbose: bool) -> None:
    an_agent_wrote(repository, SEEN)
    lines = rendered(repository, Screen(columns=columns, rows=24, is_terminal=True), verbose=verbose)
    assert max(text_columns(line) for line in lines if not line.startswith("claude-code: ")) <= columns


def test_a_narrow_terminal_gets_no_codes_beside_places_and_every_remedy(repository: Path) -> None:
    an_agent_wrote(repository, SEEN)
    lines = rendered(repository, Screen(columns=80, rows=24, is_terminal=True))
    assert lines[:14] == [
        "x BLOCKED  strict...HEAD  +2 in 1 file",
        "",
        "Nothing shows who wrote 1 line of a.py, and agents wrote more than the rules",
        "allow.",
        "",
        "Read these first",
        "  1  high  a.py:2-3  nothing shows who wrote it",
        "",
        "Reasons",
        "  ATTR-NONE (block): nothing shows who wrote 1 of 2 added lines, first at 'a.py…",
        "    import the transcripts of the sessions that worked on it, or have a person",
        "    read these lines",
        "  ATTR-SHARE (review): agents wrote 50.0% of the added lines, more than 25.0%:…",
        "    have a person read the change",
    ]
    assert "agents: claude-code 0.50 (medium)" in lines


def test_the_title_has_removed_lines_and_files_and_fits_the_terminal(repository: Path) -> None:
    (repository / "a.py").write_text(OLD[OLD.index("\n") + 1 :])
    (repository / "b.py").write_text("b = 1\n")
    assert custody(repository, "gate", "--worktree").out.splitlines()[0].endswith("  the work tree  +1 -3 in 2 files")
    report = json.loads(custody(repository, "gate", "--worktree", "--json").out)
    assert (report["removed_lines"], report["files"]) == (3, 2)
    screen = Screen(columns=30, rows=24, is_terminal=True)
    lines = rendered(repository, screen)
    assert lines[:2] == ["x BLOCKED", "  strict...HEAD  +2 in 1 file"]


def test_verbose_wraps_every_reason_with_its_remedy(repository: Path) -> None:
    an_agent_wrote(repository, SEEN)
    lines = rendered(repository, Screen(columns=80, rows=24, is_terminal=True), verbose=True)
    assert lines[9:14] == [
        "  ATTR-NONE (block):",
        "    nothing shows who wrote 1 of 2 added lines, first at 'a.py:3'; import the",
        "    transcripts of the sessions that worked on it, or have a person read these",
        "    lines",
        "  ATTR-SHARE (review):",
    ]


def test_the_verdict_has_a_color_and_plain_letters_without_unicode(repository: Path) -> None:
    an_agent_wrote(repository, NEW)
    report = gate(Workspace(repository), GateRequest(change="HEAD~1"))
    colored = Screen(columns=80, rows=24, is_terminal=True, has_color=True)
    plain = Screen(has_unicode=False)
    assert (
        colored.render(next(render_verdict(report, an_order("a.py", 1, 1), colored, "x")))
        == f"\x1b[32m✓ {SELF_REPORTED}\x1b[0m  x  +2 in 1 file"
    )
    assert (
        plain.render(next(render_verdict(report, an_order("a.py", 1, 1), plain, "x")))
        == f"ok {SELF_REPORTED}  x  +2 in 1 file"
    )


def test_a_reason_is_shown_once_and_without_control_characters(repository: Path) -> None:
    places = [PlaceReport("bad\x1b[2J.py", number, number + 1) for number in range(1, 6)]
    reason = ReasonReport("ATTR-NONE", "review", "bad \x1b[2J", "read \x07", places)
    report = msgspec.structs.replace(
        gate(Workspace(repository), GateRequest(change="HEAD~1")), reasons=[reason, reason], level="review"
    )
    order = an_order("bad\x1b[2J.py", 1, 2)
    lines = [Screen().render(line) for line in render_verdict(report, order, Screen(), "odd\x1b")]
    assert lines[:8] == [
        "! NEEDS REVIEW  odd\\x1b  +2 in 1 file",
        "",
        "Bad \\x1b[2J.",
        "",
        "Read these first",
        "  1  high  bad\\x1b[2J.py:1-2  nothing shows who wrote it  ATTR-NONE",
        "",
        "Reasons",
    ]
    assert lines[8:10] == ["  ATTR-NONE (review): bad \\x1b[2J; read \\x07", ""]


def test_a_cut_place_keeps_its_lines_and_is_a_link_to_its_file(repository: Path) -> None:
    places = [PlaceReport(f"{'long/' * 20}a.py", 104, 109)]
    reason = ReasonReport("ATTR-NONE", "review", "bad", "read", places)
    report = msgspec.structs.replace(
        gate(Workspace(repository), GateRequest(change="HEAD~1")), reasons=[reason], level="review"
    )
    screen = Screen(columns=80, rows=24, is_terminal=True, has_links=True, folder="/shop")
    order = an_order(f"{'long/' * 20}a.py", 104, 6)
    lines = [screen.render(line) for line in render_verdict(report, order, screen, "x")]
    (row,) = [line for line in lines if line.startswith("  1")]
    assert "/a.py:104-109\x1b]8;;\x1b\\" in row
    assert f"file:///shop/{'long/' * 20}a.py\x1b\\…" in row


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
    assert ran.err.startswith("error: ")


def test_levels_that_do_not_fit_are_the_callers_turn(repository: Path) -> None:
    ran = custody(repository, "gate", "unfit")
    assert (ran.status, ran.out) == (2, "")
    assert "'gate.levels' has ATTR-UNSEEN at review, milder than ATTR-SHARE at block" in ran.err


def test_the_work_tree(repository: Path) -> None:
    (repository / "a.py").write_text(NEW + "three = third(3)\n")
    ran = custody(repository, "gate", "--worktree")
    assert ran.status == 0 and ran.out.startswith("! NEEDS REVIEW  the work tree  +1 in 1 file\n")
    assert "\n1 added line: 1 unknown\n" in ran.out
    assert ran.out.endswith("hint: custody gate --worktree -v shows reasons and budgets in full\n")
    for wrong in (["gate"], ["gate", "--worktree", "HEAD~1"]):
        assert custody(repository, *wrong).status == 2


def test_a_change_is_judged_by_the_rules_of_its_base(repository: Path) -> None:
    an_agent_wrote(repository, SEEN)
    (repository / "custody.toml").write_text("[gate]\nagent_share_max = 0.25\n")
    assert "ATTR-SHARE" not in custody(repository, "gate", "HEAD~1..HEAD").out
    ran = custody(repository, "gate", "--worktree")
    assert "POLICY-CHANGED (review): the change edits rules: gate.agent_share_max from 1 to 0.25" in ran.out
    (repository / "custody.toml").write_text("[gate\n")
    assert (
        "POLICY-CHANGED (review): the change edits rules: they cannot be read: "
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
