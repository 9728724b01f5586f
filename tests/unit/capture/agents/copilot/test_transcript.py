"""Sessions of Copilot in each of their shapes: what is stored, and what is damaged, invalid or newer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custody.capture import (
    TRANSCRIPT_READERS,
    LineProblem,
    SkippedLine,
    TranscriptLine,
    read_jsonl_lines,
    transcript_views,
)
from custody.capture.agents.copilot.request import extract_chat_part_text, path_from_vscode_uri
from custody.capture.agents.copilot.session_record import EVENTS, is_copilot_session_opening, read_vscode_storage_folder
from custody.capture.hook.call_name import make_copilot_call_id
from custody.core.views import CallStatus, FileEdit, Prompt, Reading, Session, SourceAccess, ToolCall, View
from custody.core.wire.body import OUTPUT_BYTES_MAX
from custody.core.wire.canonical import parse_json_bytes
from tests.builders.copilot import MODEL, SESSION, SHAPES, Copilot

READER = TRANSCRIPT_READERS["copilot"]
ROOT = "/work tree"
WAYS = [(surface, shape) for surface, shapes in SHAPES.items() for shape in shapes]
CHATS = ["log", "document"]


def read(file: Path) -> list[TranscriptLine | SkippedLine | LineProblem]:
    starts = {(one.session, one.subagent): one.call for one in READER.starts(file, read_jsonl_lines(file))}
    return list(READER.read(file, read_jsonl_lines(file), starts))


def found(file: Path) -> list[TranscriptLine]:
    return [item for item in read(file) if isinstance(item, TranscriptLine)]


def troubles(file: Path) -> list[str]:
    return [item.what for item in read(file) if isinstance(item, LineProblem)]


def views(file: Path) -> list[View]:
    """Return the views of all stored records; every named file is in the repository."""
    return [view for item in found(file) for view in _views(item)]


def _views(item: TranscriptLine) -> Iterator[View]:
    event: dict[str, Any] = {
        "custody": 1,
        "kind": "transcript",
        "agent": "copilot",
        "id": item.id,
        "session": item.session,
        "at": item.at,
        "payload": item.payload,
        "calls": item.calls,
        "paths": {named.name: named.name.removeprefix(f"{ROOT}/") for named in item.edits},
        "commits": {sha: sha.ljust(40, "0") for sha in item.commits},
        "subagent": item.subagent,
        "parent_call": item.parent_call,
        "opens": item.opens,
    }
    kept = READER.trimmed({name: value for name, value in event.items() if value})
    yield from transcript_views(parse_json_bytes(json.dumps(kept).encode()))[1:]


def some(said: list[View], kind: type[View]) -> list[Any]:
    return [view for view in said if isinstance(view, kind)]


def a_session(surface: str) -> Copilot:
    session = Copilot(ROOT, surface).prompt("give a discount").replace("a.py", "one\n", "1\n").says("done")
    return session.shell("git commit -m x", "[main abc1234] x").read("b.py").replace("b.py", "x", "y", failed=True)


# --- every shape ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("surface", "shape"), WAYS)
def test_each_shape_gives_the_same_views(tmp_path: Path, surface: str, shape: str) -> None:
    file = a_session(surface).put(tmp_path, shape)
    assert troubles(file) == []
    said = views(file)
    assert [one.text.content for one in some(said, Prompt)] == ["give a discount"]
    statuses = [call.status for call in some(said, ToolCall)]
    assert statuses == [CallStatus.OK, CallStatus.OK, CallStatus.OK, CallStatus.FAILED]
    (edit,) = some(said, FileEdit)
    assert (edit.before.content, edit.after.content, edit.part) == ("one\n", "1\n", True)
    assert len(some(said, SourceAccess)) == 1
    commits = [item.commits for item in found(file) if item.commits]
    assert commits == ([] if shape == "transcript" else [("abc1234",)])
    assert {item.session for item in found(file)} == {SESSION}
    assert found(file)[0].opens == "session"
    assert "done" not in json.dumps([item.payload for item in found(file)])


@pytest.mark.parametrize(("surface", "shape"), WAYS)
def test_models(tmp_path: Path, surface: str, shape: str) -> None:
    said = views(a_session(surface).put(tmp_path, shape))
    told = {call.model for call in some(said, ToolCall)} | {one.model for one in some(said, Session)}
    assert told == ({None} if shape in ("transcript", "legacy") else {MODEL})


@pytest.mark.parametrize(("surface", "shape"), WAYS)
def test_ids_are_unique_and_stable(tmp_path: Path, surface: str, shape: str) -> None:
    file = a_session(surface).put(tmp_path, shape)
    ids = [item.id for item in found(file)]
    assert len(set(ids)) == len(ids)
    grown = a_session(surface).create("c.py", "c\n").put(tmp_path, shape)
    assert [item.id for item in found(grown)][: len(ids)] == ids


def test_a_call_is_named_as_hooks_name_it(tmp_path: Path) -> None:
    given_ = {"path": f"{ROOT}/a.py", "old_str": "one\n", "new_str": "1\n"}
    first = next(item for item in found(a_session("cli").put(tmp_path, "stream")) if item.calls)
    assert first.calls[0]["id"] == make_copilot_call_id("Edit", given_, None)
    for shape in SHAPES["vscode"]:
        first = next(item for item in found(a_session("vscode").put(tmp_path, shape)) if item.calls)
        assert str(first.calls[0]["id"]).startswith("call_")
        assert "__vscode" not in str(first.calls[0]["id"])


# --- event streams ----------------------------------------------------------------------------------------------------


def test_a_session_starts_in_a_folder_at_a_commit(tmp_path: Path) -> None:
    file = Copilot(ROOT, "cli").put(tmp_path, "stream")
    (item,) = found(file)
    assert (item.cwd, item.version) == (ROOT, "1.0.62")
    assert some(views(file), Session)[0].revision == "b" * 40


def test_another_model_is_reported_once(tmp_path: Path) -> None:
    session = Copilot(ROOT, "cli").event("session.model_change", {"newModel": "gpt-5"})
    session.event("session.model_change", {"newModel": "gpt-5"}).event("session.model_change", {"newModel": "auto"})
    session.model = "gpt-5"
    session.read("a.py").event("session.resume", {"selectedModel": "o9", "context": {"cwd": "/other"}}).read("b.py")
    file = session.put(tmp_path, "stream")
    assert [one.model for one in some(views(file), Session)] == [MODEL, "gpt-5"]
    assert [item.cwd for item in found(file) if item.calls] == [ROOT, "/other"]


def test_subagents_are_known_with_the_call_that_started_them(tmp_path: Path) -> None:
    session = Copilot(ROOT, "cli").prompt("go")
    given_ = {"agent_type": "explore", "prompt": "look"}
    session.event("tool.execution_start", {"toolCallId": "t1", "toolName": "task", "arguments": given_})
    session.event("subagent.started", {"toolCallId": "t1", "agentName": "explore"}, agentId="agent-7")
    session.agent = "agent-7"
    session.prompt("what the agent was asked").create("a.py", "x\n")
    session.agent = None
    session.event("tool.execution_complete", {"toolCallId": "t1", "success": True, "result": {"content": "found"}})
    file = session.put(tmp_path, "stream")
    own, outer = some(views(file), ToolCall)
    assert (own.subagent, own.parent) == ("agent-7", outer.id)
    assert (outer.subagent, outer.name, outer.about) == (None, "Agent", "explore")
    assert [one.text.content for one in some(views(file), Prompt)] == ["go"]


def test_a_subagent_of_older_versions_is_named_after_its_call(tmp_path: Path) -> None:
    session = Copilot(ROOT, "cli")
    session.event("tool.execution_start", {"toolCallId": "t1", "toolName": "task", "arguments": {}})
    told = {"toolCallId": "t2", "toolName": "view", "arguments": {"path": "a"}, "parentToolCallId": "t1"}
    session.event("tool.execution_start", told)
    session.event("tool.execution_complete", {"toolCallId": "t2", "success": True, "parentToolCallId": "t1"})
    inner = some(views(session.put(tmp_path, "stream")), ToolCall)[0]
    assert (inner.subagent, inner.parent) == ("t1", make_copilot_call_id("task", {}, None))


def test_a_persons_commands_and_the_programs_messages_are_not_stored(tmp_path: Path) -> None:
    session = Copilot(ROOT, "cli")
    session.event("tool.user_requested", {"toolCallId": "u1", "toolName": "local_shell", "arguments": {}})
    session.event("tool.execution_start", {"toolCallId": "u1", "toolName": "bash", "arguments": {"command": "ls"}})
    session.event("tool.execution_complete", {"toolCallId": "u1", "isUserRequested": True, "success": True})
    session.event("user.message", {"content": "go on", "isAutopilotContinuation": True})
    session.event("user.message", {"content": "skill", "source": "skill-pdf"})
    session.event("assistant.reasoning", {"content": "a thought"})
    assert len(found(session.put(tmp_path, "stream"))) == 1


def test_typed_text_is_a_prompt_whatever_else_the_message_contains(tmp_path: Path) -> None:
    session = Copilot(ROOT, "cli")
    # Since 1.0.64 every message names its telemetry's task.
    session.event("user.message", {"content": "go", "parentAgentTaskId": "5c1d7a90-0000-4000-8000-000000000001"})
    session.event("user.message", {"content": "on", "source": "user", "delivery": "idle"})
    session.event("user.message", {"content": "psst", "source": "agent-7"})
    assert [one.text.content for one in some(views(session.put(tmp_path, "stream")), Prompt)] == ["go", "on"]


def test_a_tool_of_a_server_has_the_servers_name(tmp_path: Path) -> None:
    session = Copilot(ROOT, "cli")
    told = {"toolCallId": "m", "toolName": "docs-get", "mcpServerName": "docs", "mcpToolName": "get"}
    session.event("tool.execution_start", {**told, "arguments": {"url": "https://example.org"}})
    session.event("tool.execution_complete", {"toolCallId": "m", "success": True, "result": {"content": "page"}})
    said = views(session.put(tmp_path, "stream"))
    assert [call.name for call in some(said, ToolCall)] == ["mcp__docs__get"]
    assert [source.locator for source in some(said, SourceAccess)] == ["https://example.org"]


def test_an_unfinished_call_is_running(tmp_path: Path) -> None:
    session = Copilot(ROOT, "cli").read("a.py").create("b.py", "x\n")
    session.events.pop()
    said = views(session.put(tmp_path, "stream"))
    assert [call.status for call in some(said, ToolCall)] == [CallStatus.OK, CallStatus.RUNNING]
    assert some(said, FileEdit) == []


def test_transcripts_of_0_37_have_no_ends_of_calls(tmp_path: Path) -> None:
    session = Copilot(ROOT).create("b.py", "x\n")
    session.events = [event for event in session.events if event["type"] != "tool.execution_complete"]
    assert [call.status for call in some(views(session.put(tmp_path, "transcript")), ToolCall)] == [CallStatus.RUNNING]
    session.events[0]["data"]["copilotVersion"] = "0.37.6"
    said = views(session.put(tmp_path, "transcript"))
    assert [call.status for call in some(said, ToolCall)] == [CallStatus.OK]
    assert len(some(said, FileEdit)) == 1


def test_a_result_of_1_0_45(tmp_path: Path) -> None:
    session = Copilot(ROOT, "cli").create("b.py", "x\n")
    result = {"result_type": "success", "text_result_for_llm": "Created"}
    session.events[-1]["data"] = {"toolCallId": session.events[-1]["data"]["toolCallId"], "result": result}
    assert [call.status for call in some(views(session.put(tmp_path, "stream")), ToolCall)] == [CallStatus.OK]


@pytest.mark.parametrize("words", ["made\n<shellId: 0 completed with exit code 2>", "made\n<ended in other words>"])
def test_a_stream_of_1_0_102_has_exit_codes(tmp_path: Path, words: str) -> None:
    session = Copilot(ROOT, "cli").call("bash", {"command": "make"}, words)
    session.events[-1]["data"] |= {"shellExecution": {"exitCode": 2}, "rte": False}
    session.event("session.usage_record", {"usage": {"model": "m"}})
    items = read(session.put(tmp_path, "stream"))
    assert not [item for item in items if isinstance(item, SkippedLine) and not item.known]
    said = [view for item in items if isinstance(item, TranscriptLine) for view in _views(item)]
    (call,) = some(said, ToolCall)
    assert (call.status, call.id) == (CallStatus.FAILED, make_copilot_call_id("bash", {"command": "make"}, words))


def test_writes_of_a_background_command_do_not_count(tmp_path: Path) -> None:
    words = "<command with shellId: 0 is still running after 30 seconds. You will be automatically notified.>"
    session = Copilot(ROOT, "cli").call("bash", {"command": "sleep 50; echo late > late.txt"}, words)
    assert some(views(session.put(tmp_path, "stream")), FileEdit) == []


def test_a_transcript_that_starts_late_repeats_earlier_content(tmp_path: Path) -> None:
    session = Copilot(ROOT)
    request = {"toolCallId": "call_old", "name": "create_file", "type": "function"}
    request["arguments"] = json.dumps({"filePath": f"{ROOT}/old.py", "content": "old\n"})
    session.event("assistant.turn_start", {"turnId": "0.0"})
    session.event("assistant.message", {"content": "", "toolRequests": [request]})
    session.event("assistant.turn_end", {"turnId": "0.0"}).event("assistant.turn_start", {"turnId": "1"})
    session.event("assistant.message", {"content": "", "toolRequests": [{**request, "toolCallId": "call_new"}]})
    said = views(session.put(tmp_path, "transcript"))
    assert [call.id for call in some(said, ToolCall)] == ["call_old"]
    assert [edit.after.content for edit in some(said, FileEdit)] == ["old\n"]


# --- chats ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", CHATS)
def test_an_unfinished_request_waits_for_the_next_import(tmp_path: Path, shape: str) -> None:
    session = Copilot(ROOT).prompt("one").read("a.py").prompt("two").read("b.py")
    result = session.requests[1].pop("result")
    session.requests[1]["result"] = None
    file = session.put(tmp_path, shape)
    assert [one.text.content for one in some(views(file), Prompt)] == ["one"]
    session.requests[1]["result"] = result
    assert len(some(views(session.put(tmp_path, shape)), ToolCall)) == 2


@pytest.mark.parametrize("shape", CHATS)
def test_a_cancelled_request_belongs_to_the_session_before_it(tmp_path: Path, shape: str) -> None:
    session = Copilot(ROOT).prompt("one").prompt("two")
    session.requests[1] |= {"result": None, "modelState": {"value": 2}, "modelId": "copilot/auto"}
    session.requests[0]["result"]["metadata"]["sessionId"] = "copilots-own"
    assert {item.session for item in found(session.put(tmp_path, shape))} == {"copilots-own"}


def test_the_model_that_was_chosen_for_the_user(tmp_path: Path) -> None:
    session = Copilot(ROOT, model="auto").prompt("one").read("a.py")
    assert {call.model for call in some(views(session.put(tmp_path, "log")), ToolCall)} == {"Claude Sonnet 4.5"}


@pytest.mark.parametrize("shown", ["Auto • 5 credits", "Auto • 0.9x", "", "GPT"])
def test_an_unreported_model_is_none(tmp_path: Path, shown: str) -> None:
    session = Copilot(ROOT, model="auto").prompt("go")
    session.requests[-1]["result"]["details"] = shown
    assert [one.model for one in some(views(session.put(tmp_path, "document")), Session)] == [None]


def test_the_model_that_answered_is_the_one_that_was_chosen(tmp_path: Path) -> None:
    session = Copilot(ROOT, model="auto").prompt("go")
    session.requests[-1]["result"]["details"] = "Auto • 5 credits"
    session.requests[-1]["result"]["metadata"]["resolvedModel"] = "gpt-5.2"
    assert [one.model for one in some(views(session.put(tmp_path, "document")), Session)] == ["gpt-5.2"]


def test_buttons_and_the_programs_requests_are_not_prompts(tmp_path: Path) -> None:
    session = Copilot(ROOT).prompt("go").prompt('@agent Continue: "Continue to iterate?"').create("a.py", "x\n")
    session.requests[-1]["confirmation"] = "Continue"
    session.prompt("a command has ended")
    session.requests[-1]["isSystemInitiated"] = True
    said = views(session.put(tmp_path, "document"))
    assert [one.text.content for one in some(said, Prompt)] == ["go"]
    assert len(some(said, FileEdit)) == 1


def test_inserted_lines_belong_to_the_call_that_hints_at_them(tmp_path: Path) -> None:
    session = Copilot(ROOT).prompt("go").call("insert_edit_into_file", {"filePath": f"{ROOT}/a.py", "code": "x"}, "ok")
    session.inserted("a.py", 3, "new line\n").inserted("b.py", 1, "other line\n")
    said = views(session.put(tmp_path, "log"))
    calls, edits = some(said, ToolCall), some(said, FileEdit)
    assert [call.name for call in calls] == ["insert_edit_into_file", "edit_files"]
    assert [(edit.call, edit.after.content) for edit in edits] == [
        (calls[0].id, "new line\n"),
        (calls[1].id, "other line\n"),
    ]


def test_replaced_lines_are_not_claimed(tmp_path: Path) -> None:
    session = Copilot(ROOT).prompt("go").inserted("a.py", 3, "new line\n")
    session.requests[-1]["response"][-1]["edits"][0][0]["range"]["endLineNumber"] = 9
    assert some(views(session.put(tmp_path, "log")), FileEdit) == []


def test_edits_in_a_calls_input_are_not_repeated_by_the_answer(tmp_path: Path) -> None:
    session = Copilot(ROOT).prompt("go").replace("a.py", "one", "1").inserted("a.py", 1, "1")
    (edit,) = some(views(session.put(tmp_path, "log")), FileEdit)
    assert edit.before.content == "one"


def test_paths_of_a_window_on_another_system_are_normalized(tmp_path: Path) -> None:
    session = Copilot(ROOT).prompt("go").create("src/app.py", "x = 1\n").inserted("src/app.py", 1, "x = 1\n")
    group = session.requests[-1]["response"][-1]
    group["uri"] = {**group["uri"], "fsPath": f"{ROOT}/src/app.py".replace("/", "\\"), "scheme": "vscode-remote"}
    (edit,) = some(views(session.put(tmp_path, "document")), FileEdit)
    assert (edit.after.content if edit.after else None, edit.part) == ("x = 1\n", False)


def test_a_subagents_calls_of_2025_belong_to_the_last_started_subagent(tmp_path: Path) -> None:
    session = Copilot(ROOT).prompt("go").call("runSubagent", {"prompt": "look"}, "done")
    session.part(kind="toolInvocationSerialized", toolId="runSubagent", toolCallId="p1", isComplete=True)
    session.part(
        kind="toolInvocationSerialized",
        toolId="copilot_githubRepo",
        toolCallId="p2",
        isComplete=True,
        fromSubAgent=True,
    )
    outer, inner = some(views(session.put(tmp_path, "document")), ToolCall)
    assert (inner.name, inner.subagent, inner.parent) == ("copilot_githubRepo", "p1", outer.id)


def test_a_subagents_input_is_read_from_its_part(tmp_path: Path) -> None:
    session = Copilot(ROOT).prompt("go")
    part = {"kind": "toolInvocationSerialized", "isComplete": True, "subAgentInvocationId": "a1"}
    link = {"value": f"Read [](file://{quote(ROOT)}/src/app.py#3-9)"}
    session.part(**part, toolId="copilot_readFile", toolCallId="r", pastTenseMessage=link, isConfirmed={"type": 1})
    terminal = {"kind": "terminal", "commandLine": {"original": "echo 'x = 1' > src/new.py"}}
    session.part(**part, toolId="run_in_terminal", toolCallId="t", toolSpecificData=terminal, isConfirmed={"type": 4})
    session.part(**part, toolId="run_in_terminal", toolCallId="n", toolSpecificData=terminal, isConfirmed={"type": 0})
    wrong: dict[str, Any] = {"kind": "terminal", "commandLine": {"original": "make && echo 'y = 1' > src/b.py"}}
    wrong["terminalCommandState"] = {"exitCode": 2}
    session.part(**part, toolId="run_in_terminal", toolCallId="w", toolSpecificData=wrong)
    said = views(session.put(tmp_path, "document"))
    states = [(call.id, call.status) for call in some(said, ToolCall)]
    assert states == [
        ("r", CallStatus.OK),
        ("t", CallStatus.OK),
        ("n", CallStatus.ABANDONED),
        ("w", CallStatus.FAILED),
    ]
    assert [(one.locator, one.reading) for one in some(said, SourceAccess)] == [
        (f"{ROOT}/src/app.py", Reading.EXCERPT),
    ]
    assert [edit.call for edit in some(said, FileEdit)] == ["t"]


def test_calls_of_a_subagent_in_vscode(tmp_path: Path) -> None:
    session = Copilot(ROOT).prompt("go").call("runSubagent", {"prompt": "look"}, "found", call="toolu_1")
    session.part(kind="toolInvocationSerialized", toolId="runSubagent", toolCallId="inv-1", isComplete=True)
    inner = {"kind": "toolInvocationSerialized", "toolId": "copilot_insertEdit", "subAgentInvocationId": "inv-1"}
    session.part(**inner, toolCallId="inv-2", isComplete=True).inserted("a.py", 1, "by the subagent\n")
    said = views(session.put(tmp_path, "log"))
    outer, own = some(said, ToolCall)
    assert (own.name, own.subagent, own.parent) == ("insert_edit_into_file", "inv-1", outer.id)
    assert [edit.call for edit in some(said, FileEdit)] == [own.id]


def test_requests_to_other_participants_are_not_copilots(tmp_path: Path) -> None:
    session = Copilot(ROOT).prompt("go").read("a.py")
    session.requests[0]["agent"] = {"id": "acme.helper", "extensionId": {"value": "acme.helper"}}
    assert found(session.put(tmp_path, "log")) == []


def test_a_cancelled_call_is_abandoned(tmp_path: Path) -> None:
    session = Copilot(ROOT).prompt("go").create("a.py", "x\n")
    metadata = session.requests[0]["result"]["metadata"]
    (named,) = metadata["toolCallResults"]
    metadata["toolCallResults"][named] = {"content": [{"value": "The user cancelled the tool call."}]}
    said = views(session.put(tmp_path, "log"))
    assert [call.status for call in some(said, ToolCall)] == [CallStatus.ABANDONED]
    assert some(said, FileEdit) == []


def test_texts_and_uris() -> None:
    node = {"content": [{"value": {"node": {"children": [{"text": "a"}, {"children": [{"text": "b"}]}]}}}]}
    assert extract_chat_part_text(node) == "ab"
    assert path_from_vscode_uri("file:///a%20b/c.py") == "/a b/c.py"
    assert path_from_vscode_uri({"path": "/c.py", "scheme": "file"}) == "/c.py"
    assert path_from_vscode_uri("https://example.org/c.py") is None
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    assert extract_chat_part_text(deep) == ""


# --- damaged, invalid or newer content --------------------------------------------------------------------------------


@pytest.mark.parametrize(("surface", "shape"), WAYS)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.97])
def test_the_complete_part_of_a_truncated_file_is_used(tmp_path: Path, surface: str, shape: str, share: float) -> None:
    session = a_session(surface).prompt("again").create("c.py", "c\n")
    file = session.put(tmp_path, shape)
    whole, ids = file.read_bytes(), [item.id for item in found(file)]
    file.write_bytes(whole[: int(len(whole) * share)])
    kept = [item for item in read(file) if isinstance(item, TranscriptLine)]
    assert len(troubles(file)) == 1
    if shape != "document" and shape != "legacy":
        assert len(kept) <= len(ids) + 1
    if share > 0.9:
        assert kept


@pytest.mark.parametrize(("surface", "shape"), WAYS)
def test_unknown_fields_change_nothing(tmp_path: Path, surface: str, shape: str) -> None:
    session = a_session(surface)
    plainly = views(session.put(tmp_path, shape))
    for thing in (*session.events, *session.requests, *session.timeline):
        thing |= {"later": {"deep": [1, None]}, "schema": 7}
    for event in session.events:
        event["data"]["later"] = [True]
    assert views(session.put(tmp_path, shape)) == plainly


@pytest.mark.parametrize("shape", ["stream", "transcript", "log", "document"])
def test_a_newer_version_is_reported_and_read(tmp_path: Path, shape: str) -> None:
    session = a_session("cli" if shape == "stream" else "vscode")
    session.events[0]["data"]["version"] = 2
    file = session.put(tmp_path, shape)
    if shape in CHATS:
        file.write_text(file.read_text().replace('"version": 3', '"version": 4'))
    assert [what.partition(",")[0] for what in troubles(file)] == [
        f"written in version {2 if shape not in CHATS else 4}"
    ]
    assert len(some(views(file), FileEdit)) == 1


def test_unknown_event_types_are_counted(tmp_path: Path) -> None:
    session = Copilot(ROOT, "cli").event("session.teleported", {}).event("session.idle", {})
    told = [item for item in read(session.put(tmp_path, "stream")) if isinstance(item, SkippedLine)]
    assert [(item.kind, item.known) for item in told] == [("session.teleported", False), ("session.idle", True)]
    assert "tool.execution_complete" in EVENTS


def test_unusable_lines_are_reported(tmp_path: Path) -> None:
    file = a_session("cli").put(tmp_path, "stream")
    lines = file.read_bytes().splitlines(keepends=True)
    odd = [b"not json\n", b"[1]\n", b"\n", b'{"type":"user.message","timestamp":"yesterday","data":{"content":"x"}}\n']
    file.write_bytes(b"".join([*odd, *lines]))
    assert len(troubles(file)) == 3
    assert len(some(views(file), FileEdit)) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"kind": 1, "k": ["requests", 99, "result"], "v": {}},
        {"kind": 2, "k": ["sessionId"], "v": [1]},
        {"kind": 9, "k": ["requests"]},
        {"kind": 1, "k": [], "v": {}},
        {"kind": 1},
        [1],
    ],
)
def test_a_change_that_does_not_fit_is_reported(tmp_path: Path, change: Any) -> None:
    file = a_session("vscode").put(tmp_path, "log")
    with file.open("a") as log:
        log.write(f"{json.dumps(change)}\n")
    assert len(troubles(file)) == 1
    assert len(some(views(file), FileEdit)) == 1


def test_long_outputs_are_cut_and_the_texts_of_edits_stay_whole(tmp_path: Path) -> None:
    long = "x" * (OUTPUT_BYTES_MAX * 2)
    session = Copilot(ROOT, "cli").shell("make", long).create("a.py", f"{long}\n")
    shell, made = (item for item in found(session.put(tmp_path, "stream")) if item.calls)
    assert len(json.dumps(READER.trimmed({"payload": shell.payload}))) < OUTPUT_BYTES_MAX
    assert long in json.dumps(READER.trimmed({"payload": made.payload}))


def test_the_folder_of_a_workspace(tmp_path: Path) -> None:
    for said, folder in (
        ({"folder": "file:///a%20b"}, "/a b"),
        ({"folder": "vscode-remote://ssh-remote%2Bhost/srv/x"}, "/srv/x"),
        ({"workspace": "file:///x.code-workspace"}, None),
        ({"folder": "https://example.org/x"}, None),
        ([], None),
    ):
        (tmp_path / "workspace.json").write_text(json.dumps(said))
        assert read_vscode_storage_folder(tmp_path) == folder
    (tmp_path / "workspace.json").write_bytes(b"{")
    assert read_vscode_storage_folder(tmp_path) is None


def test_files_of_other_programs_are_not_copilots(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"type":"user","sessionId":"s","uuid":"u","message":{}}\n')
    (tmp_path / "b.json").write_text('{"requests": 3, "kind": 0}')
    (tmp_path / "c.jsonl").write_text('{"kind": 1, "v": {"requests": []}}\n')
    assert READER.files(tmp_path) == []
    assert not is_copilot_session_opening(b"\xff")


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    events=st.lists(st.tuples(st.sampled_from(sorted(EVENTS)), st.dictionaries(st.text(max_size=9), ODD, max_size=4))),
    requests=st.lists(ODD, max_size=3),
    result=ODD,
    response=ODD,
)
def test_arbitrary_shapes_do_not_break_the_reader(
    tmp_path: Path, events: list[tuple[str, dict[str, Any]]], requests: list[Any], result: Any, response: Any
) -> None:
    session = Copilot(ROOT, "cli")
    for kind, data in events:
        session.event(kind, {"toolCallId": "c", "toolName": "create", **data})
    views(session.put(tmp_path, "stream"))
    chat = Copilot(ROOT).prompt("go")
    chat.requests[0] |= {"result": {"metadata": result}, "response": response}
    chat.requests += requests
    views(chat.put(tmp_path, "document"))
    chat.timeline = requests
    views(chat.put(tmp_path, "legacy"))
