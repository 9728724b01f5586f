"""``custody trust`` as a user sees it: the score and its reasons, recorded decisions, clear errors."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from custody.core.wire.time import format_timestamp
from custody.terminal.screen import Screen
from custody.trust.cli.trust import render_trust_list
from custody.trust.wire import Tier, TrustLine, TrustListReport
from custody.trust_lineage import DecisionType, TrustLineageManager
from custody.workspace.machine import machine_now_ns
from tests.builders.cli import Ran, a_git_folder, spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_history, a_repository

WHY = """\
0.50 at the start (profile cautious)
2026-01-01 12:00  0.50 -> 0.65  accepted, weight 8.00, step 0.30 by ana (self-reported) (id 1)
2026-01-31 12:00  0.57 -> 0.40  rejected, weight 1.00, step 0.30 by ben (self-reported): no tests (id 2)
2026-02-01 12:00  0.40 -> 0.45  recovery by ana (self-reported) [without a reason] (id 3)
0.48 after 30.0 idle days, at 2026-03-03 12:00
robot: trust 0.48 (medium), 2 reviews: 1 accepted, 0 modified, 1 rejected; confidence 0.02, too few reviews
-0.09  everyone (0.476 from 1.4)
-0.00  repository (0.474 from 1.4)
-0.04  agent robot (0.452 from 0.7)
-0.02  the agent's rating (-0.0487)
-0.02  the repository's rating (-0.0487)
-0.02  the agent's rating here (-0.0487)
-0.00  the document's score (0.452)
-0.21 log-odds: acceptance probability 0.45, at least 0.17, from 0.7 reviews of the agent after decay
risk control: no change passes yet; target 1.0%, realized none yet in 2 decisions
"""
SHOW = """\
2026-02-01 12:00  0.40 -> 0.45  recovery by ana (self-reported) [without a reason] (id 3)
… and 2 more (-n 3 lists all)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit of 20 lines, and two decisions and a recovery by other recorders."""
    built = a_repository(tmp_path / "repository")
    a_history(built, {b"a.py": b"x = 1\n" * 20})
    for event in (
        an_event("decision", id="1", at="2026-01-01T12:00:00Z", complexity="critical", changed_lines=50),
        an_event("decision", id="2", decision="rejected", actor="ben", reason="no tests"),
        an_event("decision", id="3", decision="recovered", boost=0.5, at="2026-02-01T12:00:00Z"),
    ):
        spool_of(built.path).put(event)
    return built.path


def told(ran: Ran) -> str:
    """Return the output without times and commits."""
    return re.sub(r"\b[0-9a-f]{12}\b", "COMMIT", re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "MOMENT", ran.out))


def test_why_tells_every_step_and_the_silence_since(repository: Path) -> None:
    ran = custody(repository, "trust", "why", "robot", "--at", "2026-03-03T12:00:00Z")
    assert (ran.status, ran.out, ran.err) == (0, WHY, "")


def test_show_lists_the_newest_first(repository: Path) -> None:
    ran = custody(repository, "trust", "show", "robot", "-n", "1")
    assert ran.status == 0
    header, row, blank, last, history = ran.out.split("\n", 4)
    assert header.startswith("AGENT  TRUST")
    assert row.startswith("robot  0.")
    assert row.endswith("nothing: needs 8 more reviews")
    assert (blank, last) == ("", "last decision 2026-01-31 12:00")
    assert history == f"{SHOW}\nhint: custody trust why robot explains the score\n"


def test_list_names_every_agent(repository: Path, tmp_path: Path) -> None:
    ran = custody(repository, "trust", "list")
    header, row, *rest = ran.out.splitlines()
    assert (ran.status, header) == (
        0,
        "AGENT  TRUST        REVIEWS  ACCEPTED  CHANGED  REJECTED  MAY MERGE WITHOUT REVIEW",
    )
    counts = "        2         1        0         1  nothing: needs 8 more reviews"
    assert re.fullmatch(rf"robot  0\.\d\d medium  {counts[2:]}".replace("  ", " +"), row)
    assert rest == ["", "hint: custody trust why AGENT explains a score"]
    assert custody(repository, "trust").out == ran.out
    empty = custody(a_git_folder(tmp_path / "empty"), "trust", "list")
    assert (empty.status, empty.out) == (
        0,
        "no decisions recorded yet\nhint: custody trust record AGENT accepted COMMIT records a review\n",
    )


def a_line(agent: str, tier: Tier, lines_max: int) -> TrustLine:
    return TrustLine(
        agent=agent,
        score=0.744,
        stored=0.75,
        tier=tier,
        confidence=0.9,
        meaningful=True,
        samples=1_086,
        accepted=1_071,
        modified=11,
        rejected=4,
        lines_max=lines_max,
        budget=lines_max,
        budget_hours=24.0,
        reviews_needed=0,
        decayed=False,
        last_active=None,
    )


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (
            80,
            [
                "AGENT             TRUST           REVIEWS  REJECTED  MAY MERGE WITHOUT REVIEW",
                "claude-code       0.74 high         1,086         4  200 lines a day",
                "bad\\x1b[2Jaaaaa…  0.74 untrusted    1,086         4  nothing",
            ],
        ),
        (
            120,
            [
                "AGENT             TRUST           REVIEWS  ACCEPTED  CHANGED  REJECTED  MAY MERGE WITHOUT REVIEW",
                "claude-code       0.74 high         1,086     1,071       11         4  200 lines a day",
                "bad\\x1b[2Jaaaaa…  0.74 untrusted    1,086     1,071       11         4  nothing",
            ],
        ),
    ],
)
def test_the_list_fits_the_terminal(columns: int, lines: list[str]) -> None:
    agents = [a_line("claude-code", "high", 200), a_line("bad\x1b[2J" + "a" * 90, "untrusted", 0)]
    report = TrustListReport(at="", profile="", rules_digest="", agents=agents)
    screen = Screen(columns=columns, rows=24, is_terminal=True)
    assert [screen.render(line) for line in render_trust_list(report, screen)][:3] == lines
    colored = Screen(columns=columns, rows=24, is_terminal=True, has_color=True)
    assert "\x1b[35mclaude-code\x1b[0m" in colored.render(list(render_trust_list(report, colored))[1])


def test_record_override_revert_and_recover_tell_what_they_did(repository: Path) -> None:
    ran = custody(repository, "trust", "record", "bot", "accepted", "HEAD", "--actor", "ana", "--review-seconds", "60")
    assert ran.status == 0
    assert told(ran) == (
        "recorded as STORE:4\n"
        "MOMENT  0.50 -> 0.65  accepted COMMIT, weight 1.63, step 0.30 by ana\n"
        "bot: trust 0.65 (high), 1 review: 1 accepted, 0 modified, 0 rejected; confidence 0.01, too few reviews\n"
    )
    commit = json.loads(custody(repository, "trust", "show", "bot", "--json").out)["history"][0]["commit"]
    by = ("--actor", "ben", "--reason", "slow")
    ran = custody(repository, "trust", "record", "bot", "modified", "--overrides", commit[:8], *by)
    assert "override modified by ben: slow [replaces '" in ran.out
    ran = custody(repository, "trust", "record", "bot", "rejected", "--reverts", commit[:8], *by)
    assert "revert rejected COMMIT, weight 1.55" in told(ran)
    ran = custody(repository, "trust", "recover", "bot", *by)
    assert "recovery by ben: slow" in ran.out
    ran = custody(repository, "trust", "verify")
    assert (ran.status, ran.out) == (0, "OK: 7 decisions about 2 agents verified\n")


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ("show stranger", 2, "no decisions about 'stranger'"),
        ("why robot --at yesterday", 2, "invalid timestamp 'yesterday'"),
        ("why robot --at 2020-01-01T00:00:00Z", 2, "no decisions about 'robot' until 2020-01-01T00:00:00Z"),
        ("record robot accepted", 2, "pass exactly one of COMMIT, --overrides and --reverts"),
        (
            "record robot accepted HEAD --reverts 1 --actor a --reason b",
            2,
            "pass exactly one of COMMIT, --overrides and --reverts",
        ),
        ("record robot accepted nowhere", 2, "unknown revision 'nowhere'"),
        ("record robot accepted HEAD --lines 3", 2, "the change has 20 lines, not 3"),
        ("record robot accepted HEAD --lines -3", 2, "-3 is not in the range"),
        ("record robot accepted HEAD --complexity trivial", 2, "a change of this size is minor, not trivial"),
        ("record robot accepted HEAD --actor robot", 2, "'robot' cannot decide about its own change"),
        ("record robot approved HEAD", 2, "'approved' is not one of"),
        ("record robot rejected --overrides 1", 2, "a correction needs an actor and a reason"),
        ("record robot accepted --reverts 1 --actor a --reason b", 2, "a revert is 'rejected'"),
        ("record robot rejected --reverts 9 --actor a --reason b", 2, "no decision '9' about 'robot'"),
        ("recover robot --actor a", 2, "missing option '--reason'"),
        ("recover robot --actor a --reason b --boost 0", 2, "invalid boost 0.0"),
        ("recover robot --actor a --reason b --boost nan", 2, "invalid boost nan"),
        ("recover stranger --actor a --reason b", 2, "no decisions about 'stranger'"),
        ("recover robot --reason b", 2, "missing option '--actor'"),
        ("recover robot --actor a --reason", 2, "option '--reason' requires an argument"),
        ("record robot accepted HEAD --lines nan", 2, "'nan' is not a whole number"),
        ("record robot accepted HEAD --opened yesterday", 2, "invalid timestamp 'yesterday'"),
        ("record robot accepted HEAD --opened 2200-01-01T00:00:00Z", 2, "is in the future"),
        ("record robot accepted " + "1" * 40, 2, "1" * 40),
        ("approve nowhere..HEAD", 2, "unknown revision 'nowhere'"),
        ("approve HEAD..HEAD", 2, "'HEAD..HEAD' changes nothing"),
        ("approve", 2, "missing argument"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_recorded(repository: Path, words: str, status: int, says: str) -> None:
    ran = custody(repository, "trust", *words.split())
    assert (ran.status, ran.out) == (status, "")
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert json.loads(custody(repository, "records", "--json").out)["total"] == 3


@pytest.mark.parametrize(
    ("words", "report"),
    [
        ("list", "trust-list"),
        ("show robot", "trust-show"),
        ("why robot", "trust-why"),
        ("record robot accepted HEAD", "trust-record"),
        ("recover robot --actor a --reason b", "trust-record"),
        ("verify", "trust-verify"),
    ],
)
def test_every_verb_has_json(repository: Path, words: str, report: str) -> None:
    ran = custody(repository, "trust", *words.split(), "--json")
    made = json.loads(ran.out)
    assert (ran.status, made["report"], made["version"], made["outcome"]) == (0, report, 1, "fine")


APPROVED = """\
approved (self-reported evidence only)  HEAD~1
bot: trust 0.99 (verified), 12 reviews; budget: 500 of 500 lines left
FORK..HEAD: 5 lines in .
recorded as STORE:16
hint: custody gate HEAD~1 also checks authors, duplicates and citations
"""
REFUSED = """\
needs review  HEAD~1
  TRUST-SAMPLES: the agent has 0 reviews, fewer than 10
stranger: trust 0.50 (medium), 0 reviews; budget: 50 of 50 lines left
FORK..HEAD: 5 lines in .
hint: custody gate HEAD~1 also checks authors, duplicates and citations
"""


@pytest.fixture
def proposed(repository: Path) -> Path:
    """The same with a good record of 'bot', and a second commit that adds five lines."""
    commit = Built(repository).head()
    for number in range(12):
        at = format_timestamp(machine_now_ns() - (12 - number) * 1_000_000_000)
        spool_of(repository).put(
            an_event("decision", id=f"b{number}", agent="bot", at=at, changed_lines=50, commit=commit)
        )
    (repository / "custody.toml").write_text("[trust]\naudit_share = 0.0\n")
    built = Built(repository)
    built.commit({b"a.py": b"x = 1\n" * 25}, built.head())
    return repository


def answered(ran: Ran) -> str:
    """Return the output without commits and the acceptance probability, which has tests of its own."""
    commits = re.sub(r"[0-9a-f]{12}\.\.[0-9a-f]{12}", "FORK..HEAD", ran.out)
    return re.sub(r"; acceptance probability .*", "", commits)


def test_approve_records_what_may_merge_and_says_what_may_not(proposed: Path) -> None:
    ran = custody(proposed, "trust", "approve", "HEAD~1", "--agent", "stranger", "--approver", "ci")
    assert (ran.status, answered(ran), ran.err) == (1, REFUSED, "")
    dry = custody(proposed, "trust", "approve", "HEAD~1", "--agent", "bot", "--approver", "ci", "--dry-run")
    assert (dry.status, dry.out.splitlines()[-2]) == (0, "nothing new to record")
    ran = custody(proposed, "trust", "approve", "HEAD~1", "--agent", "bot", "--approver", "ci")
    assert (ran.status, answered(ran), ran.err) == (0, APPROVED, "")
    why = custody(proposed, "trust", "why", "bot")
    assert "(not counted)  merge without review accepted" in why.out
    assert "merged without review: counts after 14 days unless reverted" in why.out


def test_approve_tells_codes_and_what_it_is_bound_to(proposed: Path) -> None:
    ran = custody(proposed, "trust", "approve", "HEAD~1", "--json")
    report = json.loads(ran.out)
    assert (ran.status, report["report"], report["approved"], report["outcome"]) == (1, "trust-approve", False, "found")
    assert [reason["code"] for reason in report["reasons"]] == ["TRUST-UNKNOWN"]
    assert (report["rules_digest"], report["chain_head"]) == ("sha256:DIGEST", "sha256:DIGEST")


def test_approve_is_about_a_repository(proposed: Path) -> None:
    ran = custody(proposed, "trust", "--storage", "x", "approve", "HEAD~1")
    assert (ran.status, ran.out) == (2, "")
    assert "leave out --storage" in ran.err


@pytest.mark.parametrize(
    ("rules", "environment", "says"),
    [
        ("[trust]\ntier_score_min = [0.0, 0.2, 0.9, 0.6, 0.8]\n", {}, "falls from 0.9 (entry 3) to 0.6 (entry 4)"),
        ("", {"ANSIBEL_TRUST_THRESHOLD_HIGH": "0.3"}, "falls from 0.4 (entry 3) to 0.3 (entry 4)"),
        ("[trust]\nhalf_life = 3\n", {}, "half_life"),
        ("[trust]\nareas = ['billing']\n", {}, "'trust.areas' has 'billing', not a name, a colon"),
    ],
)
def test_rules_that_cannot_be_are_refused_and_nothing_is_recorded(
    repository: Path, rules: str, environment: dict[str, str], says: str
) -> None:
    (repository / "custody.toml").write_text(rules)
    ran = custody(repository, "trust", "record", "robot", "accepted", "HEAD", **environment)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err and "hint:" in ran.err
    (repository / "custody.toml").unlink()
    assert json.loads(custody(repository, "records", "--json").out)["total"] == 3


def test_a_commit_is_decided_once_and_the_way_out_is_reported(repository: Path) -> None:
    assert custody(repository, "trust", "record", "robot", "accepted", "HEAD").status == 0
    ran = custody(repository, "trust", "record", "robot", "rejected", "HEAD")
    assert (ran.status, ran.out) == (2, "")
    assert "is already decided" in ran.err and "custody trust record --overrides" in ran.err
    assert json.loads(custody(repository, "records", "--json").out)["total"] == 4


def test_every_verb_has_help_with_examples(tmp_path: Path) -> None:
    for verb in ("list", "show", "why", "record", "recover", "approve", "verify"):
        ran = custody(tmp_path, "trust", verb, "--help")
        assert (ran.status, "Examples:" in ran.out) == (0, True), verb


def test_what_the_library_keeps_in_a_folder_can_be_asked_too(tmp_path: Path) -> None:
    TrustLineageManager(tmp_path / ".ai-git").record_decision("agent-001", DecisionType.ACCEPTED, "abc1234")
    ran = custody(tmp_path, "trust", "--storage", ".ai-git", "list")
    assert (ran.status, ran.out.splitlines()[1].split()[:3]) == (0, ["agent-001", "0.58", "medium"])
    assert custody(tmp_path, "trust", "--storage", ".ai-git", "verify").status == 0


def test_damage_is_named_with_status_1(repository: Path) -> None:
    custody(repository, "trust", "list")
    with closing(sqlite3.connect(repository / ".git" / "custody" / "custody.db")) as db, db:
        db.execute("DELETE FROM record WHERE seq = 2")
    ran = custody(repository, "trust", "verify")
    assert ran.status == 1
    assert "CHAIN-GAP  record 2 is missing from chain STORE" in ran.out
    assert re.search(r"FAILED: \d+ problems? in 2 decisions about 1 agent\n$", ran.out)


def test_outside_a_repository_there_is_nothing_to_ask(tmp_path: Path) -> None:
    ran = custody(tmp_path, "trust", "list")
    assert (ran.status, ran.out) == (2, "")
    assert "hint:" in ran.err


@pytest.mark.parametrize(
    ("changes", "allowance"),
    [
        ({"reviews_needed": 4}, "nothing: needs 4 more reviews"),
        ({"reviews_needed": 1}, "nothing: needs 1 more review"),
        ({"decayed": True}, "nothing: rejected before"),
        ({"budget_hours": 6.0}, "200 lines in 6 hours"),
        ({"budget": 0}, "nothing"),
    ],
)
def test_an_agent_that_may_merge_nothing_says_why(changes: dict[str, float], allowance: str) -> None:
    line = msgspec.structs.replace(a_line("claude-code", "high", 200), **changes)
    report = TrustListReport(at="", profile="", rules_digest="", agents=[line])
    screen = Screen(columns=80, rows=24, is_terminal=True)
    assert screen.render(list(render_trust_list(report, screen))[1]).endswith(f"  {allowance}")
