"""A Cursor session in a real repository: its lines are attributed through hooks, database and transcripts."""

from pathlib import Path

import pytest

from custody.attribution.app.blame import blame
from custody.core.view_merge import merge_call_views, merge_session_views
from custody.core.views import CommitLink, FileEdit, FileState, Session, SourceAccess, ToolCall
from custody.ledger.sessions import show_session_log
from custody.workspace.workspace import Workspace
from tests.builders.cursor import MODEL, SESSION
from tests.builders.cursor_sessions import (
    APP,
    BY_HAND,
    OLD,
    OWN,
    PIECE,
    a_session,
    a_shop,
    agents_lines,
    happened,
    imported,
    known_by,
    lines,
    views,
)
from tests.builders.hooks import home_of
from tests.builders.repo import Built

CHILD = "7a000002-2000-4000-8000-000000000002"
WAYS = ["hooks", "database", "transcript"]


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return a_shop(tmp_path / "repo")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's home, where Cursor stores its data."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CURSOR_CONFIG_DIR", raising=False)
    return tmp_path / "home"


# --- the agent's lines ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tool", ["StrReplace", "Write", "ApplyPatch"])
def test_the_agents_lines_are_attributed_to_the_agent(built: Built, home: Path, way: str, tool: str) -> None:
    session = a_session(built)
    if tool == "StrReplace":
        session.replace(APP, OLD, "    return item.cost\n", f"{PIECE}\n")
    elif tool == "Write":
        session.write(APP, OLD, OWN)
    else:
        patch = f"*** Begin Patch\n*** Update File: {APP}\n@@\n-    return item.cost\n+{PIECE}\n*** End Patch"
        session.patch(APP, OLD, OWN, patch)
    known_by(way, built, home, session)
    assert agents_lines(built) == [2]
    (answer,) = [one for one in blame(Workspace(built.path), APP).report.attributions if one.kind == "agent"]
    assert (answer.agent, answer.model_id) == ("cursor", None if way == "transcript" else MODEL)
    assert answer.grade == ("recorded" if way == "hooks" else "claimed")


@pytest.mark.parametrize("edit_last", [False, True])
def test_an_edit_reported_by_two_events_counts_once(built: Built, edit_last: bool) -> None:
    session = a_session(built).replace(APP, OLD, "    return item.cost\n", f"{PIECE}\n", edit_last=edit_last)
    happened(built, session)
    (call,) = merge_call_views(views(built, ToolCall))
    assert call.name == "StrReplace"
    seen = [state for state in views(built, FileState) if state.phase == "after"]
    assert {state.call for state in seen} == {call.id}
    assert {edit.call for edit in views(built, FileEdit)} == {call.id}
    assert agents_lines(built) == [2]


def test_a_persons_earlier_changes_are_not_the_agents(built: Built) -> None:
    by_hand = BY_HAND + OLD
    session = a_session(built).read(APP, OLD).person(APP, by_hand).person("notes.md", "written by hand\n")
    session.replace(APP, by_hand, "    return item.cost\n", f"{PIECE}\n").person("notes.md", "written by hand too\n")
    session.shell("true")
    happened(built, session)
    assert agents_lines(built) == [6]
    assert agents_lines(built, "notes.md") == []


def test_an_edit_with_a_single_event_is_found_by_snapshots_without_the_persons_lines(built: Built) -> None:
    by_hand = BY_HAND + OLD
    edits = [{"old_string": "    return item.cost\n", "new_string": f"{PIECE}\n"}]
    session = a_session(built).person(APP, by_hand).person("notes.md", "written by hand\n")
    session.alone(APP, edits, by_hand.replace("    return item.cost\n", f"{PIECE}\n"))
    made = "made_by_the_agent = True\n"
    session.alone("new.py", [{"old_string": "", "new_string": made}], made)
    happened(built, session)
    assert agents_lines(built) == [6]
    assert agents_lines(built, "notes.md") == []
    assert agents_lines(built, "new.py") == [1]
    assert {call.name for call in merge_call_views(views(built, ToolCall))} == {"Edit"}


def test_a_completion_is_the_agents_and_other_saved_lines_are_not(built: Built) -> None:
    typed = f"{OLD}\n\ndef tax(item):\n    ret"
    saved = f"{OLD}\n\ndef tax(item):\n    return item.cost * item.tax_rate\n"
    where = {"start_line_number": 10, "start_column": 8, "end_line_number": 10, "end_column": 8}
    edit = {"old_string": "", "new_string": "urn item.cost * item.tax_rate\n", "range": where, "old_line": "    ret"}
    session = a_session(built).person(APP, typed).tab(APP, edit, saved)
    happened(built, session)
    assert agents_lines(built) == [10]


def test_a_completion_in_an_unsaved_file_is_attributed_once_it_is_saved(built: Built) -> None:
    where = {"start_line_number": 8, "start_column": 5, "end_line_number": 8, "end_column": 5}
    edit = {"old_string": "", "new_string": "rate = item.tax_rate_of_its_country", "range": where, "old_line": "    "}
    happened(built, a_session(built).tab(APP, edit))
    (built.path / APP).write_text(f"{OLD}def tax(item):\n    rate = item.tax_rate_of_its_country\n")
    assert agents_lines(built) == [8]


# --- commands ---------------------------------------------------------------------------------------------------------


def test_each_commands_changes_are_found_by_snapshots(built: Built) -> None:
    session = a_session(built)
    for text in ("first_run = 1\n", "first_run = 1\nsecond_run = 2\n"):
        session.shell("make it", changing=(built.path / "made.py", text))
    happened(built, session)
    seen = [state for state in views(built, FileState) if state.phase == "after"]
    assert len({state.call for state in seen}) == 2
    assert {state.call for state in seen} == {call.id for call in merge_call_views(views(built, ToolCall))}
    assert agents_lines(built, "made.py") == [1, 2]


def test_commands_of_versions_without_call_names_are_calls(built: Built) -> None:
    session = a_session(built)
    for text in ("first_run = 1\n", "first_run = 1\nsecond_run = 2\n"):
        session.shell("make it", changing=(built.path / "made.py", text))
    session.told = [
        step for step in session.told if not isinstance(step, dict) or "ToolUse" not in step["hook_event_name"]
    ]
    happened(built, session)
    calls = merge_call_views(views(built, ToolCall))
    assert [(call.name, call.about, call.ended_ns is not None) for call in calls] == [("Shell", "make it", True)] * 2
    assert agents_lines(built, "made.py") == [1, 2]


def test_a_commands_writes_by_its_own_text_and_its_commit(built: Built, home: Path) -> None:
    head = built.head()
    session = a_session(built).shell("cat > src/made.py <<'EOF'\nmade_by_a_command = True\nEOF\n")
    session.shell("git add -A && git commit -qm x", f"[main {head[:7]}] x\n 1 file changed")
    session.shell("cat log", f"[main {head[:7]}] x").put_database(home)
    assert imported(built).problem_count == 0
    (built.path / "src" / "made.py").write_text("made_by_a_command = True\n")
    assert lines(built, "src/made.py") == {1: "agent"}
    assert [link.commit for link in views(built, CommitLink)] == [head]


# --- together ---------------------------------------------------------------------------------------------------------


def test_hooks_database_and_transcript_together_count_once(built: Built, home: Path) -> None:
    session = a_session(built).replace(APP, OLD, "    return item.cost\n", f"{PIECE}\n").shell("make").shell("make")
    session.read("README.md", "read me\n")
    happened(built, session)
    before = blame(Workspace(built.path), APP).report.attributions
    calls = {call.id for call in views(built, ToolCall)}
    session.put_database(home)
    session.put_transcript(home)
    report = imported(built)
    assert (report.files, report.problem_count) == (2, 0)
    after = blame(Workspace(built.path), APP).report.attributions
    assert [(one.kind, one.tier, one.grade) for one in after] == [(one.kind, one.tier, one.grade) for one in before]
    assert {call.id for call in views(built, ToolCall)} == calls
    assert len(merge_call_views(views(built, ToolCall))) == 4
    assert len({read.id for read in views(built, SourceAccess)}) == 1
    assert len(show_session_log(Workspace(built.path), SESSION).prompts) == 1
    whole = merge_session_views(views(built, Session))
    assert whole is not None and whole.model == MODEL


def test_names_of_open_calls_are_readable_by_their_owner_only(built: Built) -> None:
    happened(built, a_session(built).read("README.md", "read me\n"))
    kept = list((home_of(built.path) / "hook" / "open").iterdir())
    assert kept and all(path.stat().st_mode & 0o077 == 0 for path in kept)
