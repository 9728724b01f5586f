"""Claude Code's hook events become views; invalid content is ignored, never guessed."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import hook_views
from custody.core.ids import content_hash_from_text
from custody.core.paths import Lines, RepoPath
from custody.core.views import (
    CallStatus,
    CommandRecord,
    CommitLink,
    FileEdit,
    LinkOrigin,
    Observation,
    Prompt,
    PullRequestFact,
    Reading,
    Session,
    SourceAccess,
    ToolCall,
    View,
)
from custody.core.wire.canonical import parse_json_bytes
from custody.core.wire.time import parse_timestamp
from tests.builders.hooks import a_hook_event, an_edit

ROOT = Path("/work tree")
AT = "2026-01-31T12:00:00.5Z"


def seen(payload: dict[str, Any], agent: str = "claude-code") -> list[View]:
    """Return the views of one event, without the observation that every event has."""
    event = {
        "custody": 1,
        "kind": "hook",
        "agent": agent,
        "event": payload.get("hook_event_name", "unknown"),
        "id": payload.get("tool_use_id") or "e1",
        "at": AT,
        "session": payload.get("session_id"),
        "call": payload.get("tool_use_id"),
        "head": "a" * 40,
        "worktree": str(ROOT),
        "payload": payload,
    }
    first, *rest = hook_views(parse_json_bytes(json.dumps({k: v for k, v in event.items() if v is not None}).encode()))
    assert isinstance(first, Observation)
    return rest


def one(views: list[View], kind: type[View]) -> Any:
    (found,) = [view for view in views if isinstance(view, kind)]
    return found


def test_an_edit_is_replayed_on_the_previous_text() -> None:
    views = seen(an_edit(ROOT, "src/a.py", "one\ntwo\none\n", "one", "1"))
    edit = one(views, FileEdit)
    assert edit.path == RepoPath(b"src/a.py")
    assert (edit.before.content, edit.after.content) == ("one\ntwo\none\n", "1\ntwo\none\n")
    assert edit.lines == (Lines(1, 1),)
    assert edit.hashes == (content_hash_from_text(b"1\ntwo\none\n"),)
    call = one(views, ToolCall)
    assert (call.status, call.ended_ns, call.ended_ns - call.started_ns) == (
        CallStatus.OK,
        parse_timestamp(AT),
        12_000_000,
    )


def test_replace_all_replaces_every_occurrence() -> None:
    said = an_edit(ROOT, "a.py", "a a a", "a", "b")
    said["tool_response"]["replaceAll"] = True
    assert one(seen(said), FileEdit).after.content == "b b b"


def test_a_new_file_has_no_previous_text() -> None:
    said = a_hook_event(
        "PostToolUse",
        ROOT,
        tool_name="Write",
        tool_use_id="c",
        tool_input={"file_path": f"{ROOT}/new.py", "content": "x\n"},
        tool_response={"type": "create", "filePath": f"{ROOT}/new.py", "content": "x\n", "originalFile": None},
    )
    edit = one(seen(said), FileEdit)
    assert (edit.before, edit.after.content) == (None, "x\n")


def test_several_edits_in_one_call() -> None:
    said = a_hook_event(
        "PostToolUse",
        ROOT,
        tool_name="MultiEdit",
        tool_use_id="c",
        tool_input={
            "file_path": f"{ROOT}/a.py",
            "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}],
        },
        tool_response={"originalFile": "a"},
    )
    assert one(seen(said), FileEdit).after.content == "c"


def test_notebooks() -> None:
    said = a_hook_event(
        "PostToolUse",
        ROOT,
        tool_name="NotebookEdit",
        tool_use_id="c",
        tool_input={"notebook_path": f"{ROOT}/n.ipynb", "new_source": "x"},
        tool_response={"original_file": "{}", "updated_file": "{1}"},
    )
    assert one(seen(said), FileEdit).after.content == "{1}"


def test_an_erased_text_is_reported_as_erased() -> None:
    said = an_edit(ROOT, "a.py", "x", "x", "y")
    said["tool_response"]["originalFile"] = {"$erased": "sha256:" + "0" * 64}
    edit = one(seen(said), FileEdit)
    assert edit.before.content is None
    assert edit.after is None


@pytest.mark.parametrize(
    ("tool", "response", "reading"),
    [
        ("Read", {"file": {"filePath": "/x", "content": "a", "numLines": 3, "totalLines": 3}}, Reading.VERBATIM),
        ("Read", {"file": {"filePath": "/x", "content": "a", "numLines": 3, "totalLines": 30}}, Reading.EXCERPT),
        ("WebFetch", {"url": "https://example.org", "result": "a summary"}, Reading.SUMMARISED),
        ("WebSearch", {"results": [{"content": [{"title": "T", "url": "https://example.org"}]}]}, Reading.LISTED),
    ],
    ids=["whole file", "part of a file", "page", "search"],
)
def test_sources_and_how_they_were_read(tool: str, response: dict[str, Any], reading: Reading) -> None:
    said = a_hook_event("PostToolUse", ROOT, tool_name=tool, tool_use_id="c", tool_input={}, tool_response=response)
    assert one(seen(said), SourceAccess).reading is reading


def test_sessions_prompts_models_and_subagents() -> None:
    start = one(seen(a_hook_event("SessionStart", ROOT, source="startup", model="m-1")), Session)
    assert (start.model, start.revision) == ("m-1", "a" * 40)
    assert one(seen(a_hook_event("PostModelSwitch", ROOT, from_model="m-1", to_model="m-2")), Session).model == "m-2"
    assert one(seen(a_hook_event("PostModelSwitch", ROOT, to_model="<synthetic>")), Session).model is None
    assert one(seen(a_hook_event("SessionEnd", ROOT)), Session).ended_ns == parse_timestamp(AT)
    assert one(seen(a_hook_event("UserPromptSubmit", ROOT, prompt="why?")), Prompt).text.content == "why?"
    call = a_hook_event("PreToolUse", ROOT, tool_name="Bash", tool_use_id="c", agent_id="sub-1")
    assert (one(seen(call), ToolCall).status, one(seen(call), ToolCall).subagent) == (CallStatus.RUNNING, "sub-1")
    failed = a_hook_event("PostToolUseFailure", ROOT, tool_name="Bash", tool_use_id="c")
    assert one(seen(failed), ToolCall).status is CallStatus.FAILED


def test_agents_without_a_reader_leave_an_observation() -> None:
    assert seen(an_edit(ROOT, "a.py", "x", "x", "y"), agent="cursor") == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("tool_input", "tool_response", "prompt", "model", "to_model", "duration_ms", "agent_id", "prompt_id")


@given(
    st.sampled_from(("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostModelSwitch")),
    st.sampled_from(("Edit", "Write", "MultiEdit", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Bash")),
    st.dictionaries(st.sampled_from(FIELDS), JSON),
    st.dictionaries(
        st.sampled_from(("originalFile", "filePath", "oldString", "file", "results", "structuredPatch", "url")), JSON
    ),
)
def test_invalid_shapes_never_raise(event: str, tool: str, fields: dict[str, Any], response: dict[str, Any]) -> None:
    said = a_hook_event(event, ROOT, **fields) | {"tool_name": tool, "tool_use_id": "c"}
    said.setdefault("tool_response", response)
    assert isinstance(seen(said), list)


# --- partial edits, and other effects of a call ----------------------------------------------------------------------


def test_an_edit_without_the_file_before_is_a_part() -> None:
    said = an_edit(ROOT, "a.py", "x", "old", "new")
    said["tool_response"]["originalFile"] = None
    edit = one(seen(said), FileEdit)
    assert (edit.part, edit.before.content, edit.after.content) == (True, "old", "new")


def test_an_edit_that_replaces_nothing_creates_the_file() -> None:
    said = an_edit(ROOT, "a.py", "", "", "new\n")
    said["tool_response"]["originalFile"] = None
    edit = one(seen(said), FileEdit)
    assert (edit.part, edit.before, edit.after.content) == (False, None, "new\n")


def test_a_persons_changes_are_separated_from_the_agents_text() -> None:
    said = an_edit(ROOT, "a.py", "one\ntwo\n", "two", "2")
    said["tool_response"] |= {"newString": "2 # mine", "userModified": True}
    edit = one(seen(said), FileEdit)
    assert (edit.after.content, edit.proposed.content) == ("one\n2 # mine\n", "one\n2\n")


def test_an_unchanged_edit_has_no_proposal() -> None:
    said = an_edit(ROOT, "a.py", "one\n", "one", "1")
    said["tool_response"]["userModified"] = True
    assert one(seen(said), FileEdit).proposed is None


def test_a_person_may_change_a_whole_file() -> None:
    said = a_hook_event(
        "PostToolUse",
        ROOT,
        tool_name="Write",
        tool_use_id="c",
        tool_input={"file_path": f"{ROOT}/a.py", "content": "x\n"},
        tool_response={"filePath": f"{ROOT}/a.py", "content": "y\n", "originalFile": None, "userModified": True},
    )
    edit = one(seen(said), FileEdit)
    assert (edit.after.content, edit.proposed.content) == ("y\n", "x\n")


def test_a_deleted_line_takes_its_end_with_it_if_the_patch_shows_it() -> None:
    said = an_edit(ROOT, "a.py", "one\ntwo\nthree\n", "two", "")
    hunk = {"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 2, "lines": [" one", "-two", " three"]}
    said["tool_response"]["structuredPatch"] = [hunk]
    assert one(seen(said), FileEdit).after.content == "one\nthree\n"


def test_the_patch_decides_if_the_old_text_is_missing() -> None:
    said = an_edit(ROOT, "a.py", "say “hi”\nend\n", 'say "hi"', 'say "ho"')
    hunk = {"oldStart": 1, "newStart": 1, "newLines": 2, "lines": ["-say “hi”", "+say “ho”", " end"]}
    said["tool_response"]["structuredPatch"] = [hunk]
    assert one(seen(said), FileEdit).after.content == "say “ho”\nend\n"
    hunk["lines"] = ["-something else"]
    assert one(seen(said), FileEdit).after is None


def test_a_commit_and_a_pull_request_that_a_command_made() -> None:
    git = {
        "commit": {"sha": "b" * 40, "kind": "committed"},
        "pr": {"number": 7, "url": "https://github.com/o/r/pull/7", "action": "created"},
    }
    said = a_hook_event(
        "PostToolUse",
        ROOT,
        tool_name="Bash",
        tool_use_id="c",
        tool_input={"command": "git commit"},
        tool_response={"stdout": "", "gitOperation": git},
    )
    views = seen(said)
    assert (one(views, CommitLink).commit, one(views, CommitLink).origin) == ("b" * 40, LinkOrigin.GIT_OPERATION)
    fact = one(views, PullRequestFact)
    assert (fact.number, fact.repository, fact.action) == (7, "o/r", "created")


def test_an_abbreviated_commit_links_nothing() -> None:
    said = a_hook_event(
        "PostToolUse",
        ROOT,
        tool_name="Bash",
        tool_use_id="c",
        tool_input={"command": "git commit"},
        tool_response={"gitOperation": {"commit": {"sha": "abc1234"}, "pr": {"number": True}}},
    )
    assert [type(view) for view in seen(said)] == [ToolCall, CommandRecord]


def test_a_shell_command_has_no_text_edits_if_snapshots_are_taken() -> None:
    said = a_hook_event(
        "PostToolUse", ROOT, tool_name="Bash", tool_use_id="c", tool_input={"command": "echo x > f"}, tool_response={}
    )
    assert [type(view) for view in seen(said)] == [ToolCall, CommandRecord]


def test_several_edits_of_an_unknown_file_are_parts() -> None:
    said = a_hook_event(
        "PostToolUse",
        ROOT,
        tool_name="MultiEdit",
        tool_use_id="c",
        tool_input={
            "file_path": f"{ROOT}/a.py",
            "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}],
        },
        tool_response={},
    )
    edits = [view for view in seen(said) if isinstance(view, FileEdit)]
    assert [(edit.id, edit.part, edit.after and edit.after.content) for edit in edits] == [
        ("c", True, "b"),
        ("c:1", True, "d"),
    ]
