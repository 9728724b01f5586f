"""The status of each agent in doctor and init: its hooks, its last session, its files on disk."""

import json
import time
from pathlib import Path

import pytest

from custody.capture import TRANSCRIPT_READERS
from custody.core.wire.report import AgentReport
from custody.core.wire.time import format_timestamp
from custody.intake.import_transcripts import import_transcripts
from custody.intake.install.doctor import run_doctor_checks
from custody.intake.install.init import InitRequest, install_agent_hooks
from custody.intake.settings.agent_table import TITLES
from custody.workspace.workspace import Workspace
from tests.builders.gemini import Gemini, run_gemini_hook
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository

OLD = "def price(item):\n    return item.cost\n"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repo")
    made.commit({b"src/app.py": OLD.encode()})
    made.checkout()
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of Gemini CLI's chats."""
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path / "g"))
    return tmp_path / "g" / ".gemini" / "tmp"


def a_session(built: Built) -> Gemini:
    return Gemini(built.path, at=format_timestamp(time.time_ns())).prompt("please").write("src/new.py", None, "x = 1\n")


def seen(built: Built, agent: str = "gemini") -> AgentReport:
    return next(one for one in run_doctor_checks(Workspace(built.path)).agents if one.name == agent)


def test_every_agent_that_can_be_set_up_is_listed(built: Built) -> None:
    told = run_doctor_checks(Workspace(built.path)).agents
    assert [one.name for one in told] == list(TITLES)
    assert all(one.last is None and one.sessions == 0 for one in told)


def test_hooks_that_fire_have_their_last_time(built: Built, home: Path) -> None:
    assert seen(built).hooks == "not set up"
    install_agent_hooks(Workspace(built.path), InitRequest(agents=("gemini",)))
    assert (seen(built).hooks, seen(built).last_live) == ("set up", None)
    for said in a_session(built).hooks:
        run_gemini_hook(built.path, said)
    found = seen(built)
    assert found.last_live is not None and found.last == found.last_live
    assert found.sessions == 1


def test_incomplete_hooks_are_reported_and_why_new_ones_may_not_fire(built: Built, home: Path) -> None:
    install_agent_hooks(Workspace(built.path), InitRequest(agents=("gemini", "codex"), git_hooks=False))
    file = built.path / ".gemini/settings.json"
    settings = json.loads(file.read_text())
    del settings["hooks"]["AfterTool"]
    file.write_text(json.dumps(settings))
    assert (seen(built).hooks, seen(built).hint) == ("partly", None)
    file.write_text("{")
    assert seen(built).hooks == "unreadable"
    assert "reviewed" in (seen(built, "codex").hint or "")


def test_what_back_fill_would_add_is_counted_until_it_is_there(built: Built, home: Path) -> None:
    a_session(built).put(home)
    left = seen(built).backfill
    assert left is not None and (left.transcripts, left.new_sessions, left.trouble) == (1, 1, None)
    ran = custody(built.path, "doctor")
    assert "1 session not imported (run 'custody import gemini')" in ran.out
    import_transcripts(Workspace(built.path), TRANSCRIPT_READERS["gemini"], None)
    found = seen(built)
    assert found.backfill is not None and found.backfill.new_sessions == 0
    assert found.last is not None and found.last_live is None


def test_init_says_what_it_left_alone_and_what_lies_on_disk(built: Built, home: Path) -> None:
    a_session(built).put(home)
    (built.path / ".claude").mkdir()
    ran = custody(built.path, "init", "--agent", "gemini", "--no-git-hooks")
    assert "Folder in this repository, but not set up: Claude Code\n" in ran.out
    assert "nstalled" not in ran.out, "a folder that git tracks shows no installed agent"
    assert "Gemini CLI has 1 session on disk, not imported yet (run 'custody import gemini')" in ran.out


def test_init_names_agents_set_up_before_agents_without_hooks_and_agents_not_installed(
    built: Built, home: Path
) -> None:
    install_agent_hooks(Workspace(built.path), InitRequest(agents=("gemini",), git_hooks=False))
    (built.path / ".claude").mkdir()
    (built.path / ".claude/settings.json").write_text('{"disableAllHooks": true}')
    ran = custody(built.path, "init", "--agent", "claude-code", "--no-git-hooks")
    assert "Claude Code runs no hooks: 'disableAllHooks' in '" in ran.out
    assert "Already set up: Gemini CLI\n" in ran.out and "Installed, but not set up" not in ran.out
    ran = custody(built.path, "init", "--yes", "--no-git-hooks")
    assert "Not installed: Cursor, Codex CLI, opencode, GitHub Copilot (VS Code and CLI)\n" in ran.out


def test_a_transcript_that_cannot_be_read_costs_nothing_else(built: Built, home: Path) -> None:
    file = a_session(built).put(home)
    file.write_bytes(file.read_bytes()[:40] + b"\xff\xfe{")
    left = seen(built).backfill
    assert left is not None and left.transcripts == 1 and left.new_sessions == 0


def test_import_without_a_name_reads_every_agent(built: Built, home: Path) -> None:
    a_session(built).put(home)
    said = json.loads(custody(built.path, "import", "--json").out)
    assert [one["agent"] for one in said["agents"]] == ["gemini"] and said["agents"][0]["sessions"] == 1
    assert set(said["without"]) == set(TRANSCRIPT_READERS) - {"gemini"} and said["trouble"] == {}
    ran = custody(built.path, "import")
    assert ran.out.splitlines() == [
        "Imported 1 session from 1 file (0 records, 2 already imported)",
        (
            "No sessions found for Claude Code, Codex CLI, GitHub Copilot (VS Code and CLI), Cursor, opencode,"
            " Roo Code, Cline, Aider"
        ),
    ]
    assert custody(built.path, "import", "--texts").status == 2
