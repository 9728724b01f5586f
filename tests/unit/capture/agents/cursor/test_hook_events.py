"""Cursor's hook events become views; invalid content is ignored, never guessed."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import TranscriptLine, hook_views
from custody.capture.agents.cursor.hook_events import EVENTS
from custody.capture.agents.cursor.tool_calls import merge_call_input, parse_tool_output, tool_kind_from_name
from custody.capture.agents.cursor.transcript import ConversationState as Conversation
from custody.capture.hook.call_match import OWN
from custody.capture.hook.snapshot import choose_snapshot_phase
from custody.capture.line_reader import read_jsonl_lines
from custody.capture.transcripts import read_transcript_objects
from custody.core.paths import Lines, RepoPath
from custody.core.views import (
    CallStatus,
    CommitLink,
    FileEdit,
    Observation,
    Prompt,
    Reading,
    Session,
    SourceAccess,
    ToolCall,
    View,
)
from custody.core.wire.canonical import parse_json_bytes
from tests.builders.cursor import MODEL, SESSION, Cursor
from tests.builders.drawn import json_values

ROOT = Path("/work tree")
AT = "2026-01-31T12:00:00.5Z"
PAGE = "https://example.org/page"
ALONE = f"{OWN}0123"


def seen(payload: dict[str, Any], **around: Any) -> list[View]:
    """Return the views of one event, without the observation that every event has."""
    event = {
        "custody": 1,
        "kind": "hook",
        "agent": "cursor",
        "event": payload.get("hook_event_name", "unknown"),
        "id": "e1",
        "at": AT,
        "session": payload.get("conversation_id"),
        "call": payload.get("tool_use_id"),
        "head": "a" * 40,
        "worktree": str(ROOT),
        "folder": str(ROOT),
        "payload": payload,
        **around,
    }
    first, *rest = hook_views(parse_json_bytes(json.dumps({k: v for k, v in event.items() if v is not None}).encode()))
    assert isinstance(first, Observation)
    return rest


def last(at_work: Cursor, **around: Any) -> list[View]:
    """Return the views of the last hook event."""
    return seen(at_work.hooks[-1], **around)


def of(views: list[View], kind: type[View]) -> list[Any]:
    return [view for view in views if isinstance(view, kind)]


def one(views: list[View], kind: type[View]) -> Any:
    (found,) = of(views, kind)
    return found


# --- sessions, prompts, calls -----------------------------------------------------------------------------------------


def test_sessions_prompts_and_their_models() -> None:
    start = one(last(Cursor(ROOT).hook("sessionStart", session_id=SESSION, is_background_agent=False)), Session)
    assert (start.id, start.model, start.revision, start.worktree) == (SESSION, MODEL, "a" * 40, str(ROOT))
    switched, prompt = last(Cursor(ROOT, model="gpt-6").prompt("do it"))
    assert isinstance(switched, Session) and switched.model == "gpt-6"
    assert isinstance(prompt, Prompt) and (prompt.id, prompt.text.content) == ("gen-0", "do it")
    assert one(last(Cursor(ROOT).hook("sessionEnd", reason="completed")), Session).ended_ns is not None


NOTICE = "<system_notification>\nThe following task has finished.\n</system_notification>"
QUERY = "<user_query>\ngo\n</user_query>"


def test_cursors_own_messages_are_not_prompts() -> None:
    session = Cursor(ROOT).prompt(f"<timestamp>Monday, Sep 7, 2026, 1:00 PM (UTC)</timestamp>\n{NOTICE}")
    assert not [view for view in seen(session.hooks[-1]) if isinstance(view, Prompt)]


@pytest.mark.parametrize(
    ("said", "at", "typed"),
    [
        (f"<timestamp>Monday, Jun 29, 2026, 1:39 PM (UTC-7)</timestamp>\n{QUERY}", "20:39", "go"),
        (f"<timestamp>Monday, June 29, 2026, 1:39 PM (UTC-7)</timestamp>\n{QUERY}", "20:39", "go"),
        ("<timestamp>Monday, Jun 29, 2026, 9:00 AM (UTC+5:30)</timestamp>\nmake it so", "03:30", "make it so"),
        (
            "[Image]\n<image_files>/a</image_files>\n<timestamp>Monday, Jun 29, 2026, 1:39 PM (UTC)</timestamp>\nlook",
            "13:39",
            "look",
        ),
        (f"<timestamp>Monday, Jun 29, 2026, 1:39 PM (UTC)</timestamp>\n{NOTICE}", None, None),
        (f"{NOTICE}\n<user_query>Inform the user.</user_query>", None, None),
        ("<timestamp>Monday, Jun 29, 2026, 1:39 PM (UTC)</timestamp>", None, None),
    ],
)
@pytest.mark.parametrize("plainly", [False, True])
def test_a_transcript_line_has_the_typed_text_and_its_time(
    tmp_path: Path, said: str, at: str | None, typed: str | None, *, plainly: bool
) -> None:
    file = tmp_path / "conversation.jsonl"
    content = said if plainly else [{"type": "text", "text": said}]
    file.write_text(json.dumps({"role": "user", "message": {"content": content}}) + "\n")
    found = [
        item
        for item in read_transcript_objects(read_jsonl_lines(file), Conversation({}, file).line)
        if isinstance(item, TranscriptLine)
    ]
    told = [(item.at[:16], item.payload) for item in found]
    assert told == ([] if typed is None else [(f"2026-06-29T{at}", {"role": "user", "text": typed})])


@pytest.mark.parametrize("name", ["", "default", "inherit", "Auto"])
def test_a_model_that_cursor_chose_is_unknown(name: str) -> None:
    assert one(last(Cursor(ROOT, model=name).hook("sessionStart")), Session).model is None
    assert one(last(Cursor(ROOT, model=name).shell("ls")), ToolCall).model is None


def test_a_call_starts_and_ends_with_its_prompt_and_model() -> None:
    session = Cursor(ROOT).prompt("do it").write("a.py", None, "one\n")
    begun, ended = (one(seen(session.hooks[n]), ToolCall) for n in (1, -1))
    assert (begun.name, begun.status, begun.ended_ns) == ("Write", CallStatus.RUNNING, None)
    assert (ended.id, ended.status, ended.prompt, ended.model) == (begun.id, CallStatus.OK, "gen-0", MODEL)
    assert ended.about == f"{ROOT}/a.py"
    assert ended.ended_ns - ended.started_ns == 15_000_000


def test_a_call_that_failed_edits_nothing() -> None:
    session = Cursor(ROOT).replace("a.py", "one\n", "one", "1")
    session.hooks[-1].update(hook_event_name="postToolUseFailure", error_message="no match", failure_type="error")
    del session.hooks[-1]["tool_output"]
    views = last(session)
    assert (one(views, ToolCall).status, of(views, FileEdit)) == (CallStatus.FAILED, [])


def test_a_subagents_calls_are_its_own_in_the_session_that_the_hook_found() -> None:
    child = Cursor(ROOT).subagent("child-1").shell("ls")
    call = one(last(child, session=SESSION), ToolCall)
    assert (call.session, call.subagent, call.prompt, call.model) == (SESSION, "child-1", None, "cursor-grok-4.5")
    started = one(seen(child.hooks[1], session=SESSION), ToolCall)
    assert (started.id, started.name, started.status) == ("toolu_task_0", "Task", CallStatus.RUNNING)
    assert (started.session, started.subagent, started.model) == (SESSION, None, None)
    for status, told in (("completed", CallStatus.OK), ("error", CallStatus.FAILED)):
        stopped = child.hook("subagentStop", subagent_id="toolu_task_0", status=status, summary="done")
        assert one(last(stopped, session=SESSION), ToolCall).status is told
    assert last(child.prompt("what the other agent wants"), session=SESSION) == []


# --- edits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "given", "before", "after", "part"),
    [
        ("Write", {"file_path": "a.py", "content": "one\n"}, None, "one\n", False),
        ("Write", {"path": "a.py", "contents": "one\n"}, None, "one\n", False),
        ("StrReplace", {"path": "a.py", "old_string": "one", "new_string": "1"}, "one", "1", True),
        ("StrReplace", {"file_path": "a.py", "old_string": "", "new_string": "1\n"}, None, "1\n", False),
        ("Delete", {"file_path": "a.py"}, None, "", False),
        ("ApplyPatch", "*** Begin Patch\n*** Add File: a.py\n+one\n*** End Patch", None, "one\n", False),
        ("ApplyPatch", {"patch": "*** Begin Patch\n*** Add File: a.py\n+one\n*** End Patch"}, None, "one\n", False),
    ],
)
def test_edits_in_every_shape(tool: str, given: Any, before: str | None, after: str, part: bool) -> None:
    edit = one(last(Cursor(ROOT).call(tool, given, "ok")), FileEdit)
    assert (edit.path, edit.part, edit.revision) == (RepoPath(b"a.py"), part, "a" * 40)
    assert (edit.before and edit.before.content, edit.after.content) == (before, after)
    assert edit.id.startswith(f"{edit.call}:shell:")


@pytest.mark.parametrize("tool", "Write StrReplace Delete ApplyPatch EditNotebook Shell".split())
def test_snapshots_are_taken_around_edits_and_commands(tool: str) -> None:
    found = [
        choose_snapshot_phase(event, tool, "cursor") for event in ("preToolUse", "postToolUse", "postToolUseFailure")
    ]
    assert found == ["before", "after", "after"]
    assert choose_snapshot_phase("preToolUse", "Read", "cursor") is None


@pytest.mark.parametrize("name", ["/elsewhere/a.py", "../a.py", "C:\\a.py", "/work tree/../a.py"])
def test_a_file_outside_the_repository_gives_a_call_and_no_edit(name: str) -> None:
    views = last(Cursor(ROOT).call("Write", {"file_path": name, "content": "one\n"}, "ok"))
    assert [type(view) for view in views] == [ToolCall]


def test_the_edit_of_a_call_is_reported_by_the_calls_end() -> None:
    session = Cursor(ROOT).replace("a.py", "one\n", "one", "1")
    told = next(said for said in session.hooks if said["hook_event_name"] == "afterFileEdit")
    assert seen(told, call="toolu_1") == []
    views = seen(told, call=ALONE)
    edit = one(views, FileEdit)
    assert (edit.path, edit.before.content, edit.after.content, edit.part) == (RepoPath(b"a.py"), "one", "1", True)
    assert (one(views, ToolCall).name, one(views, ToolCall).id) == ("Edit", edit.call)


def test_events_recorded_before_calls_were_matched_are_read_too() -> None:
    session = Cursor(ROOT).replace("a.py", "one\n", "one", "1")
    told = next(said for said in session.hooks if said["hook_event_name"] == "afterFileEdit")
    first, second = (one(seen(told, id=name), FileEdit) for name in ("e1", "e2"))
    assert first.call != second.call


def test_a_path_through_a_link_is_resolved() -> None:
    session = Cursor("/linked/tree").replace("a.py", "one\n", "one", "1")
    told = next(said for said in session.hooks if said["hook_event_name"] == "afterFileEdit")
    assert one(seen(told, call=ALONE), FileEdit).path == RepoPath(b"a.py")


@pytest.mark.parametrize(
    ("edit", "before", "after", "place"),
    [
        (
            {
                "old_string": "",
                "new_string": "urn 1",
                "old_line": "  ret # x",
                "range": {"start_line_number": 3, "start_column": 6, "end_line_number": 3, "end_column": 6},
            },
            "  ret # x",
            "  return 1 # x",
            (Lines(3, 3),),
        ),
        ({"old_string": "a", "new_string": "b\nc\n", "range": {"start_line_number": 7}}, "a", "b\nc\n", (Lines(7, 8),)),
        ({"old_string": "", "new_string": "b\n", "range": {"start_line_number": -1}}, "", "b\n", ()),
    ],
)
def test_a_completion_has_its_whole_line_and_position(
    edit: dict[str, Any], before: str, after: str, place: tuple[Lines, ...]
) -> None:
    views = last(Cursor(ROOT).tab("a.py", edit), call=ALONE)
    found = one(views, FileEdit)
    assert (found.before.content, found.after.content, found.part, found.lines) == (before, after, True, place)
    assert one(views, ToolCall).name == "Tab"


def test_a_completion_that_only_deletes_gives_no_edit() -> None:
    assert of(last(Cursor(ROOT).tab("a.py", {"old_string": "a", "new_string": ""}), call=ALONE), FileEdit) == []


# --- commands and sources ---------------------------------------------------------------------------------------------


def test_a_command_without_a_name_is_a_call_with_its_command() -> None:
    session = Cursor(ROOT).shell("git commit -m x", f"[main {'b' * 40}] x\n")
    begun, ended = (seen(session.hooks[n], call=ALONE) for n in (1, 2))
    assert (one(begun, ToolCall).status, one(begun, ToolCall).about) == (CallStatus.RUNNING, "git commit -m x")
    assert (one(ended, ToolCall).status, one(ended, ToolCall).name) == (CallStatus.OK, "Shell")
    assert one(ended, CommitLink).commit == "b" * 40
    named = seen(session.hooks[2], call="toolu_1")
    assert [one(named, ToolCall).status, of(named, CommitLink)] == [CallStatus.RUNNING, []]


def test_a_failed_commands_commit_is_linked_by_a_full_id_only() -> None:
    assert one(last(Cursor(ROOT).shell("make", "no", 2)), ToolCall).status is CallStatus.FAILED
    assert one(last(Cursor(ROOT).shell("git commit -m x", f"[main {'b' * 40}] x\n")), CommitLink).commit == "b" * 40
    assert of(last(Cursor(ROOT).shell("git commit -m x", "[main bbbbbbb] x\n")), CommitLink) == []


HITS = json.dumps({"references": [{"title": "A page", "url": PAGE}]})


@pytest.mark.parametrize(
    ("tool", "given", "answer", "found"),
    [
        ("Read", {"file_path": "a.py"}, "text", [("a.py", Reading.VERBATIM, "text")]),
        ("Read", {"path": "a.py", "offset": 3, "limit": 2}, "text", [("a.py", Reading.EXCERPT, "text")]),
        ("Read", {"path": "a.py"}, json.dumps({"contents": "text"}), [("a.py", Reading.VERBATIM, "text")]),
        ("Grep", {"pattern": "x", "path": "src"}, "src/a.py:3:x\n", [("src/a.py", Reading.EXCERPT, None)]),
        ("WebFetch", {"url": PAGE}, "the page", [(PAGE, Reading.EXCERPT, "the page")]),
        ("WebFetch", {"url": PAGE}, "", [(PAGE, Reading.ATTEMPTED, None)]),
        ("WebSearch", {"search_term": "q"}, HITS, [(PAGE, Reading.LISTED, None)]),
        ("WebSearch", {"search_term": "q"}, f"Title: A\nURL: {PAGE}\n", [(PAGE, Reading.LISTED, None)]),
        ("Shell", {"command": f"curl -fsS {PAGE}"}, "the page", [(PAGE, Reading.VERBATIM, "the page")]),
        ("MCP:fetch_page", {"url": PAGE}, "the page", [(PAGE, Reading.EXCERPT, "the page")]),
        ("Glob", {"glob_pattern": "*.py"}, "a.py", []),
    ],
)
def test_sources_have_their_reading(
    tool: str, given: dict[str, Any], answer: str, found: list[tuple[str, Reading, str | None]]
) -> None:
    told = of(last(Cursor(ROOT).call(tool, given, answer)), SourceAccess)
    assert [(read.locator, read.reading, read.text and read.text.content) for read in told] == found


def test_a_file_that_is_about_to_be_read_counts_without_a_call() -> None:
    told = Cursor(ROOT).read("a.py", "text").hooks[1]
    assert seen(told, call="toolu_1") == []
    read = one(seen(told, call=ALONE), SourceAccess)
    assert (read.locator, read.reading, read.text.content) == (f"{ROOT}/a.py", Reading.VERBATIM, "text")


# --- invalid content --------------------------------------------------------------------------------------------------


def test_unknown_events_fields_and_versions_are_ignored() -> None:
    session = Cursor(ROOT).replace("a.py", "one\n", "one", "1")
    plain = last(session)
    session.hooks[-1] |= {"cursor_version": "99.0.0", "new": {"deep": [1]}}
    session.hooks[-1]["tool_input"]["unheard"] = None
    assert last(session) == plain
    assert last(Cursor(ROOT).hook("afterEverything", tool_name="Write", tool_use_id="c")) == []
    assert [call.name for call in of(last(Cursor(ROOT).call("Teleport", {"x": 1}, "ok")), ToolCall)] == ["Teleport"]


def test_a_tools_input_and_output_in_each_shape() -> None:
    assert merge_call_input('{"path": "a"}', {"relativeWorkspacePath": "b"}) == {
        "path": "a",
        "relativeWorkspacePath": "b",
    }
    assert merge_call_input("*** Begin Patch") == {"patch": "*** Begin Patch"}
    assert [parse_tool_output(said).text for said in ("x", {"output": "x"}, '{"stdout": "x"}', None, [1])] == [
        *("x", "x", "x"),
        *("", ""),
    ]
    assert [tool_kind_from_name(name) for name in ("run_terminal_command_v2", "rg", "Hologram")] == [
        "shell",
        "grep",
        None,
    ]


NAMES = (
    "file_path path old_string new_string content contents edits range start_line_number start_column end_column"
    " old_line command url patch input working_directory output exitCode stdout references tool_call_id subagent_id"
).split()
FIELDS = st.dictionaries(st.sampled_from(NAMES), json_values, max_size=6)
TOOLS = st.sampled_from("Write StrReplace Delete ApplyPatch Shell Read Grep WebFetch WebSearch MCP:x Task".split())


@given(
    st.sampled_from(sorted(EVENTS)),
    TOOLS | json_values,
    FIELDS | json_values,
    FIELDS | json_values,
    FIELDS,
    st.booleans(),
)
def test_arbitrary_payloads_do_not_break_the_reader(
    event: str, tool: Any, asked: Any, answer: Any, more: Any, alone: bool
) -> None:
    said = {"conversation_id": "s", "hook_event_name": event, "tool_name": tool, "tool_input": asked, **more}
    odd = {"tool_output": answer, "prompt": answer, "model": answer, "workspace_roots": answer, "duration": answer}
    seen({**said, **odd, "edits": [asked, more]}, call=ALONE if alone else "toolu_1")
