"""Codex's hook events become views; invalid content is ignored, never guessed."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import hook_views
from custody.capture.hook.snapshot import choose_snapshot_phase
from custody.core.paths import RepoPath
from custody.core.views import (
    CallStatus,
    CommitLink,
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
from custody.core.wire.canonical import parse_json_bytes
from tests.builders.codex import (
    MODEL,
    THREAD,
    TURN,
    a_codex_event,
    a_codex_patch,
    added,
    deleted,
    patch_text,
    updated,
)
from tests.builders.drawn import json_values

ROOT = Path("/work tree")
AT = "2026-01-31T12:00:00.5Z"


def seen(payload: dict[str, Any], folder: str = str(ROOT)) -> list[View]:
    """Return the views of one event, without the observation that every event has."""
    event = {
        "custody": 1,
        "kind": "hook",
        "agent": "codex",
        "event": payload.get("hook_event_name", "unknown"),
        "id": payload.get("tool_use_id") or "e1",
        "at": AT,
        "session": payload.get("session_id"),
        "call": payload.get("tool_use_id"),
        "head": "a" * 40,
        "worktree": str(ROOT),
        "folder": folder,
        "payload": payload,
    }
    first, *rest = hook_views(parse_json_bytes(json.dumps({k: v for k, v in event.items() if v is not None}).encode()))
    assert isinstance(first, Observation)
    return rest


def of(views: list[View], kind: type[View]) -> list[Any]:
    return [view for view in views if isinstance(view, kind)]


def a_command(command: str, printed: Any = "", **more: Any) -> dict[str, Any]:
    said = {"tool_name": "Bash", "tool_use_id": "call_02", "tool_input": {"command": command}}
    return a_codex_event("PostToolUse", ROOT, **{**said, "tool_response": printed, **more})


def test_sessions_prompts_and_their_models() -> None:
    (begun,) = seen(a_codex_event("SessionStart", ROOT, source="startup"))
    assert isinstance(begun, Session)
    assert (begun.id, begun.model, begun.revision, begun.worktree) == (THREAD, MODEL, "a" * 40, str(ROOT))
    switched, prompt = seen(a_codex_event("UserPromptSubmit", ROOT, prompt="do it", model="gpt-6"))
    assert isinstance(switched, Session) and switched.model == "gpt-6"
    assert isinstance(prompt, Prompt) and (prompt.id, prompt.text.content) == (TURN, "do it")
    (ended,) = seen(a_codex_event("SessionEnd", ROOT, reason="exit"))
    assert isinstance(ended, Session) and ended.ended_ns is not None


def test_an_editors_context_is_not_part_of_the_prompt() -> None:
    said = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nmend it\n"
    (prompt,) = of(seen(a_codex_event("UserPromptSubmit", ROOT, prompt=said)), Prompt)
    assert prompt.text.content == "mend it"


def test_a_subagents_prompt_is_not_a_persons_and_its_calls_are_its_own() -> None:
    inside = {"agent_id": "0199-child", "agent_type": "explorer"}
    assert seen(a_codex_event("UserPromptSubmit", ROOT, prompt="look", **inside)) == []
    assert seen(a_codex_event("SubagentStart", ROOT, **inside)) == []
    (call,) = of(seen(a_command("ls", **inside)), ToolCall)
    assert (call.session, call.subagent, call.prompt, call.model) == (THREAD, "0199-child", TURN, MODEL)


def test_a_call_starts_and_ends() -> None:
    (begun,) = seen(a_codex_patch("PreToolUse", ROOT, patch_text(added("a.py", "x\n"))))
    assert isinstance(begun, ToolCall)
    assert (begun.name, begun.status, begun.ended_ns) == ("apply_patch", CallStatus.RUNNING, None)
    (ended,) = of(seen(a_codex_patch("PostToolUse", ROOT, patch_text(added("a.py", "x\n")))), ToolCall)
    assert (ended.id, ended.status, ended.about) == (begun.id, CallStatus.OK, None)


@pytest.mark.parametrize("name", "Bash exec_command shell shell_command functions.exec_command functions.shell".split())
def test_shell_tools_have_one_name_and_snapshots(name: str) -> None:
    given: dict[str, Any] = {"cmd": "ls -l"} if "exec" in name else {"command": ["bash", "-lc", "ls -l"]}
    (call,) = of(seen(a_command("", tool_name=name, tool_input=given)), ToolCall)
    assert (call.name, call.about) == ("Bash", "ls -l")
    assert (choose_snapshot_phase("PreToolUse", name), choose_snapshot_phase("PostToolUse", name)) == (
        "before",
        "after",
    )


def test_snapshots_are_taken_around_a_patch() -> None:
    assert (
        choose_snapshot_phase("PreToolUse", "apply_patch"),
        choose_snapshot_phase("PostToolUse", "apply_patch"),
    ) == ("before", "after")


def test_a_patch_is_edits_of_pieces_and_of_whole_files() -> None:
    patch = patch_text(
        added("new.py", "one\n"),
        deleted("sub/../old.py"),
        updated(f"{ROOT}/a.py", "x\ny\n", "x\nz\n", moved="b.py"),
        added("/elsewhere/c.py", "no\n"),
    )
    found = {edit.path: edit for edit in of(seen(a_codex_patch("PostToolUse", ROOT, patch)), FileEdit)}
    new, old, gone, moved = (found.pop(RepoPath(name)) for name in (b"new.py", b"old.py", b"a.py", b"b.py"))
    assert found == {}
    assert (new.before, new.after.content, new.part, new.revision) == (None, "one\n", False, "a" * 40)
    assert (old.before, old.after.content) == (gone.before, gone.after.content) == (None, "")
    assert (moved.before.content, moved.after.content, moved.part) == ("x\ny\n", "x\nz\n", True)
    assert {edit.call for edit in (new, old, gone, moved)} == {"call_01"}


def test_paths_are_relative_to_codexs_folder() -> None:
    said = a_codex_patch("PostToolUse", ROOT / "sub", patch_text(added("a.py", "x\n")))
    (edit,) = of(seen(said, folder=f"{ROOT}/sub"), FileEdit)
    assert edit.path == RepoPath(b"sub/a.py")


def test_a_patch_that_failed_edits_nothing() -> None:
    words = "Exit code: 1\nWall time: 0 seconds\nOutput:\nFailed to find expected lines"
    views = seen(a_codex_patch("PostToolUse", ROOT, patch_text(added("a.py", "x\n")), tool_response=words))
    assert ([call.status for call in of(views, ToolCall)], of(views, FileEdit)) == ([CallStatus.FAILED], [])


def test_a_patch_that_a_command_applies() -> None:
    command = f"cd sub && apply_patch <<'EOF'\n{patch_text(added('a.py', 'x'))}\nEOF\n"
    (edit,) = of(seen(a_command(command)), FileEdit)
    assert (edit.path, edit.after.content) == (RepoPath(b"sub/a.py"), "x\n")
    assert of(seen(a_command(f"make && {command}")), FileEdit) == []


@pytest.mark.parametrize(
    ("command", "printed", "read"),
    [
        ("cat a.py", "text", [(f"{ROOT}/a.py", Reading.VERBATIM, "text")]),
        (
            "cat a.py",
            "Warning: truncated output (original token count: 9)\n\nte",
            [(f"{ROOT}/a.py", Reading.EXCERPT, None)],
        ),
        ("cat a.py b.py", "text", [(f"{ROOT}/a.py", Reading.EXCERPT, None), (f"{ROOT}/b.py", Reading.EXCERPT, None)]),
        ("sed -n '1,20p' src/a.py", "text", [(f"{ROOT}/src/a.py", Reading.EXCERPT, None)]),
        ("nl -ba a.py | sed -n '1,9p'", "1 x", [(f"{ROOT}/a.py", Reading.EXCERPT, None)]),
        ("head -n 5 /etc/hosts", "x", [("/etc/hosts", Reading.EXCERPT, None)]),
        ("rg -n price", "a.py:3:price\nb.py:4:price\n", [(f"{ROOT}/{n}.py", Reading.EXCERPT, None) for n in "ab"]),
        ("rg -n price a.py", "3:price\n", [(f"{ROOT}/a.py", Reading.EXCERPT, None)]),
        ("curl -fsS https://example.org/a", "page", [("https://example.org/a", Reading.VERBATIM, "page")]),
        ("sed -i s/a/b/ a.py", "", []),
        ("cat a.py > b.py", "", []),
        ("cat > b.py <<'EOF'\nx\nEOF", "", []),
        ("cat $FILE", "x", []),
        ("ls", "a.py", []),
    ],
)
def test_sources_that_commands_read(command: str, printed: str, read: list[tuple[str, Reading, str | None]]) -> None:
    found = of(seen(a_command(command, printed)), SourceAccess)
    assert [(one.locator, one.reading, one.text and one.text.content) for one in found] == read
    assert len({one.id for one in found}) == len(found)


def test_an_unreadable_file_is_an_attempt() -> None:
    said = {"output": "cat: a.py: No such file", "metadata": {"exit_code": 1, "duration_seconds": 0.1}}
    (read,) = of(seen(a_command("cat a.py", said)), SourceAccess)
    assert (read.reading, read.failed) == (Reading.ATTEMPTED, True)


def test_tools_of_servers_open_pages() -> None:
    said = {"tool_name": "mcp__web__fetch", "tool_input": {"url": "https://example.org/a"}}
    answer = {"content": [{"type": "text", "text": "words"}]}
    (read,) = of(seen(a_command("", answer, **said)), SourceAccess)
    assert (read.locator, read.reading, read.text.content) == ("https://example.org/a", Reading.EXCERPT, "words")


def test_commits_are_linked_by_full_ids_only_and_pull_requests_by_url() -> None:
    made = seen(a_command("git commit -m x", f"[main {'b' * 40}] x\n"))
    assert [link.commit for link in of(made, CommitLink)] == ["b" * 40]
    assert of(seen(a_command("git commit -m x", "[main bbbbbbb] x\n")), CommitLink) == []
    assert of(seen(a_command("cat log", f"[main {'b' * 40}] x\n")), CommitLink) == []
    (fact,) = of(seen(a_command("gh pr create -f", "https://github.com/o/r/pull/7\n")), PullRequestFact)
    assert (fact.number, fact.repository, fact.action) == (7, "o/r", "created")


def test_unknown_fields_and_events_are_ignored() -> None:
    plain = a_codex_patch("PostToolUse", ROOT, patch_text(added("a.py", "x\n")))
    assert seen({**plain, "hologram": {"x": [1]}, "version": 99}) == seen(plain)
    assert seen(a_codex_event("Hologram", ROOT, x=1)) == []


FIELDS = "tool_input tool_response prompt model agent_id turn_id cwd tool_name source".split()
TOOLS = st.sampled_from(["apply_patch", "Bash", "functions.exec_command", "mcp__a__fetch", "web_search"])


@given(
    st.sampled_from("SessionStart UserPromptSubmit PreToolUse PostToolUse Stop SubagentStop".split()),
    TOOLS,
    st.dictionaries(st.sampled_from(FIELDS), json_values),
    st.dictionaries(st.sampled_from(("command", "cmd", "input", "url", "workdir")), json_values),
)
def test_invalid_shapes_never_raise(event: str, tool: str, fields: dict[str, Any], given: dict[str, Any]) -> None:
    said = a_codex_event(event, ROOT, **{"tool_name": tool, "tool_use_id": "c", "tool_input": given, **fields})
    assert isinstance(seen(said), list)
