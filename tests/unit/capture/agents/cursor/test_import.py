"""Cursor's database and transcripts are found, read and imported; unreadable parts are reported."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from custody.cli.import_ import ImportKind, detect_import_kind
from custody.core.view_merge import merge_call_views
from custody.core.views import CallStatus, FileEdit, Prompt, Reading, SourceAccess, ToolCall
from custody.why.report import SubagentLink
from custody.why.why import why
from custody.workspace.workspace import Workspace
from tests.builders.cursor import SESSION, Cursor, put_lines, put_rows
from tests.builders.cursor_sessions import (
    APP,
    OLD,
    PIECE,
    a_session,
    a_shop,
    agents_lines,
    imported,
    known_by,
    views,
)
from tests.builders.in_process import custody
from tests.builders.repo import Built

CHILD = "7a000002-2000-4000-8000-000000000002"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return a_shop(tmp_path / "repo")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's home, where Cursor stores its data."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CURSOR_CONFIG_DIR", raising=False)
    return tmp_path / "home"


def test_a_grown_conversation_adds_what_is_new_and_a_second_import_nothing(built: Built, home: Path) -> None:
    session = a_session(built).replace(APP, OLD, "    return item.cost\n", f"{PIECE}\n")
    session.put_database(home)
    first = imported(built)
    assert (first.files, first.sessions, first.calls, first.edits, first.new) == (1, 1, 1, 1, 2)
    session.write("src/new.py", None, "a_new_file = True\n").put_database(home)
    assert imported(built).new == 1
    assert imported(built).new == 0


def test_files_with_lines_shown_by_a_search_are_excerpts(built: Built, home: Path) -> None:
    hits = {"matches": [{"file": "./src/app.py", "matches": [{"lineNumber": 2, "content": "    return item.cost"}]}]}
    found = {str(built.path): {"content": hits}, "/elsewhere": {"files": {"files": ["only/named.py"]}}}
    answer = {"success": {"pattern": "cost", "outputMode": "content", "workspaceResults": found}}
    session = a_session(built).call("Grep", {"pattern": "cost"}, "", name="grep", result=answer)
    session.put_database(home)
    imported(built)
    assert [(read.locator, read.reading) for read in views(built, SourceAccess)] == [
        (f"{built.path}/src/app.py", Reading.EXCERPT)
    ]


def test_an_unfinished_call_is_imported_once_it_ends(built: Built, home: Path) -> None:
    session = a_session(built).shell("make")
    session.bubbles[-1]["toolFormerData"]["status"] = "loading"
    session.put_database(home)
    assert imported(built).calls == 0
    session.bubbles[-1]["toolFormerData"]["status"] = "completed"
    session.put_database(home)
    assert imported(built).calls == 1


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("way", ["hooks", "database"])
def test_a_subagents_edits_are_its_own_under_the_call_that_started_it(
    built: Built, home: Path, way: str, joined: bool
) -> None:
    session = a_session(built)
    session.joined = joined
    child = session.subagent(CHILD)
    child.replace(APP, OLD, "    return item.cost\n", f"{PIECE}\n")
    known_by(way, built, home, session)
    calls = {call.name: call for call in merge_call_views(views(built, ToolCall))}
    edit = calls["StrReplace" if way == "hooks" else "edit_file_v2"]
    assert (edit.session, edit.subagent, edit.model) == (SESSION, CHILD, "cursor-grok-4.5")
    assert agents_lines(built) == [2]
    chain = why(Workspace(built.path), APP, 2).chain
    assert [link.id for link in chain if isinstance(link, SubagentLink)] == [CHILD]
    assert "not captured" not in why(Workspace(built.path), APP, 2).ends


def test_a_call_whose_name_is_two_ids_counts_once(built: Built, home: Path) -> None:
    session = a_session(built)
    session.joined = True
    session.replace(APP, OLD, "    return item.cost\n", f"{PIECE}\n").shell("make", "done")
    known_by("hooks", built, home, session)
    hooked = {call.id for call in views(built, ToolCall)}
    assert (len(hooked), agents_lines(built)) == (2, [2])
    session.put_database(home)
    assert imported(built).problem_count == 0
    assert {call.id for call in views(built, ToolCall)} == hooked
    assert agents_lines(built) == [2]


def test_a_subagents_transcript_is_part_of_the_session_and_the_database_knows_its_call(
    built: Built, home: Path
) -> None:
    session = a_session(built)
    session.subagent(CHILD).shell("ls")
    file = session.put_transcript(home)
    report = imported(built, file.parent)
    assert (report.files, report.sessions, report.subagents, report.subagents_unattached) == (2, 1, 1, 1)


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({"status": "cancelled"}, CallStatus.ABANDONED),
        ({"status": "error"}, CallStatus.FAILED),
        ({"additionalData": {"status": "rejected"}}, CallStatus.ABANDONED),
        ({"result": {"rejected": True}}, CallStatus.ABANDONED),
        ({"userDecision": "rejected"}, CallStatus.ABANDONED),
    ],
)
def test_a_refused_or_failed_edit_changes_nothing(
    built: Built, home: Path, told: dict[str, Any], status: CallStatus
) -> None:
    session = a_session(built).replace(APP, OLD, "    return item.cost\n", f"{PIECE}\n")
    session.bubbles[-1]["toolFormerData"] |= told
    session.put_database(home)
    report = imported(built)
    assert (report.calls, report.edits, views(built, FileEdit)) == (1, 0, [])
    assert [call.status for call in views(built, ToolCall)] == [status]


# --- bad input --------------------------------------------------------------------------------------------------------


def test_a_locked_database_is_reported_and_not_written_to(built: Built, home: Path) -> None:
    file = a_session(built).shell("make").put_database(home)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        report = imported(built)
    assert [problem.what for problem in report.problems] == [
        "cannot read: locked by another program: close it and import again (database is locked)"
    ]
    assert imported(built).new == 2
    assert [path.name for path in file.parent.iterdir()] == ["state.vscdb"]


def test_a_database_in_use_is_read_and_not_changed(built: Built, home: Path) -> None:
    file = a_session(built).shell("make").put_database(home, "wal")
    with closing(sqlite3.connect(file, isolation_level=None)) as running:
        running.execute("INSERT INTO cursorDiskKV VALUES ('later', 'x')")
        before = {path.name: path.read_bytes() for path in file.parent.iterdir() if path.suffix != ".vscdb-shm"}
        assert imported(built).new == 2
        assert {path.name: path.read_bytes() for path in file.parent.iterdir() if path.name in before} == before


def test_the_complete_part_of_a_damaged_database_is_read_and_the_rest_reported(built: Built, home: Path) -> None:
    session = a_session(built).shell("make")
    file = session.put_database(home)
    put_rows(file, {f"bubbleId:{SESSION}:odd": '{"type": 2, "toolForm', f"bubbleId:{SESSION}:none": ""})
    report = imported(built)
    assert (report.new, report.problem_count) == (2, 2)
    assert all("is not a complete JSON object" in problem.what for problem in report.problems)
    file.write_bytes(file.read_bytes()[:5000])
    cut = imported(built)
    assert cut.problem_count == 1 and cut.problems[0].what.startswith("cannot read: ")


def test_the_complete_lines_of_a_truncated_transcript_are_read(built: Built, home: Path) -> None:
    file = a_session(built).shell("make").put_transcript(home)
    with file.open("a", encoding="utf-8") as open_file:
        open_file.write('\n{"role":"assistant","message":{"cont')
    report = imported(built)
    assert (report.new, [problem.line for problem in report.problems]) == (2, [3])


def test_unknown_fields_types_and_versions_are_ignored(built: Built, home: Path) -> None:
    session = a_session(built).shell("make")
    for bubble in session.bubbles:
        bubble |= {"_v": 99, "hologram": {"deep": [1]}}
    session.bubble(7, text="of an unknown kind")
    rows = session.rows()
    rows[f"composerData:{SESSION}"] = json.dumps({**session.composer(), "_v": 99, "novel": {}})
    put_rows(session.put_database(home), rows)
    put_lines(
        home / ".cursor/projects/x/agent-transcripts/o.jsonl", [{"type": "hologram"}, {"type": "turn_ended", "v": 9}]
    )
    report = imported(built)
    assert (report.new, report.problem_count, report.versions) == (2, 0, ["composerData 99"])
    assert report.unknown_types == {"bubble 7": 1}
    other = imported(built, home / ".cursor/projects/x")
    assert other.unknown_types == {"hologram": 1}


# --- finding them -----------------------------------------------------------------------------------------------------


def test_conversations_of_other_projects_are_left_alone(built: Built, home: Path, tmp_path: Path) -> None:
    other = Cursor(tmp_path / "other").prompt("x")
    other.put_database(home)
    other.put_transcript(home)
    assert imported(built).files == 0


def test_a_conversation_that_only_its_workspace_lists_is_found(built: Built, home: Path) -> None:
    session = a_session(built).shell("make")
    rows = session.rows()
    whole = session.composer()
    del whole["workspaceIdentifier"]
    rows[f"composerData:{SESSION}"] = json.dumps({**whole, "_v": 10})
    user = put_rows(session.put_database(home), rows).parents[1]
    workspace = user / "workspaceStorage" / "0123"
    listed = put_rows(workspace / "state.vscdb", {})
    with closing(sqlite3.connect(listed)) as db, db:
        said = json.dumps({"allComposers": [{"composerId": SESSION}]})
        db.execute("INSERT INTO ItemTable VALUES ('composer.composerData', ?)", (said,))
    (workspace / "workspace.json").write_text(json.dumps({"folder": built.path.as_uri()}))
    assert imported(built).new == 2


def test_import_accepts_the_agents_name_or_a_path(built: Built, home: Path) -> None:
    session = a_session(built).replace(APP, OLD, "    return item.cost\n", f"{PIECE}\n")
    file = session.put_database(home)
    ran = custody(built.path, "import", "cursor", "--json")
    said = json.loads(ran.out)
    assert (ran.status, said["agent"], said["new"]) == (0, "cursor", 2)
    again = json.loads(custody(built.path, "import", str(file), "--json").out)
    assert (again["agent"], again["new"], again["known"]) == ("cursor", 0, 2)


def test_a_file_is_recognized_by_its_content(built: Built, tmp_path: Path) -> None:
    session = a_session(built).shell("make")
    text = tmp_path / "t" / "agent-transcripts" / "a.txt"
    text.parent.mkdir(parents=True)
    text.write_text("user:\n<user_query>\nhello\n</user_query>\n")
    database, transcript = session.put_database(tmp_path / "d"), session.put_transcript(tmp_path / "l")
    for place in (database, tmp_path / "d", transcript, tmp_path / "l", text, text.parent):
        what, reader = detect_import_kind(place)
        assert (what, reader and reader.agent) == (ImportKind.TRANSCRIPTS, "cursor"), place
    what, reader = detect_import_kind(Path("cursor"))
    assert (what, reader and reader.agent) == (ImportKind.AGENT, "cursor")


def test_a_text_transcript_has_prompts_calls_and_files_read(built: Built, home: Path) -> None:
    folder = home / ".cursor" / "projects" / "x" / "agent-transcripts"
    folder.mkdir(parents=True)
    said = (
        "user:\n<user_query>\nfix it\n</user_query>\n\nassistant:\n[Thinking] hm\n[Tool call] Read\n  path: README.md\n"
        "\n[Tool result] Read\nread me\n\nassistant:\n[Tool call] StrReplace\n  path: src/app.py\n  old_string: a\n"
    )
    (folder / "11112222-aaaa.txt").write_text(said)
    report = imported(built, folder)
    assert (report.new, report.calls, report.problem_count) == (3, 2, 0)
    assert [prompt.text.content for prompt in views(built, Prompt)] == ["fix it"]
    assert [read.locator for read in views(built, SourceAccess)] == ["README.md"]
    assert views(built, FileEdit) == []
