"""Copilot's hook events, of VS Code and of the CLI, become views; invalid content is ignored, never guessed."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import hook_views
from custody.capture.agents.copilot.hook_events import EVENTS
from custody.capture.agents.copilot.tool_calls import EDITING, extract_file_changes, normalize_tool_name
from custody.capture.hook.call_name import (
    COPILOTS,
    find_copilot_call_id,
    list_copilot_edited_files,
    make_copilot_call_id,
    strip_tool_call_number,
)
from custody.capture.hook.snapshot import choose_snapshot_phase
from custody.core.paths import RepoPath
from custody.core.views import (
    CallStatus,
    FileEdit,
    Observation,
    Prompt,
    PullRequestFact,
    Reading,
    Session,
    SourceAccess,
    ToolCall,
    View,
)
from custody.core.wire.body import OUTPUT_BYTES_MAX, trim_event_output
from custody.core.wire.canonical import parse_json_bytes
from tests.builders.copilot import MODEL, SESSION, TOOLS, Copilot

ROOT = Path("/work tree")
AT = "2026-01-31T12:00:00.5Z"
PAGE = "https://example.org/page"
SURFACES = ["cli", "vscode"]


def seen(payload: dict[str, Any], **around: Any) -> list[View]:
    """Return the views of one event, without the observation that every event has; the call is named as by the hook."""
    named = payload.get("tool_use_id")
    event = payload.get("hook_event_name", "unknown")
    told = {
        "custody": 1,
        "kind": "hook",
        "agent": "copilot",
        "event": event,
        "id": "e1",
        "at": AT,
        "session": payload.get("session_id", payload.get("sessionId")),
        "call": strip_tool_call_number(named) if isinstance(named, str) else None,
        "head": "a" * 40,
        "worktree": str(ROOT),
        "folder": str(ROOT),
        "payload": payload,
        **around,
    }
    first, *rest = hook_views(parse_json_bytes(json.dumps({k: v for k, v in told.items() if v is not None}).encode()))
    assert isinstance(first, Observation)
    return rest


def last(session: Copilot, **around: Any) -> list[View]:
    """Return the views of the last hook event."""
    return seen(session.hooks[-1], **around)


def one(views: list[View], kind: type[View]) -> Any:
    (found,) = [view for view in views if isinstance(view, kind)]
    return found


def reads(views: list[View]) -> list[tuple[str, Reading, bool]]:
    return [(view.locator, view.reading, view.failed) for view in views if isinstance(view, SourceAccess)]


# --- edits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", SURFACES)
def test_a_replacement_is_the_piece_that_was_replaced(surface: str) -> None:
    views = last(Copilot(ROOT, surface).replace("src/a.py", "one\n", "1\n"))
    edit, call = one(views, FileEdit), one(views, ToolCall)
    assert (edit.path, edit.part, edit.call) == (RepoPath(b"src/a.py"), True, call.id)
    assert (edit.before.content, edit.after.content) == ("one\n", "1\n")
    assert (call.name, call.status) == (normalize_tool_name(TOOLS[surface]["replace"]), CallStatus.OK)
    assert ":shell:" in edit.id, "what a look at the disk shows says more"


@pytest.mark.parametrize("surface", SURFACES)
def test_a_created_file_has_no_previous_text(surface: str) -> None:
    edit = one(last(Copilot(ROOT, surface).create("a.py", "one\n")), FileEdit)
    assert (edit.before, edit.after.content, edit.part) == (None, "one\n", False)


def test_several_replacements_are_several_pieces() -> None:
    pieces = [{"filePath": f"{ROOT}/{name}", "oldString": "one", "newString": "1"} for name in ("a.py", "b.py", "a.py")]
    views = last(Copilot(ROOT).call("multi_replace_string_in_file", {"explanation": "x", "replacements": pieces}))
    edits = [view for view in views if isinstance(view, FileEdit)]
    assert [edit.path for edit in edits] == [RepoPath(name) for name in (b"a.py", b"b.py", b"a.py")]
    assert len({(edit.path, edit.id) for edit in edits}) == 3


@pytest.mark.parametrize(
    ("surface", "tool", "given_"),
    [
        ("vscode", "apply_patch", {"input": "*** Begin Patch\n*** Add File: a.py\n+one\n*** End Patch"}),
        ("cli", "apply_patch", "*** Begin Patch\n*** Add File: a.py\n+one\n*** End Patch"),
    ],
)
def test_a_patch_is_read_as_an_object_and_as_a_text(surface: str, tool: str, given_: Any) -> None:
    edit = one(last(Copilot(ROOT, surface).call(tool, given_, "ok")), FileEdit)
    assert (edit.path, edit.after.content) == (RepoPath(b"a.py"), "one\n")


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ({"command": "create", "path": "a.py", "file_text": "one\n"}, [(None, "one\n", False)]),
        ({"command": "str_replace", "path": "a.py", "old_str": "one", "new_str": "1"}, [("one", "1", True)]),
        ({"command": "insert", "path": "a.py", "insert_line": 3, "new_str": "new\n"}, [("", "new\n", True)]),
        ({"command": "view", "path": "a.py"}, []),
        ({"path": "a.py", "old_str": "", "new_str": "all\n"}, [(None, "all\n", False)]),
    ],
)
def test_the_editor_of_older_versions(given_: dict[str, Any], expected: list[tuple[Any, ...]]) -> None:
    views = last(Copilot(ROOT, "cli").call("str_replace_editor", given_, "ok"))
    edits = [view for view in views if isinstance(view, FileEdit)]
    told = [(e.before.content if e.before else None, e.after.content if e.after else None, e.part) for e in edits]
    assert told == expected


def test_a_hint_is_not_an_edit() -> None:
    code = {"filePath": f"{ROOT}/a.py", "code": "// ...existing code...\nnew()\n// ...existing code..."}
    views = last(Copilot(ROOT).call("insert_edit_into_file", code, "ok"))
    assert [type(view) for view in views] == [ToolCall]


@pytest.mark.parametrize("name", ["/elsewhere/a.py", "../a.py", "C:\\a.py", "/work tree/../a.py"])
@pytest.mark.parametrize("surface", SURFACES)
def test_a_file_outside_the_repository_gives_a_call_and_no_edit(surface: str, name: str) -> None:
    session = Copilot(ROOT, surface)
    session.call(TOOLS[surface]["create"], {"path": name, "content": "x\n"}, "ok")
    assert [type(view) for view in last(session)] == [ToolCall]


def test_a_failed_edit_changes_nothing() -> None:
    session = Copilot(ROOT, "cli").replace("a.py", "one", "1", failed=True)
    assert session.hooks[-1]["hook_event_name"] == "PostToolUseFailure"
    assert one(last(session), ToolCall).status is CallStatus.FAILED
    assert not [view for view in last(session) if isinstance(view, FileEdit)]


def test_a_refused_call_changes_nothing() -> None:
    session = Copilot(ROOT, "cli").replace("a.py", "one", "1")
    session.hooks[-1]["tool_result"]["result_type"] = "rejected"
    assert one(last(session), ToolCall).status is CallStatus.FAILED
    assert not [view for view in last(session) if isinstance(view, FileEdit)]


def test_an_erased_text_is_reported_as_erased() -> None:
    session = Copilot(ROOT).replace("a.py", "one", "1")
    session.hooks[-1]["tool_input"]["oldString"] = {"$erased": f"sha256:{'0' * 64}"}
    edit = one(last(session), FileEdit)
    assert edit.after is None or edit.after.content is None


# --- calls ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", SURFACES)
def test_a_call_has_one_name_from_start_to_end(surface: str) -> None:
    begun, ended = (seen(said) for said in Copilot(ROOT, surface).create("a.py", "x\n").hooks[-2:])
    assert one(begun, ToolCall).id == one(ended, ToolCall).id
    assert one(begun, ToolCall).status is CallStatus.RUNNING


def test_vscodes_number_is_not_part_of_a_calls_name() -> None:
    session = Copilot(ROOT).read("a.py")
    assert "__vscode-" in session.hooks[-1]["tool_use_id"]
    assert "__vscode-" not in one(last(session), ToolCall).id


def test_a_command_of_the_cli_is_named_when_it_has_ended() -> None:
    session = Copilot(ROOT, "cli").shell("make", "made")
    assert seen(session.hooks[-2]) == []
    assert one(last(session), ToolCall).id == make_copilot_call_id(
        "bash", {"command": "make", "description": "Run it"}, "made\n<exited with exit code 0>"
    )


@pytest.mark.parametrize("shown", ["x" * 5000, "Output too large to read at once (43 KB). Saved to: /tmp/1"])
def test_a_long_output_does_not_name_a_command(shown: str) -> None:
    assert make_copilot_call_id("bash", {"command": "make"}, shown) == make_copilot_call_id(
        "Bash", '{"command":"make"}', None
    )


def test_the_names_of_both_spellings_are_one() -> None:
    for tool, other in (("edit", "Edit"), ("apply_patch", "Edit"), ("create", "Write"), ("own_tool", "own_tool")):
        assert make_copilot_call_id(tool, {"a": 1, "b": 2}, "words") == make_copilot_call_id(
            other, json.dumps({"b": 2, "a": 1}), None
        )
    assert make_copilot_call_id("edit", {"a": 1}, None) != make_copilot_call_id("edit", {"a": 2}, None)


def test_the_cli_in_its_own_spelling() -> None:
    told = {"sessionId": SESSION, "timestamp": 1, "cwd": str(ROOT), "toolName": "bash"}
    given_ = json.dumps({"command": "git commit -m x"})
    result = {"resultType": "success", "textResultForLlm": f"[main {'c' * 40}] x\n<exited with exit code 0>"}
    for event in ("postToolUse", "unknown"):
        views = seen({**told, "toolArgs": given_, "toolResult": result}, event=event)
        call = one(views, ToolCall)
        assert (call.name, call.about, call.status) == ("Bash", "git commit -m x", CallStatus.OK)
    assert one(seen({**told, "toolArgs": "{}", "error": "no"}, event="unknown"), ToolCall).status is CallStatus.FAILED
    assert one(seen({"sessionId": SESSION, "prompt": "hi"}, event="userPromptSubmitted"), Prompt).text.content == "hi"
    assert one(seen({"sessionId": SESSION, "prompt": "hi"}, event="unknown"), Prompt).text.content == "hi"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("no\n<exited with exit code 3>", CallStatus.FAILED),
        ("no\n<command with shellId: 3 exited with exit code 1>", CallStatus.FAILED),
        ("no\n<shellId: 1 completed with exit code 3>", CallStatus.FAILED),
        ("yes\n<shellId: 1 completed with exit code 0>", CallStatus.OK),
        ("<command started in background with shellId: 0>", CallStatus.OK),
    ],
)
def test_a_commands_last_line_has_its_exit_code(words: str, status: CallStatus) -> None:
    views = last(Copilot(ROOT, "cli").call("bash", {"command": "make"}, words))
    assert one(views, ToolCall).status is status


def test_a_cli_subagents_prompt_is_not_a_persons_and_its_calls_are_its_own() -> None:
    session = Copilot(ROOT, "cli").prompt("look around").create("a.py", "one\n")
    own = {"session_id": "agent-1", "agent_id": "agent-1", "agent_type": "explore", "parent_agent_id": SESSION}
    asked, ended = ({**session.hooks[n], **own} for n in (1, -1))
    assert seen(asked, session=SESSION) == []
    call, edit = one(seen(ended, session=SESSION), ToolCall), one(seen(ended, session=SESSION), FileEdit)
    assert (call.session, call.subagent, call.id) == (SESSION, "agent-1", one(last(session), ToolCall).id)
    assert (edit.session, edit.after.content) == (SESSION, "one\n")
    started = {"sessionId": SESSION, "agentName": "explore", "agent_id": "agent-1", "parent_agent_id": SESSION}
    assert seen(started) == [], "this one does not say which event it is"


def test_the_clis_own_prompts_are_not_a_persons() -> None:
    notice = '<system_notification>\nShell command "build" (shellId: 0) has completed.\n</system_notification>'
    assert seen(Copilot(ROOT, "cli").prompt(notice).hooks[-1]) == []


def test_sessions_and_prompts() -> None:
    session = Copilot(ROOT).prompt("make it\nquick")
    start, prompt = (seen(said) for said in session.hooks)
    assert (one(start, Session).worktree, one(start, Session).model) == (str(ROOT), None)
    assert one(prompt, Prompt).text.content == "make it\nquick"
    assert one(seen(session.hook("SessionEnd", reason="complete").hooks[-1]), Session).ended_ns is not None
    assert seen(session.hook("UserPromptSubmit", prompt="  ").hooks[-1]) == []
    assert seen(session.hook("SubagentStart", agent_id="a", agent_type="Plan").hooks[-1]) == []


def test_the_model_is_read_from_versions_that_report_it() -> None:
    session = Copilot(ROOT).read("a.py")
    session.hooks[-1]["model"] = MODEL
    assert one(last(session), ToolCall).model == MODEL
    session.hooks[-1]["model"] = "auto"
    assert one(last(session), ToolCall).model is None


def test_a_pull_request_that_a_command_opened() -> None:
    views = last(Copilot(ROOT, "cli").shell("gh pr create --fill", "https://github.com/o/r/pull/7"))
    assert one(views, PullRequestFact).number == 7


# --- sources ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "given_", "words", "expected"),
    [
        ("view", {"path": "/d/a"}, "1. text", ["verbatim /d/a"]),
        ("view", {"path": "/d/a", "view_range": [3, 9]}, "3. x", ["excerpt /d/a"]),
        ("view", {"path": str(ROOT)}, ".git\nsrc", []),
        ("view", {"path": "/"}, "home\nusr", []),
        ("str_replace_editor", {"command": "view", "path": "/a"}, "1. x", ["verbatim /a"]),
        ("web_fetch", {"url": PAGE}, "text", [f"excerpt {PAGE}"]),
        ("web_search", {"query": "q"}, f"see [page]({PAGE}).", [f"listed {PAGE}"]),
        ("grep", {"pattern": "x"}, "src/a.py:3:x = 1\nsrc/b.py:1:x", ["excerpt src/a.py", "excerpt src/b.py"]),
        ("bash", {"command": f"curl -fsS {PAGE}"}, "page <exited with exit code 0>", [f"verbatim {PAGE}"]),
        ("bash", {"command": "cat a.md"}, "no <exited with exit code 1>", ["attempted /work tree/a.md failed"]),
        ("run_in_terminal", {"command": "cat a.md"}, "text", ["verbatim /work tree/a.md"]),
        ("read_file", {"filePath": "/a", "startLine": 1, "endLine": 5}, "", ["excerpt /a"]),
        ("read_file", {"filePath": "/a", "startLine": 1}, "Lines 1 to 9 (9 lines total): ", ["verbatim /a"]),
        ("fetch_webpage", {"urls": [PAGE, f"{PAGE}/2"]}, "both", [f"excerpt {PAGE}", f"excerpt {PAGE}/2"]),
        ("grep_search", {"query": "x"}, '<match path="/d/a.py" line=3>\nx\n</match>', ["excerpt /d/a.py"]),
        ("mcp_docs_fetch", {"url": PAGE}, "text", [f"excerpt {PAGE}"]),
        ("manage_todo_list", {"url": PAGE}, "text", []),
    ],
)
def test_each_source_has_its_reading(tool: str, given_: dict[str, Any], words: str, expected: list[str]) -> None:
    surface = "cli" if tool in COPILOTS else "vscode"
    told = reads(last(Copilot(ROOT, surface).call(tool, given_, words)))
    assert [f"{reading.value} {name}{' failed' * failed}" for name, reading, failed in told] == expected


# --- the hook's own work ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tool", ["create", "Edit", "Write", "run_in_terminal", "bash", "apply_patch", *sorted(EDITING)]
)
def test_snapshots_are_taken_around_copilots_writes(tool: str) -> None:
    assert choose_snapshot_phase("PreToolUse", tool, "copilot") == "before"
    assert choose_snapshot_phase("PostToolUse", tool, "copilot") == "after"
    assert choose_snapshot_phase("PreToolUse", "view", "copilot") is None


def test_other_agents_do_not_load_these_modules() -> None:
    assert choose_snapshot_phase("PreToolUse", "Edit", "claude-code") is None
    assert choose_snapshot_phase("PreToolUse", "Edit") is None


@pytest.mark.parametrize(
    ("said", "files"),
    [
        ({"tool_input": {"filePath": "/a"}}, ["/a"]),
        ({"toolArgs": '{"path": "/a"}'}, ["/a"]),
        ({"tool_input": {"replacements": [{"filePath": "/a"}, {"filePath": "/b"}, 3]}}, ["/a", "/b"]),
        (
            {"tool_input": "*** Begin Patch\n*** Update File: a.py\n*** Delete File: b.py\n*** End Patch"},
            ["a.py", "b.py"],
        ),
        ({"tool_input": {"input": "*** Begin Patch\n*** Update File: a.py\n*** Move to: c.py"}}, ["a.py", "c.py"]),
        ({"tool_input": {"command": "ls"}}, []),
        ({"tool_input": 3}, []),
        ({}, []),
    ],
)
def test_files_that_a_call_is_about_to_edit_are_stored(said: dict[str, Any], files: list[str]) -> None:
    assert list_copilot_edited_files(said) == files


def test_long_answers_are_cut_in_every_spelling() -> None:
    long = "x" * (OUTPUT_BYTES_MAX + 1)
    for name, value in (("tool_result", {"text_result_for_llm": long}), ("toolResult", long), ("tool_response", long)):
        event: dict[str, Any] = {"kind": "hook", "event": "PostToolUse", "payload": {"tool_name": "Bash", name: value}}
        assert len(json.dumps(trim_event_output(event))) < OUTPUT_BYTES_MAX


# --- invalid content --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", SURFACES)
def test_fields_and_events_of_a_newer_version_are_ignored(surface: str) -> None:
    session = Copilot(ROOT, surface).replace("a.py", "one", "1")
    plainly = last(session)
    session.hooks[-1] |= {"schema": 9, "extra": {"deep": [1]}}
    session.hooks[-1]["tool_input"]["later"] = True
    if surface == "vscode":
        assert last(session) == plainly
    assert one(last(session), FileEdit).after.content == "1"
    assert seen({**session.hooks[-1], "hook_event_name": "PostTeleport"}) == []


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    event=st.sampled_from([*EVENTS, "PostToolUse", "unknown"]),
    tool=st.sampled_from([*EDITING, "Bash", "bash", "view", "web_fetch", "grep_search", "mcp_x", "?"]),
    said=st.dictionaries(
        st.sampled_from(["tool_input", "tool_response", "tool_result", "toolArgs", "toolResult", "error", "prompt"]),
        ODD,
    ),
)
def test_arbitrary_shapes_do_not_break_the_reader(event: str, tool: str, said: dict[str, Any]) -> None:
    payload = {"session_id": SESSION, "cwd": str(ROOT), "tool_name": tool, **said}
    assert isinstance(seen(payload, event=event), list)
    assert find_copilot_call_id(event, payload) == find_copilot_call_id(event, payload)


@given(tool=st.sampled_from(sorted(EDITING)), said=st.dictionaries(st.text(max_size=9), ODD, max_size=4))
def test_changes_name_their_files(tool: str, said: dict[str, Any]) -> None:
    assert all(isinstance(name, str) for change in extract_file_changes(tool, said) for name in change.names)
