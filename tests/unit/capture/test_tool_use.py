"""One ``ToolUse`` for all agents: the same call of each of the six agents gives the same views."""

from typing import Any

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as with_fields

from custody.capture import hook_views
from custody.capture.shell import Write
from custody.capture.tool_use import FileEffect, SourceUse, ToolUse, views_from_tool_use
from custody.core.ids import AgentName, CallId, SessionId
from custody.core.paths import RepoPath
from custody.core.views import CommitLink, FileEdit, PullRequestFact, Reading, SourceAccess
from custody.core.wire.event_views import text_view_from_field

CALL, ROOT, SHA = "call-0123456789abcdef", "/w", "0123456789abcdef0123456789abcdef01234567"
PAGE = "https://example.org/a"
COMMAND = f"curl -fsSL {PAGE}"


COMMANDS: dict[str, tuple[str, dict[str, Any]]] = {
    "claude-code": (
        "PostToolUse",
        {"tool_name": "Bash", "tool_input": {"command": COMMAND}, "tool_response": {"stdout": "hello"}},
    ),
    "codex": ("PostToolUse", {"tool_name": "Bash", "tool_input": {"command": COMMAND}, "tool_response": "hello"}),
    "copilot": (
        "postToolUse",
        {"tool_name": "bash", "tool_input": {"command": COMMAND}, "tool_result": {"text_result_for_llm": "hello"}},
    ),
    "cursor": (
        "postToolUse",
        {"tool_name": "Shell", "tool_input": {"command": COMMAND}, "tool_output": {"output": "hello", "exitCode": 0}},
    ),
    "gemini": (
        "AfterTool",
        {
            "tool_name": "run_shell_command",
            "tool_input": {"command": COMMAND},
            "tool_response": {"llmContent": "Output: hello\nProcess Group PGID: 7"},
        },
    ),
    "opencode": (
        "tool.execute.after",
        {"tool_name": "bash", "tool_input": {"command": COMMAND}, "tool_response": {"output": "hello"}},
    ),
}
"""A command that prints a page, as each agent's hook reports its end."""


def views_of(agent: str, event: str, said: dict[str, Any]) -> list[Any]:
    kept: dict[str, Any] = {
        "custody": 1,
        "kind": "hook",
        "id": "11111111-1111-4111-8111-111111111111",
        "at": "2026-08-01T12:00:00.000000Z",
        "agent": agent,
        "event": event,
        "session": "session-1",
        "call": CALL,
        "worktree": ROOT,
        "folder": ROOT,
        "payload": said,
    }
    return list(hook_views(kept))


@pytest.mark.parametrize("agent", COMMANDS)
def test_a_command_opens_the_same_source_for_every_agent(agent: str) -> None:
    event, said = COMMANDS[agent]
    (read,) = [view for view in views_of(agent, event, said) if isinstance(view, SourceAccess)]
    assert (read.agent, read.id, read.call) == (agent, f"{CALL}:0", CALL)
    assert (read.locator, read.reading, read.text) == (PAGE, Reading.VERBATIM, text_view_from_field("hello"))


# --- from a use to its views ------------------------------------------------------------------------------------------


def a_use(**fields: Any) -> ToolUse:
    base = ToolUse(
        agent=AgentName("codex"),
        session=SessionId("session-1"),
        call=CallId(CALL),
        at_ns=5,
        tool="Bash",
        locate=lambda named: RepoPath.of(str(named)) if str(named).startswith("src/") else None,
    )
    return with_fields(base, **fields)


def test_a_skipped_number_is_not_reused() -> None:
    opened = (SourceUse("a", Reading.LISTED), None, SourceUse("b", Reading.LISTED))
    assert [view.id for view in views_from_tool_use(a_use(opened=opened)) if isinstance(view, SourceAccess)] == [
        f"{CALL}:0",
        f"{CALL}:2",
    ]


def test_edits_are_numbered_by_file_and_only_of_the_repository() -> None:
    changes = tuple(FileEffect(path, None, text_view_from_field("x")) for path in ("src/a", "/etc/b", "src/a", "src/c"))
    told = [view for view in views_from_tool_use(a_use(changes=changes)) if isinstance(view, FileEdit)]
    assert [(str(edit.path), edit.id) for edit in told] == [
        ("src/a", f"{CALL}:shell:0"),
        ("src/a", f"{CALL}:shell:1"),
        ("src/c", f"{CALL}:shell:0"),
    ]
    whole = [
        view for view in views_from_tool_use(a_use(changes=changes, from_text=False)) if isinstance(view, FileEdit)
    ]
    assert [edit.id for edit in whole] == [CALL, f"{CALL}:1", CALL]
    assert [replace(edit, id="") for edit in whole] == [replace(edit, id="") for edit in told]


def test_a_commands_writes_are_numbered_by_their_place_in_the_command() -> None:
    writes = (Write("/etc/b", "x", append=False, sure=True), Write("src/a", "y", append=True, sure=True))
    (edit,) = views_from_tool_use(a_use(writes=writes, from_text=False))
    assert isinstance(edit, FileEdit)
    assert (edit.id, edit.part, edit.before, edit.after) == (
        f"{CALL}:shell:1",
        True,
        text_view_from_field(""),
        text_view_from_field("y"),
    )


def test_an_abbreviated_commit_counts_only_if_it_is_known() -> None:
    use = a_use(commits=("0123456", SHA))
    assert [link.commit for link in views_from_tool_use(use) if isinstance(link, CommitLink)] == [SHA]
    assert len(list(views_from_tool_use(use, {"0123456": SHA[::-1]}))) == 2


def test_a_pull_request_is_a_fact_of_the_session() -> None:
    fact = PullRequestFact(AgentName("codex"), SessionId("session-1"), 7, 5)
    assert list(views_from_tool_use(a_use(pull_request=fact))) == [fact]
