"""A session of Copilot in a real repository: its lines are attributed through hooks, its own files, and both."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from custody.attribution.app.blame import blame
from custody.capture import TRANSCRIPT_READERS
from custody.cli.import_ import ImportKind, detect_import_kind
from custody.core.view_merge import merge_call_views
from custody.core.views import FileEdit, FileState, Prompt, Session, ToolCall
from custody.core.wire.report import ImportTranscriptsReport
from custody.core.wire.time import format_timestamp
from custody.intake.import_transcripts import import_transcripts
from custody.workspace.workspace import Workspace
from tests.builders.captured import views
from tests.builders.copilot import MODEL, SESSION, SHAPES, Copilot, run_copilot_hook
from tests.builders.hooks import a_hook_event, installed, run_hook
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository

OLD = "def price(item):\n    return item.cost\n\n\ndef total(items):\n    return sum(map(price, items))\n"
LINE, PIECE = "    return item.cost\n", "    return item.cost * (1 - item.discount)\n"
OWN = OLD.replace(LINE, PIECE)
WAYS = [(surface, shape) for surface, shapes in SHAPES.items() for shape in ("hooks", *shapes)]


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = a_repository(tmp_path / "repo")
    made.commit({b"src/app.py": OLD.encode(), b"README.md": b"read me\n"})
    made.checkout()
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's home, where both programs store their sessions."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("COPILOT_HOME", raising=False)
    return tmp_path / "home"


def a_session(built: Built, surface: str, **more: Any) -> Copilot:
    return Copilot(built.path, surface, at=format_timestamp(time.time_ns()), **more).prompt("give a discount")


def hooked(built: Built, session: Copilot) -> None:
    """Run the hook on all events that it has not recorded yet."""
    installed(built.path)
    for said in session.hooks:
        ran = run_copilot_hook(built.path, said)
        assert (ran.status, ran.out, ran.err) == (0, "", "")
    session.hooks.clear()


def imported(built: Built, place: Path | None = None) -> ImportTranscriptsReport:
    return import_transcripts(Workspace(built.path), TRANSCRIPT_READERS["copilot"], place)


def calls(built: Built) -> dict[str, ToolCall]:
    return {
        call.id: merge_call_views([one for one in views(built, ToolCall) if one.id == call.id])[0]
        for call in views(built, ToolCall)
    }


def agents_lines(built: Built, path: str = "src/app.py") -> list[int]:
    told = blame(Workspace(built.path), path).report.attributions
    return [n for one in told if one.kind == "agent" for n in range(one.start_line, one.end_line + 1)]


def put(built: Built, text: str, path: str = "src/app.py") -> None:
    (built.path / path).parent.mkdir(exist_ok=True)
    (built.path / path).write_text(text, encoding="utf-8")


# --- one way at a time ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("surface", "shape"), WAYS)
def test_the_agents_lines_are_attributed_to_the_agent(built: Built, home: Path, surface: str, shape: str) -> None:
    session = a_session(built, surface).replace("src/app.py", LINE, PIECE)
    if shape == "hooks":
        hooked(built, session)
    else:
        session.put(home, shape)
        report = imported(built)
        assert (report.problem_count, report.calls, report.edits) == (0, 1, 1)
    put(built, OWN)
    assert agents_lines(built) == [2]
    (answer,) = [one for one in blame(Workspace(built.path), "src/app.py").report.attributions if one.kind == "agent"]
    assert answer.agent == "copilot"
    assert answer.session_id == SESSION
    assert answer.grade == ("recorded" if shape == "hooks" else "claimed")
    told = shape in ("stream", "flat", "log", "document")
    assert answer.model_id == (MODEL if told else None)


@pytest.mark.parametrize(("surface", "shape"), WAYS)
def test_a_created_file_is_attributed_to_the_agent(built: Built, home: Path, surface: str, shape: str) -> None:
    text = "The price of an item\n\nIs what it costs.\n"
    session = a_session(built, surface).create("README.md", text)
    if shape == "hooks":
        hooked(built, session)
    else:
        session.put(home, shape)
        imported(built)
    put(built, text, "README.md")
    assert {1, 3} <= set(agents_lines(built, "README.md"))


def test_vscode_reports_an_edit_before_the_file_is_written(built: Built) -> None:
    session = a_session(built, "vscode").replace("src/app.py", LINE, PIECE)
    hooked(built, session)  # the file is still unchanged when the hook reports the end of the edit
    put(built, OWN)
    session.replace("src/app.py", "    return sum(map(price, items))\n", "    return sum(price(i) for i in items)\n")
    hooked(built, session)  # the next event finds the first edit done, and does not credit it to a person
    put(built, OWN.replace("sum(map(price, items))", "sum(price(i) for i in items)"))
    hooked(built, session.hook("Stop", stop_hook_active=False))
    assert agents_lines(built) == [2, 6]


def test_a_persons_lines_between_two_edits_are_not_the_agents(built: Built) -> None:
    hooked(built, a_session(built, "vscode").replace("src/app.py", LINE, PIECE))
    persons = OWN.replace("def total", "ROUNDING_OF_THE_SHOP = 2\n\n\ndef total")
    put(built, persons)
    later = a_session(built, "vscode", session="later").replace(
        "src/app.py", "map(price, items)", "map(price, sorted(items))"
    )
    hooked(built, later)
    put(built, persons.replace("map(price, items)", "map(price, sorted(items))"))
    assert agents_lines(built) == [2, 9]


@pytest.mark.parametrize("surface", ["cli", "vscode"])
def test_a_commands_writes_are_found_by_snapshots(built: Built, surface: str) -> None:
    session = a_session(built, surface).shell("python generate.py", "done")
    *before, after = session.hooks
    session.hooks = before
    hooked(built, session)
    put(built, OWN)
    session.hooks = [after]
    hooked(built, session)
    assert agents_lines(built) == [2]
    assert {state.call for state in views(built, FileState) if state.phase == "after"} <= set(calls(built))


def test_the_same_command_with_other_output_is_another_call(built: Built) -> None:
    session = a_session(built, "cli").shell("make", "made 1").shell("make", "made 2").shell("make", "made 2")
    hooked(built, session)
    assert len(calls(built)) == 2


@pytest.mark.parametrize("shape", ["stream", "log"])
def test_a_file_written_by_a_commands_own_text_is_the_agents(built: Built, home: Path, shape: str) -> None:
    surface = "cli" if shape == "stream" else "vscode"
    text = "the first long line\nthe second long line\n"
    a_session(built, surface).shell(f"cat > README.md <<'EOF'\n{text}EOF").put(home, shape)
    imported(built)
    put(built, text, "README.md")
    assert agents_lines(built, "README.md") == [1, 2]


def test_a_patch_is_read_in_every_field(built: Built, home: Path) -> None:
    patch = f"*** Begin Patch\n*** Update File: {built.path}/src/app.py\n@@\n-{LINE}+{PIECE}*** End Patch"
    a_session(built, "vscode").call("apply_patch", {"input": patch, "explanation": "x"}).put(home, "log")
    hooked(built, a_session(built, "cli", session="s-cli").call("apply_patch", patch, "Patched"))
    imported(built)
    put(built, OWN)
    assert agents_lines(built) == [2]
    assert {edit.session for edit in views(built, FileEdit)} == {SESSION, "s-cli"}


# --- both ways --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("surface", "shape"), [way for way in WAYS if way[1] not in ("hooks", "legacy")])
@pytest.mark.parametrize("hooks_first", [True, False])
def test_a_call_in_hooks_and_files_counts_once(
    built: Built, home: Path, surface: str, shape: str, hooks_first: bool
) -> None:
    session = a_session(built, surface).replace("src/app.py", LINE, PIECE).shell("git status", "clean")
    session.create("src/new.py", "new\n").read("README.md").replace("README.md", "x", "y", failed=True)
    session.put(home, shape)
    if hooks_first:
        hooked(built, session)
    imported(built)
    if not hooks_first:
        hooked(built, session)
    assert len(calls(built)) == 5
    names = {one.name for one in calls(built).values()}
    assert names == (
        {"Edit", "Bash", "Write", "Read"}
        if surface == "cli"
        else {"replace_string_in_file", "run_in_terminal", "create_file", "read_file"}
    )
    assert len({prompt.id for prompt in views(built, Prompt)}) == 1
    assert {one.id for one in views(built, Session)} == {SESSION}
    assert len({edit.id for edit in views(built, FileEdit)}) == 2
    put(built, OWN)
    assert agents_lines(built) == [2]


def test_a_chat_and_a_transcript_of_one_session_count_once(built: Built, home: Path) -> None:
    session = a_session(built, "vscode").replace("src/app.py", LINE, PIECE).read("README.md")
    for shape in ("transcript", "log", "document"):
        session.put(home, shape)
    assert imported(built).files == 3
    assert len(calls(built)) == 2
    assert {call.model for call in calls(built).values()} == {MODEL}


def test_importing_twice_changes_nothing(built: Built, home: Path) -> None:
    session = a_session(built, "cli").replace("src/app.py", LINE, PIECE)
    file = session.put(home, "stream")
    first = imported(built)
    assert imported(built).new == 0
    session.read("README.md").put(home, "stream")
    assert (imported(built).new, first.new) == (1, 3)
    assert file.is_file()


def test_an_unfinished_call_is_updated_when_it_ends(built: Built, home: Path) -> None:
    session = a_session(built, "cli").create("src/new.py", "new\n")
    whole, session.events = session.events, session.events[:-1]
    session.put(home, "stream")
    imported(built)
    assert [call.status.value for call in calls(built).values()] == ["running"]
    session.events = whole
    session.put(home, "stream")
    imported(built)
    assert [call.status.value for call in calls(built).values()] == ["ok"]


# --- which files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("surface", "shape"), [way for way in WAYS if way[1] != "hooks"])
def test_only_sessions_of_this_repository_are_imported(
    built: Built, home: Path, tmp_path: Path, surface: str, shape: str
) -> None:
    other = Copilot(tmp_path / "elsewhere", surface, session="other").prompt("hi").create("a.py", "a\n")
    other.put(home, shape)
    assert imported(built).files == 0
    assert imported(built, home).files == 1
    Copilot(built.path / "src", surface).prompt("hi").create("a.py", "a\n").put(home, shape)
    assert imported(built).files == 1


def test_a_window_without_a_folder_is_imported_if_it_names_a_file_here(built: Built, home: Path) -> None:
    folder = home / ".config/Code - Insiders/User/globalStorage/emptyWindowChatSessions"
    folder.mkdir(parents=True)
    ours, others = Copilot(built.path), Copilot("/elsewhere")
    (folder / "a.jsonl").write_text(ours.prompt("hi").create("a.py", "a\n").log(), encoding="utf-8")
    (folder / "b.jsonl").write_text(others.prompt("hi").create("a.py", "a\n").log(), encoding="utf-8")
    assert imported(built).files == 1


@pytest.mark.parametrize(
    ("root", "folders"),
    [
        ("/elsewhere/shop", ["/elsewhere/shop"]),
        ("/elsewhere/shop", ["/elsewhere/tools", "/elsewhere/shop"]),
        ("c:\\Users\\ana\\shop", ["c:\\Users\\ana\\shop"]),
    ],
)
def test_a_chat_that_was_exported_on_another_machine(
    built: Built, tmp_path: Path, root: str, folders: list[str]
) -> None:
    session = Copilot(root, at=format_timestamp(time.time_ns())).prompt("explain it").opened(*folders)
    text = "The price of an item\n\nIs what it costs.\n"
    named = f"{root}\\README.md" if "\\" in root else f"{root}/README.md"
    session.call("create_file", {"filePath": named, "content": text}, "Created")
    session.prompt("now a discount").replace("src/app.py", LINE, PIECE)
    (tmp_path / "chat.json").write_text(session.exported(), encoding="utf-8")
    report = imported(built, tmp_path / "chat.json")
    assert (report.problem_count, report.edits, report.sessions) == (0, 2, 1)
    put(built, text, "README.md")
    put(built, OWN)
    assert {1, 3} <= set(agents_lines(built, "README.md"))
    assert agents_lines(built) == [2]


def test_a_file_of_an_unknown_folder_is_not_attributed(built: Built, tmp_path: Path) -> None:
    session = Copilot("/elsewhere/shop").prompt("explain it").create("README.md", "The price of an item\n")
    (tmp_path / "chat.json").write_text(session.exported(), encoding="utf-8")
    assert imported(built, tmp_path / "chat.json").edits_without_file == 1


def test_copilots_folder_may_be_elsewhere(built: Built, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOT_HOME", str(home / "other"))
    (home / "other" / "session-state" / SESSION).mkdir(parents=True)
    file = home / "other" / "session-state" / SESSION / "events.jsonl"
    file.write_text(a_session(built, "cli").stream(), encoding="utf-8")
    a_session(built, "vscode", session="in-vscode").put(home, "log")
    assert imported(built).files == 2


@pytest.mark.parametrize(("surface", "shape"), [way for way in WAYS if way[1] != "hooks"])
def test_import_recognizes_files_by_name_and_by_content(
    built: Built, home: Path, tmp_path: Path, surface: str, shape: str
) -> None:
    file = a_session(built, surface).replace("src/app.py", LINE, PIECE).put(home, shape)
    moved = tmp_path / f"moved{file.suffix}"
    moved.write_bytes(file.read_bytes())
    reader = TRANSCRIPT_READERS["copilot"]
    assert detect_import_kind(Path("copilot")) == (ImportKind.AGENT, reader)
    assert detect_import_kind(moved) == (ImportKind.TRANSCRIPTS, reader)
    assert detect_import_kind(file.parent) == (ImportKind.TRANSCRIPTS, reader)
    ran = custody(built.path, "import", str(moved), "--json")
    assert ran.status == 0
    assert json.loads(ran.out)["edits"] == 1


def test_custody_import_copilot(built: Built, home: Path) -> None:
    a_session(built, "cli").replace("src/app.py", LINE, PIECE).put(home, "stream")
    ran = custody(built.path, "import", "copilot", "--json")
    assert (ran.status, json.loads(ran.out)["calls"]) == (0, 1)


# --- the hook ---------------------------------------------------------------------------------------------------------


def test_claude_codes_hook_leaves_copilots_events_to_copilots_hook(built: Built) -> None:
    installed(built.path)
    for session in (Copilot(built.path, "vscode"), Copilot(built.path, "cli")):
        for said in session.prompt("hi").read("README.md").hooks:
            assert run_hook(built.path, said, "--receipt").out == ""
    own = a_hook_event("UserPromptSubmit", built.path, prompt="hi", timestamp="2027-01-01T00:00:00Z")
    assert run_hook(built.path, own, "--receipt").out != "", "Claude Code may come to tell the time too"
    assert {prompt.agent for prompt in views(built, Prompt)} == {"claude-code"}


def test_the_other_spelling_of_the_clis_hooks_is_read_too(built: Built) -> None:
    installed(built.path)
    given = {"path": str(built.path / "src/app.py"), "old_str": LINE, "new_str": PIECE}
    around = {"sessionId": SESSION, "timestamp": 1_800_000_000_000, "cwd": str(built.path)}
    told = {**around, "toolName": "edit", "toolArgs": json.dumps(given)}
    result = {"resultType": "success", "textResultForLlm": "updated"}
    for event, said in (("preToolUse", told), ("postToolUse", {**told, "toolResult": result})):
        assert run_copilot_hook(built.path, said, "--event", event).status == 0
    put(built, OWN)
    assert agents_lines(built) == [2]
    assert len(calls(built)) == 1


def test_init_sets_both_programs_up_and_changes_no_tracked_file(built: Built, home: Path) -> None:
    ran = custody(built.path, "init", "--agent", "copilot", "--json")
    assert ran.status == 0, ran.err
    file = built.path / ".github/hooks/custody.json"
    said = json.loads(file.read_text(encoding="utf-8"))
    assert said["version"] == 1
    assert {"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit"} <= said["hooks"].keys()
    assert all(entry["type"] == "command" for entries in said["hooks"].values() for entry in entries)
    assert ".github/hooks/custody.json" in (built.path / ".git/info/exclude").read_text(encoding="utf-8")
    custody(built.path, "uninstall", "--yes")
    assert not file.exists()
    built.commit({b".github/hooks/custody.json": b"{}\n"})
    built.checkout()
    assert custody(built.path, "init", "--agent", "copilot", "--json").status == 0
    assert file.read_bytes() == b"{}\n"
    assert (home / ".copilot/hooks/custody.json").is_file()
