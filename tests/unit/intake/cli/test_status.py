"""``custody`` without a verb."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from custody.core.wire.report import AgentReport, BackFill
from custody.intake.cli.status import render_repository_status
from custody.intake.install.repository_status import RepositoryStatus
from custody.terminal.screen import Screen
from tests.builders.cli import a_git_folder, recorded, spool_of
from tests.builders.in_process import custody
from tests.builders.transcripts import a_transcript, project_name

NOON_NS = 1_772_539_200 * 10**9
"""2026-03-03T12:00:00Z"""
NARROW = Screen(columns=80, rows=24, is_terminal=True)
WIDE = Screen(columns=120, rows=24, is_terminal=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", os.pathsep.join(["/usr/local/bin", "/usr/bin", "/bin"]))
    return a_git_folder(tmp_path / "repository")


def an_agent(title: str = "Claude Code", **fields: object) -> AgentReport:
    usual = {
        "name": "claude-code",
        "title": title,
        "here": True,
        "hooks": "set up",
        "last_live": None,
        "last": "2026-03-03T11:00:00Z",
        "sessions": 12,
        "backfill": None,
        "hint": None,
    }
    return AgentReport(**{**usual, **fields})  # type: ignore[arg-type]  # fields of the report


def rendered(
    *agents: AgentReport, screen: Screen = WIDE, path: str = "/home/ana/shop", records: int = 1204
) -> list[str]:
    status = RepositoryStatus(Path(path), agents, records)
    return [screen.render(line) for line in render_repository_status(status, screen, NOON_NS)]


def test_outside_a_repository(tmp_path: Path) -> None:
    ran = custody(tmp_path)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        "custody shows who wrote each line of a git repository, but this folder is not in one\n"
        "hint: run it inside a git repository, or see 'custody --help'\n"
    )


def test_a_fresh_repository_creates_no_store(repository: Path) -> None:
    ran = custody(repository)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        "Recording is not set up in this repository\n"
        "  repository  FOLDER\n"
        "  recorded    0 sessions, 0 records\n"
        "hint: run 'custody init --agent NAME' to record an agent, or 'custody demo' to try a sample repository\n"
    )
    assert not (repository / ".git" / "custody").exists()


def test_an_agent_that_is_found_but_not_set_up(repository: Path) -> None:
    (repository / ".gemini").mkdir()
    assert custody(repository).out.splitlines()[2:] == [
        "  agents found  Gemini CLI",
        "  recorded      0 sessions, 0 records",
        "hint: run 'custody init' to record this agent",
    ]


def test_an_agent_that_is_installed_but_not_used_here(repository: Path) -> None:
    (Path(os.environ["HOME"]) / ".gemini").mkdir()
    lines = custody(repository).out.splitlines()
    assert lines[2] == "  agents found  Gemini CLI"
    assert lines[-1] == "hint: run 'custody init --agent gemini' to record it"


def test_set_up_without_a_session(repository: Path) -> None:
    custody(repository, "init", "--agent", "claude-code")
    lines = custody(repository).out.splitlines()
    assert lines[0] == "Recording is set up for Claude Code"
    assert lines[-1] == "hint: work with an agent, then run 'custody log'"
    assert not (repository / ".git" / "custody" / "custody.db").exists()


def test_recorded_sessions_are_counted(repository: Path) -> None:
    custody(repository, "init", "--agent", "claude-code")
    recorded(repository)
    lines = custody(repository).out.splitlines()
    assert lines[2].startswith("  recorded    1 session, 3 records, last session ")
    assert lines[-1] == "hint: run 'custody blame FILE' to see who wrote each line, 'custody why FILE:LINE' to see why"


def test_pending_events_are_counted_and_stay_pending(repository: Path) -> None:
    recorded(repository)
    home = repository / ".git" / "custody"
    before = sorted((path, path.stat().st_mtime_ns) for path in home.rglob("*"))
    pending = spool_of(repository).names()
    assert "  recorded    1 session, 3 records, last session " in custody(repository).out
    assert (spool_of(repository).names(), len(pending)) == (pending, 3)
    assert sorted((path, path.stat().st_mtime_ns) for path in home.rglob("*")) == before


def test_sessions_on_disk_are_imported_next(repository: Path, tmp_path: Path) -> None:
    custody(repository, "init", "--agent", "claude-code")
    projects = tmp_path / "claude" / "projects" / project_name(repository.resolve())
    a_transcript("s1", repository.resolve()).prompt("make it two").put(projects)
    lines = custody(repository, CLAUDE_CONFIG_DIR=str(tmp_path / "claude")).out.splitlines()
    assert lines[-2:] == [
        "  not imported  1 session on disk (Claude Code 1)",
        "hint: run 'custody import' to import this session",
    ]
    assert not (repository / ".git" / "custody" / "custody.db").exists()


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    assert custody(tmp_path, "-C", "gone").status == 2


def test_help_is_still_the_overview(repository: Path) -> None:
    ran = custody(repository, "--help")
    assert ran.status == 0 and ran.out.startswith("Usage: custody [OPTIONS] COMMAND [ARGS]...")


@pytest.mark.parametrize("screen", [NARROW, WIDE])
def test_everything_at_once_fits(screen: Screen) -> None:
    missing = BackFill(transcripts=9, new_sessions=7, looked_at=9, trouble=None)
    agents = (an_agent(backfill=missing), an_agent("Codex CLI", last=None, sessions=0, backfill=missing))
    assert rendered(*agents, screen=screen) == [
        "Recording is set up for Claude Code, Codex CLI",
        "  repository    /home/ana/shop",
        "  recorded      12 sessions, 1,204 records, last session 1 hour ago",
        "  not imported  14 sessions on disk (Claude Code 7, Codex CLI 7)",
        "hint: run 'custody import' to import these sessions",
    ]


def test_hooks_that_do_not_work_come_first() -> None:
    lines = rendered(an_agent(hooks="off"), an_agent("Codex CLI"))
    assert lines[0] == "Recording is set up for Codex CLI"
    assert lines[2] == "  problems    Claude Code (hooks disabled)"
    assert lines[-1] == "hint: run 'custody doctor' to see what to fix"


def test_color_and_control_characters() -> None:
    screen = Screen(columns=80, rows=24, is_terminal=True, has_color=True)
    lines = rendered(an_agent(), screen=screen, path="/home/\x1b[31mred")
    assert lines[1] == "\x1b[2m  repository\x1b[0m  /home/\\x1b[31mred"
    assert lines[-1].startswith("\x1b[2mhint: ") and lines[-1].endswith("\x1b[0m")


def git(repository: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=repository, check=True, capture_output=True)


@pytest.fixture
def others(repository: Path) -> Path:
    """A repository with the evidence of every other attribution tool."""
    (repository / ".agent-trace").mkdir()
    (repository / "a.py").write_text("x = 1\n")
    for words in (("add", "a.py"), ("commit", "--quiet", "-m", "x"), ("notes", "--ref", "ai", "add", "-m", "no note")):
        git(repository, *words)
    git(repository, "update-ref", "refs/remotes/origin/entire/checkpoints/v1", "HEAD")
    return repository


IMPORTS = [
    "hint: run 'custody import entire' to import what Entire recorded here",
    "hint: run 'custody import git-ai' to import what git-ai recorded here",
    "hint: run 'custody import .agent-trace' to import what Agent Trace recorded here",
]


def test_evidence_of_other_tools_is_named_with_the_command_that_imports_it(others: Path) -> None:
    lines = custody(others).out.splitlines()
    assert lines[-3:] == IMPORTS
    assert "  other tools  Entire, git-ai, Agent Trace, not imported" in lines
    assert custody(others, "import").out.splitlines()[-3:] == IMPORTS
    assert custody(others, "init", "--agent", "claude-code").out.splitlines()[-3:] == IMPORTS


def test_a_local_branch_of_checkpoints_counts_and_one_like_it_does_not(repository: Path, others: Path) -> None:
    git(others, "update-ref", "-d", "refs/remotes/origin/entire/checkpoints/v1")
    git(others, "update-ref", "refs/heads/my-entire/checkpoints/v1", "HEAD")
    git(others, "update-ref", "refs/remotes/origin/topic/entire/checkpoints/v1", "HEAD")
    assert custody(others).out.splitlines()[-3:] != IMPORTS
    git(others, "update-ref", "refs/heads/entire/checkpoints/v1", "HEAD")
    assert custody(others).out.splitlines()[-3:] == IMPORTS


def test_imported_traces_are_not_offered_again(others: Path) -> None:
    trace = {"version": "0.1.0", "id": "00000000-0000-4000-8000-000000000001", "timestamp": "2026-03-01T00:00:00Z"}
    (others / ".agent-trace" / "traces.jsonl").write_text(json.dumps({**trace, "files": []}) + "\n")
    assert custody(others, "import", ".agent-trace").status == 0
    assert custody(others, "import").out.splitlines()[-1] == IMPORTS[0]
