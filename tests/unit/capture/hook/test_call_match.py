"""The call of a Cursor event that does not name it, and a file's text before an edit."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture.hook import call_match as pairing
from custody.capture.hook.call_match import (
    OWN,
    list_edited_files,
    match_open_call,
    rebuild_text_before_edits,
    record_call_start,
    resolve_copilot_session,
    resolve_cursor_session,
)
from custody.capture.hook.install import hook_argv, hook_shell_command
from tests.builders.cli import a_git_folder
from tests.builders.drawn import json_values
from tests.builders.hooks import home_of, installed

ROOT = "/project"
SHELL = {"tool_name": "Shell", "tool_input": {"command": "make"}}
WRITE = {"tool_name": "Write", "tool_input": {"file_path": "a.py"}, "cwd": ROOT}
EDIT = {"file_path": f"{ROOT}/a.py", "workspace_roots": [ROOT]}


def named(event: str, fields: dict[str, Any], home: Path, session: str = "s") -> str:
    call = match_open_call(event, fields, session, str(home))
    assert call is not None
    return call


def test_an_edit_belongs_to_the_open_call_of_its_file_and_the_next_one_does_not(tmp_path: Path) -> None:
    record_call_start("preToolUse", WRITE, "s", "toolu_1", str(tmp_path))
    assert named("afterFileEdit", EDIT, tmp_path, "another").startswith(OWN)
    assert named("afterFileEdit", {**EDIT, "file_path": f"{ROOT}/b.py"}, tmp_path).startswith(OWN)
    assert named("afterFileEdit", EDIT, tmp_path) == "toolu_1"
    assert named("afterFileEdit", EDIT, tmp_path).startswith(OWN)


def test_a_completion_has_no_call(tmp_path: Path) -> None:
    record_call_start("preToolUse", WRITE, "s", "toolu_1", str(tmp_path))
    assert named("afterTabFileEdit", EDIT, tmp_path).startswith(OWN)


def test_a_command_has_one_name_from_start_to_end(tmp_path: Path) -> None:
    record_call_start("preToolUse", SHELL, "s", "toolu_1", str(tmp_path))
    both = [named(event, {"command": "make"}, tmp_path) for event in ("beforeShellExecution", "afterShellExecution")]
    assert both == ["toolu_1", "toolu_1"]
    first, second = (
        [named(event, {"command": "make"}, tmp_path) for event in ("beforeShellExecution", "afterShellExecution")]
        for _ in range(2)
    )
    assert first[0] == first[1] != second[0] == second[1]
    assert first[0].startswith(OWN)


def test_a_failed_or_expired_call_is_not_open(tmp_path: Path) -> None:
    record_call_start("preToolUse", WRITE, "s", "toolu_1", str(tmp_path))
    record_call_start("postToolUseFailure", WRITE, "s", "toolu_1", str(tmp_path))
    assert named("afterFileEdit", EDIT, tmp_path).startswith(OWN)
    record_call_start("preToolUse", WRITE, "s", "toolu_2", str(tmp_path))
    for path in (tmp_path / "hook" / "open").iterdir():
        os.utime(path, (1, 1))
    assert named("afterFileEdit", EDIT, tmp_path).startswith(OWN)
    record_call_start("sessionStart", {}, "s", None, str(tmp_path))
    assert list((tmp_path / "hook" / "open").iterdir()) == []


def test_a_subagent_belongs_to_the_topmost_session(tmp_path: Path) -> None:
    def told(session: str, parent: str | None = None) -> str | None:
        event = "subagentStart" if parent else "preToolUse"
        return resolve_cursor_session(event, {"parent_conversation_id": parent}, session, str(tmp_path))

    assert [told("child"), told("child", "root"), told("child")] == ["child", "root", "root"]
    assert [told("grandchild", "child"), told("grandchild"), told("root")] == ["root", "root", "root"]
    assert told("odd", "odd") == "odd"


def test_a_copilot_subagent_belongs_to_the_topmost_session(tmp_path: Path) -> None:
    home = str(tmp_path)

    def said(own: str, parent: str, session: str | None = None, event: str = "PreToolUse") -> str | None:
        fields = {"agent_id": own, "parent_agent_id": parent}
        return resolve_copilot_session(event, fields, session or own, home)

    assert said("a", "s") == "s"
    assert said("b", "a") == "s"
    assert said("c", "b", session="b", event="unknown") == "s"
    assert said("d", "t") == "t"
    assert said("a", "s", session="s") == "s"
    assert said("e", "e") == "e"
    assert resolve_copilot_session("SessionStart", {}, "new", home) == "new"
    assert resolve_copilot_session("Stop", {}, "b", home) == "s", "it was remembered"
    assert resolve_copilot_session("PreToolUse", {"agent_id": 5, "parent_agent_id": []}, "s", home) == "s"
    assert resolve_copilot_session("PreToolUse", {"agent_id": "z", "parent_agent_id": "x\0" * 400}, "z", home) == "z"


def test_an_older_copilots_subagent_is_recognized_by_its_prompt(tmp_path: Path) -> None:
    home = str(tmp_path)
    task = {"tool_name": "Agent", "tool_input": {"prompt": "look around", "agent_type": "explore"}}
    assert resolve_copilot_session("PreToolUse", task, "s", home) == "s"
    assert resolve_copilot_session("UserPromptSubmit", {"prompt": "look around"}, "s", home) == "s"
    assert resolve_copilot_session("UserPromptSubmit", {"prompt": "look around"}, "call_6", home) == "s"
    assert resolve_copilot_session("PreToolUse", {"tool_name": "Bash", "tool_input": "x"}, "call_6", home) == "s"
    assert resolve_copilot_session("UserPromptSubmit", {"prompt": "look around"}, "another", home) == "another", (
        "only once"
    )
    assert resolve_copilot_session("userPromptSubmitted", {"prompt": 5}, "another", home) == "another"


def test_an_unwritable_home_only_loses_the_names(tmp_path: Path) -> None:
    (tmp_path / "hook").write_text("a file where the folder should be")
    record_call_start("preToolUse", WRITE, "s", "toolu_1", str(tmp_path))
    record_call_start("sessionStart", {}, "s", None, str(tmp_path))
    assert named("afterFileEdit", EDIT, tmp_path).startswith(OWN)


def test_the_files_that_a_call_names() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n*** Delete File: /c.py\n*** End Patch"
    )
    for given_to in (patch, {"patch": patch}):
        fields = {"tool_name": "ApplyPatch", "tool_input": given_to, "cwd": ROOT}
        assert list_edited_files("postToolUse", fields) == [f"{ROOT}/a.py", f"{ROOT}/b.py", "/c.py"]
    assert list_edited_files("afterFileEdit", EDIT) == [f"{ROOT}/a.py"]
    assert list_edited_files("postToolUse", SHELL) is None


@pytest.mark.parametrize(
    ("edits", "after", "before"),
    [
        ([("a", "b")], "b\n", "a\n"),
        ([("a", "b"), ("c", "d")], "b d\n", "a c\n"),
        ([("a", "b"), ("b", "c")], "c\n", "a\n"),
        ([("", "b\n")], "b\n", ""),
        ([("a", "b")], "b b\n", None),
        ([("a", "")], "b\n", None),
        ([("a", "b")], "not saved\n", None),
        ([], "b\n", None),
    ],
)
def test_the_text_before_edits(edits: list[tuple[str, str]], after: str, before: str | None) -> None:
    told = [{"old_string": old, "new_string": new} for old, new in edits]
    assert rebuild_text_before_edits({"edits": told}, after) == before


def test_the_reported_line_decides_between_two_places() -> None:
    told = {"old_string": "", "new_string": "x\n", "range": {"start_line_number": 3}}
    assert rebuild_text_before_edits({"edits": [told]}, "x\ny\nx\n") == "x\ny\n"
    assert rebuild_text_before_edits({"edits": [{**told, "range": {"start_line_number": 2}}]}, "x\ny\nx\n") is None


@given(st.text("ab\n"), st.text("ab\n", max_size=3), st.text("xy\n", min_size=1, max_size=3), st.text("ab\n"))
def test_undoing_an_edit_restores_the_text(head: str, old: str, new: str, tail: str) -> None:
    before = rebuild_text_before_edits({"edits": [{"old_string": old, "new_string": new}]}, head + new + tail)
    assert before in (head + old + tail, None)


@given(
    st.sampled_from(["preToolUse", "afterFileEdit", "beforeShellExecution", "postToolUse", "beforeReadFile"]),
    st.dictionaries(
        st.sampled_from("tool_name tool_input command file_path cwd workspace_roots edits path patch".split()),
        json_values,
    ),
)
def test_invalid_shapes_never_raise(event: str, fields: dict[str, Any]) -> None:
    rebuild_text_before_edits(fields, "x")
    list_edited_files(event, fields)
    pairing._list_call_targets(event, fields)


# --- answers to Cursor ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "answer"),
    [
        *((event, {"permission": "allow"}) for event in ("preToolUse", "beforeShellExecution", "beforeReadFile")),
        ("subagentStart", {"permission": "allow"}),
        ("beforeSubmitPrompt", {"continue": True}),
        *((event, {}) for event in ("postToolUse", "afterFileEdit", "stop")),
    ],
)
def test_cursor_gets_the_answer_to_continue(tmp_path: Path, event: str, answer: dict[str, Any]) -> None:
    repository = installed(a_git_folder(tmp_path / "repository"))
    said = {"conversation_id": "c", "hook_event_name": event, "workspace_roots": [str(repository)]}
    for agent, more in (("cursor", {}), ("claude-code", {"cursor_version": "3.19.13"})):
        argv, given = hook_argv(home_of(repository), agent), json.dumps({**said, **more}).encode()
        ran = subprocess.run(argv, input=given, capture_output=True, cwd=repository, check=True)
        assert json.loads(ran.stdout) == answer


@pytest.mark.parametrize("agent", ["gemini", "copilot", "codex"])
def test_no_other_agent_is_answered_whatever_an_event_contains(tmp_path: Path, agent: str) -> None:
    repository = installed(a_git_folder(tmp_path / "repository"))
    said = json.dumps({"conversation_id": "c", "cursor_version": "2.1", "hook_event_name": "preToolUse"})
    argv = hook_argv(home_of(repository), agent)
    ran = subprocess.run(argv, input=said.encode(), capture_output=True, cwd=repository, check=True)
    assert (ran.stdout, ran.stderr) == (b"", b"")


def test_cursor_continues_after_an_invalid_event(tmp_path: Path) -> None:
    repository = installed(a_git_folder(tmp_path / "repository"))
    argv = hook_argv(home_of(repository), "cursor")
    ran = subprocess.run(argv, input=b"not JSON", capture_output=True, cwd=repository, check=True)
    assert json.loads(ran.stdout) == {"permission": "allow"}


def test_cursor_continues_without_the_hook_or_any_python(tmp_path: Path) -> None:
    repository = installed(a_git_folder(tmp_path / "repository"))
    home = home_of(repository)
    command = hook_shell_command(home, "cursor")
    nowhere = command.replace(hook_argv(home, "cursor")[0], "/nowhere/python")
    for line, gone in ((nowhere, False), (command, True)):
        if gone:
            (home / "hook" / "record.py").unlink()
        ran = subprocess.run(["/bin/sh", "-c", line], capture_output=True, env={"PATH": "/nowhere"}, check=True)
        assert json.loads(ran.stdout) == {"permission": "allow", "continue": True}
    assert "could not be run" in (home / "gaps").read_text()
