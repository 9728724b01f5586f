"""``custody import`` as a user runs it: how it recognizes formats, and what it prints."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from custody.cli.import_ import STOPPED, _render_import, _summarize_agent_import
from custody.intake.wire import ImportAgentsReport
from tests.builders.cli import a_git_folder
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.transcripts import Transcript, a_transcript, project_name


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repo")


def a_session(repository: Path) -> Transcript:
    session = a_transcript("s1", repository.resolve()).prompt("make it two").edit("a.py", "one\n", "one", "two")
    return session.write("/elsewhere/b.py", None, "x\n").line(type="new-kind")


SAID = """\
Imported 1 session from 1 file ({records})
skipped 1 edit outside this repository, 1 line of unknown types (-v lists them)
"""
OUTSIDE = "'/elsewhere/b.py' is outside this repository: its edits are stored without a file"


def test_the_transcripts_of_an_agent_from_a_folder(repository: Path, tmp_path: Path) -> None:
    place = tmp_path / "projects"
    a_session(repository).put(place)
    for records in ("5 records", "0 records, 5 already imported"):
        ran = custody(repository, "import", "claude-code", "--transcripts", str(place))
        assert (ran.status, ran.out, ran.err) == (0, SAID.format(records=records), "")
    report = json.loads(custody(repository, "import", "claude-code", "--transcripts", str(place), "--json").out)
    assert report["problems"] == [{"file": f"{place}/s1.jsonl", "line": 5, "what": OUTSIDE}]


def test_the_agents_own_folder(repository: Path, tmp_path: Path) -> None:
    a_session(repository).put(tmp_path / "claude" / "projects" / project_name(repository.resolve()))
    ran = custody(repository, "import", "claude-code", "--json", CLAUDE_CONFIG_DIR=str(tmp_path / "claude"))
    report = json.loads(ran.out)
    assert (report["report"], report["files"], report["new"]) == ("import-transcripts", 1, 5)
    assert "a.py" in custody(repository, "log", "s1").out


def test_no_transcripts_at_all(repository: Path, tmp_path: Path) -> None:
    ran = custody(repository, "import", "claude-code", CLAUDE_CONFIG_DIR=str(tmp_path))
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == f"No sessions of Claude Code found for this repository in '{tmp_path}/projects'\n"


@pytest.mark.parametrize("whole", [True, False], ids=["folder", "file"])
def test_transcripts_are_known_by_what_is_in_them(repository: Path, tmp_path: Path, whole: bool) -> None:
    file = a_session(repository).put(tmp_path / "somewhere")
    ran = custody(repository, "import", str(file.parent if whole else file))
    assert ran.status == 0 and "(5 records)" in ran.out


def test_generic_events_are_known_by_what_is_in_them(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(an_event() + b"\n" + an_event("link") + b"\nrubbish\n")
    ran = custody(repository, "import", str(tmp_path / "events.jsonl"))
    assert (ran.status, ran.out) == (0, "Imported 2 events from 3 lines\n1 problem (-v lists them)\n")
    listed = custody(repository, "import", str(tmp_path / "events.jsonl"), "--verbose").out.splitlines()
    assert listed[1] == "1 problem" and listed[2].startswith(f"{tmp_path}/events.jsonl:3: not JSON")


def test_where_there_is_nothing(repository: Path, tmp_path: Path) -> None:
    ran = custody(repository, "import", "claude-code", "--transcripts", str(tmp_path / "gone"))
    assert (ran.status, ran.out) == (2, "")
    assert "cannot find" in ran.err
    ran = custody(repository, "import", str(tmp_path / "gone"), "--transcripts", str(tmp_path))
    assert ran.status == 2 and "works only with the name of an agent" in ran.err
    ran = custody(repository, "import", "claude")
    assert ran.status == 2 and "hint: pass a file, or an agent such as 'claude-code'" in ran.err


def test_problems_are_counted_in_one_line_and_listed_with_v(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "s.jsonl").write_text("bad\n" * 1002)
    ran = custody(repository, "import", str(tmp_path / "t"))
    assert ran.out == "Imported 0 sessions from 1 file (0 records)\n1,002 problems (-v lists them)\n"
    lines = custody(repository, "import", str(tmp_path / "t"), "-v").out.splitlines()
    assert lines[1:3] == ["1,002 problems", "Claude Code: 0 sessions, 0 records, 0 tool calls, 0 edits, 0 subagents"]
    assert lines[3].startswith(f"{tmp_path}/t/s.jsonl:1: ")
    assert (len(lines), lines[-1]) == (3 + 1000 + 1, "and 2 more problems")


def test_what_was_skipped_is_listed_with_v(repository: Path, tmp_path: Path) -> None:
    place = tmp_path / "projects"
    a_session(repository).put(place)
    ran = custody(repository, "import", "claude-code", "--transcripts", str(place), "-v")
    assert ran.out.splitlines() == [
        "Imported 1 session from 1 file (5 records)",
        "skipped 1 edit outside this repository, 1 line of unknown types",
        "Claude Code: 1 session, 5 records, 2 tool calls, 2 edits, 0 subagents",
        "unknown type 'new-kind': 1 line",
        f"{place}/s1.jsonl:5: {OUTSIDE}",
    ]


def test_the_sessions_of_all_agents_are_one_import(repository: Path, tmp_path: Path) -> None:
    a_session(repository).put(tmp_path / "claude" / "projects" / project_name(repository.resolve()))
    ran = custody(repository, "import", CLAUDE_CONFIG_DIR=str(tmp_path / "claude"))
    assert ran.out.splitlines() == [
        "Imported 1 session from 1 file (5 records)",
        "skipped 1 edit outside this repository, 1 line of unknown types (-v lists them)",
        (
            "No sessions found for Codex CLI, GitHub Copilot (VS Code and CLI), Cursor, Gemini CLI, opencode, Roo Code,"
            " Cline, Aider"
        ),
    ]


def test_a_repository_without_any_session_is_one_line(repository: Path) -> None:
    ran = custody(repository, "import")
    assert (ran.status, ran.out.count("\n")) == (0, 1)
    assert ran.out.startswith("No sessions found for Claude Code, Codex CLI, ")


def test_control_characters_of_a_transcript_are_escaped(repository: Path, tmp_path: Path) -> None:
    session = a_transcript("s1", repository.resolve()).write("/elsewhere/\x1b[31m.py", None, "x\n")
    session.line(type="\x1b]0;owned").put(tmp_path / "t")
    ran = custody(repository, "import", str(tmp_path / "t"), "-v")
    assert "\x1b" not in ran.out and "\\x1b[31m.py" in ran.out


def test_a_list_of_agents_that_cannot_be_read_stays_on_the_line(repository: Path) -> None:
    report = ImportAgentsReport(agents=[], without=["codex"], trouble={"cursor": "it is locked"})
    summary = _summarize_agent_import(report)
    assert list(_render_import(summary, verbose=False)) == [
        "No sessions found for Codex CLI",
        "cannot read the sessions of Cursor (-v lists them)",
    ]
    assert list(_render_import(summary, verbose=True))[-1] == "cannot read the sessions of Cursor: it is locked"


def stored(repository: Path) -> int:
    """Return the number of records in the store, while another process writes them."""
    try:
        with closing(sqlite3.connect(f"file:{repository}/.git/custody/custody.db?mode=ro", uri=True)) as db:
            (count,) = db.execute("SELECT count(*) FROM record").fetchone()
    except sqlite3.OperationalError:  # the store does not exist yet
        return 0
    return int(count)


def test_an_import_that_is_interrupted_says_how_to_continue(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_session(repository).put(tmp_path / "t")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("custody.intake.import_transcripts.import_transcripts", interrupt)
    ran = custody(repository, "import", str(tmp_path / "t"))
    assert (ran.status, ran.out) == (130, "")
    assert ran.err.split("\n") == [STOPPED, "", "stopped", ""]
    assert "run the same command again" in STOPPED


def test_an_import_that_is_killed_loses_nothing(repository: Path, tmp_path: Path) -> None:
    session = a_session(repository)
    for n in range(1000):
        session.edit("a.py", f"{n}\n", f"{n}", f"{n + 1}")
    session.put(tmp_path / "t")
    words = [sys.executable, "-m", "custody", "import", str(tmp_path / "t")]
    with subprocess.Popen(words, cwd=repository, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not stored(repository):
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL, "it was done before it was killed"
    ran = custody(repository, "import", str(tmp_path / "t"), "--json")
    report = json.loads(ran.out)
    assert report["new"] > 0 and report["known"] > 0, "it was killed in the middle"
    assert report["new"] + report["known"] == 2005
    assert custody(repository, "verify").status == 0
