"""Gemini CLI's hook events become views; invalid content is ignored, never guessed."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import hook_views
from custody.capture.agents.gemini.hook_events import EVENTS
from custody.capture.agents.gemini.tool_calls import extract_command_output, place_proposed_edit
from custody.capture.hook.call_name import make_gemini_call_id
from custody.core.ids import content_hash_from_text
from custody.core.paths import RepoPath
from custody.core.views import (
    CallStatus,
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
from tests.builders.gemini import MODEL, Gemini

ROOT = Path("/work tree")
AT = "2026-01-31T12:00:00.5Z"
PAGE = "https://example.org/page"


def seen(payload: dict[str, Any], **around: Any) -> list[View]:
    """Return the views of one event, without the observation that every event has."""
    event = {
        "custody": 1,
        "kind": "hook",
        "agent": "gemini",
        "event": payload.get("hook_event_name", "unknown"),
        "id": "e1",
        "at": AT,
        "session": payload.get("session_id"),
        "head": "a" * 40,
        "worktree": str(ROOT),
        "payload": payload,
        **around,
    }
    first, *rest = hook_views(parse_json_bytes(json.dumps({k: v for k, v in event.items() if v is not None}).encode()))
    assert isinstance(first, Observation)
    return rest


def last(session: Gemini) -> list[View]:
    """Return the views of the last hook event."""
    return seen(session.hooks[-1])


def one(views: list[View], kind: type[View]) -> Any:
    (found,) = [view for view in views if isinstance(view, kind)]
    return found


def reads(views: list[View]) -> list[tuple[str, Reading, bool]]:
    return [(view.locator, view.reading, view.failed) for view in views if isinstance(view, SourceAccess)]


# --- edits ------------------------------------------------------------------------------------------------------------


def test_a_replacement_has_the_whole_file_before_and_after() -> None:
    views = last(Gemini(ROOT).replace("src/a.py", "one\ntwo\n", "one", "1"))
    edit = one(views, FileEdit)
    assert (edit.path, edit.part, edit.proposed) == (RepoPath(b"src/a.py"), False, None)
    assert (edit.before.content, edit.after.content) == ("one\ntwo\n", "1\ntwo\n")
    assert edit.hashes == (content_hash_from_text(b"1\ntwo\n"),)
    call = one(views, ToolCall)
    assert (call.name, call.status, call.id) == ("replace", CallStatus.OK, edit.call)


def test_a_new_file_has_no_previous_text() -> None:
    edit = one(last(Gemini(ROOT).write("a.py", None, "one\n")), FileEdit)
    assert (edit.before, edit.after.content) == (None, "one\n")


def test_a_replacement_of_nothing_creates_the_file() -> None:
    given = {"file_path": str(ROOT / "a.py"), "old_string": "", "new_string": "one\n"}
    edit = one(last(Gemini(ROOT).call("replace", given, "Created new file", "Created a.py")), FileEdit)
    assert (edit.before, edit.after.content, edit.part) == (None, "one\n", False)


def test_an_edit_without_a_display_is_the_piece_that_was_replaced() -> None:
    given = {"file_path": "a.py", "old_string": "one", "new_string": "1"}
    session = Gemini(ROOT).call("replace", given, "ok")
    edit = one(seen(session.hooks[-1], folder=str(ROOT)), FileEdit)
    assert (edit.path, edit.before.content, edit.after.content, edit.part) == (RepoPath(b"a.py"), "one", "1", True)


def test_a_display_of_0_9_without_a_file_is_of_the_inputs_file() -> None:
    session = Gemini(ROOT).replace("a.py", "one\n", "one", "1")
    for gone in ("filePath", "isNewFile", "diffStat"):
        del session.hooks[-1]["tool_response"]["returnDisplay"][gone]
    assert one(last(session), FileEdit).path == RepoPath(b"a.py")


@pytest.mark.parametrize("name", ["/elsewhere/a.py", "../a.py", "C:\\a.py", "/work tree/../a.py"])
def test_a_file_outside_the_repository_gives_a_call_and_no_edit(name: str) -> None:
    session = Gemini(ROOT).write("a.py", None, "one\n")
    session.hooks[-1]["tool_input"]["file_path"] = name
    session.hooks[-1]["tool_response"]["returnDisplay"]["filePath"] = name
    assert [type(view) for view in last(session)] == [ToolCall]


def test_a_failed_edit_changes_nothing() -> None:
    session = Gemini(ROOT).call("replace", {"file_path": "a.py"}, "0 occurrences", "Error", status="error")
    assert one(last(session), ToolCall).status is CallStatus.FAILED
    assert not [view for view in last(session) if isinstance(view, FileEdit)]


# --- the person's share -----------------------------------------------------------------------------------------------


def test_a_persons_version_of_a_written_file_is_stored_beside_the_proposal() -> None:
    edit = one(last(Gemini(ROOT).write("a.py", None, "agent\nmine\n", proposed="agent\n")), FileEdit)
    assert (edit.proposed.content, edit.after.content) == ("agent\n", "agent\nmine\n")


def test_the_proposed_piece_is_put_where_the_person_left_it() -> None:
    session = Gemini(ROOT).replace("a.py", "top\nold\nend\n", "old", "agent", applied="top\nagent\nmine\nend\n")
    assert one(last(session), FileEdit).proposed.content == "top\nagent\nend\n"


@pytest.mark.parametrize(
    ("before", "piece", "after", "made"),
    [
        ("a\nb\nc\n", "a\nB\nc", "a\nB\nmine\nc\n", "a\nB\nc\n"),
        ("", "x\ny\n", "x\nmine\ny\n", "x\ny\n"),
        ("a\na\na\n", "b", "a\nb\na\na\n", "a\nb\na\na\n"),
        ("a\nb\n", "", "a\nmine\n", "a\n"),
    ],
)
def test_a_placed_piece_does_not_repeat_lines_around_it(before: str, piece: str, after: str, made: str) -> None:
    assert place_proposed_edit(before, piece, after) == made


@given(st.text("ab\n"), st.text("ab\n"), st.text("ab\n"))
def test_lines_before_and_after_a_change_stay(before: str, piece: str, after: str) -> None:
    said = set(place_proposed_edit(before, piece, after).split("\n"))
    assert said <= {*before.split("\n"), *piece.split("\n")}


@pytest.mark.parametrize("told", [{"modified_by_user": True}, {}])
def test_a_persons_change_without_a_known_proposal_is_not_the_agents(told: dict[str, Any]) -> None:
    session = Gemini(ROOT).replace("a.py", "one\n", "one", "1")
    session.hooks[-1]["tool_input"] |= told
    session.hooks[-1]["tool_response"]["returnDisplay"]["diffStat"]["user_added_lines"] = 0 if told else 3
    assert one(last(session), FileEdit).proposed.content == "one\n"


def test_an_edit_accepted_in_an_ide_has_no_separate_proposal() -> None:
    session = Gemini(ROOT).replace("a.py", "one\nend\n", "one", "two\nend\n", applied="two\nend\n")
    assert one(last(session), FileEdit).proposed is None
    assert one(last(Gemini(ROOT).write("a.py", None, "one\n", proposed="one\n")), FileEdit).proposed is None


# --- calls, prompts, sessions -----------------------------------------------------------------------------------------


def test_a_call_is_named_by_its_input_and_a_command_also_by_its_process() -> None:
    session = Gemini(ROOT).read("a", "x").read("a", "x").read("b", "x").shell("make").shell("make")
    ends = [said for said in session.hooks if said["hook_event_name"] == "AfterTool"]
    first, again, other, made, anew = (one(seen(said), ToolCall).id for said in ends)
    assert first == again
    assert len({first, other, made, anew}) == 4
    assert make_gemini_call_id("t", {"a": 1, "b": [{"d": 2, "c": 3}]}, None) == make_gemini_call_id(
        "t", {"b": [{"c": 3, "d": 2}], "a": 1}, ""
    )


def test_a_call_named_by_the_hook_keeps_its_name() -> None:
    said = Gemini(ROOT).read("a", "x").hooks[-1]
    assert one(seen(said, call="content-1"), ToolCall).id == "content-1"


def test_an_event_before_a_call_gives_no_views() -> None:
    session = Gemini(ROOT).read("a", "x")
    assert seen(session.hooks[0]) == []


def test_a_session_starts_and_ends_and_its_prompts_are_named_by_their_text() -> None:
    start = one(last(Gemini(ROOT).hook("SessionStart", source="startup")), Session)
    assert (start.revision, start.worktree, start.model) == ("a" * 40, str(ROOT), None)
    assert one(last(Gemini(ROOT).hook("SessionEnd", reason="exit")), Session).ended_ns is not None
    asked, again = (one(last(Gemini(ROOT).hook("BeforeAgent", prompt=words)), Prompt) for words in ("do it", "do it\n"))
    assert (asked.text.content, asked.id) == ("do it", again.id)
    assert last(Gemini(ROOT).hook("BeforeAgent", prompt=" ")) == []


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel", "BeforeToolSelection"])
def test_hooks_around_model_calls_report_the_model(event: str) -> None:
    told = last(Gemini(ROOT).hook(event, llm_request={"model": MODEL, "messages": []}))
    assert one(told, Session).model == MODEL
    assert last(Gemini(ROOT).hook(event, llm_request={"messages": []})) == []


# --- sources ----------------------------------------------------------------------------------------------------------

CUT = "\nIMPORTANT: The file content has been truncated.\nStatus: Showing\n\n--- FILE CONTENT (truncated) ---\nsome\n"
CITED = "Summed up [1]\n\nSources:\n[1] A page (https://example.org/page)\n[2] B (https://example.org/b)"


@pytest.mark.parametrize(
    ("tool", "asked", "words", "display", "found"),
    [
        ("read_file", {"file_path": "a.py"}, "text", "", [("a.py", Reading.VERBATIM, False)]),
        ("read_file", {"absolute_path": "/a.py"}, "text", "", [("/a.py", Reading.VERBATIM, False)]),
        ("read_file", {"file_path": "a.py", "start_line": 3}, "text", "", [("a.py", Reading.EXCERPT, False)]),
        ("read_file", {"file_path": "a.py"}, CUT, "", [("a.py", Reading.EXCERPT, False)]),
        (
            "read_many_files",
            {"include": ["*.py"]},
            [{"text": "--- /r/a.py ---\n\none\n--- /r/x ---\n\n"}, {"text": "--- /r/b.py ---\n\ntwo\n\n"}],
            {"summary": "s", "files": ["a.py", "b.py"]},
            [("/r/a.py", Reading.VERBATIM, False), ("/r/b.py", Reading.VERBATIM, False)],
        ),
        (
            "read_many_files",
            {"include": ["*.py"]},
            "--- /r/a.py ---\n\n[WARNING: This file was truncated. To view it]\none\n\n\n--- End of content ---",
            "### ReadManyFiles",
            [("/r/a.py", Reading.EXCERPT, False)],
        ),
        ("web_fetch", {"prompt": f"sum up {PAGE} please"}, "a summary", "", [(PAGE, Reading.SUMMARISED, False)]),
        (
            "web_fetch",
            {"prompt": f"compare {PAGE} https://example.org/c"},
            CITED,
            "",
            [(PAGE, Reading.SUMMARISED, False), ("https://example.org/c", Reading.ATTEMPTED, False)],
        ),
        ("web_fetch", {"url": PAGE}, "the page", "", [(PAGE, Reading.EXCERPT, False)]),
        (
            "web_fetch",
            {"url": PAGE},
            "Request failed with status 404\nHeaders: {}",
            "",
            [(PAGE, Reading.ATTEMPTED, True)],
        ),
        (
            "google_web_search",
            {"query": "q"},
            CITED,
            "",
            [(PAGE, Reading.LISTED, False), ("https://example.org/b", Reading.LISTED, False)],
        ),
        (
            "grep_search",
            {"pattern": "x"},
            "Found 2",
            {"summary": "s", "matches": [{"filePath": "src/a.py", "lineNumber": 3, "line": "x"}]},
            [("src/a.py", Reading.EXCERPT, False)],
        ),
        (
            "run_shell_command",
            {"command": f"curl -fsS {PAGE}"},
            "Output: the page\nProcess Group PGID: 12",
            "",
            [(PAGE, Reading.VERBATIM, False)],
        ),
        (
            "run_shell_command",
            {"command": f"curl -fsS {PAGE}"},
            "Output: curl: (22) The requested URL returned error: 404\nExit Code: 22\nProcess Group PGID: 12",
            "",
            [(PAGE, Reading.ATTEMPTED, True)],
        ),
        ("mcp_web_fetch_page", {"url": PAGE}, "the page", "", [(PAGE, Reading.EXCERPT, False)]),
        ("list_directory", {"dir_path": "src"}, "a.py", "", []),
    ],
)
def test_sources_have_their_reading(
    tool: str, asked: dict[str, Any], words: Any, display: Any, found: list[tuple[str, Reading, bool]]
) -> None:
    assert reads(last(Gemini(ROOT).call(tool, asked, words, display))) == found


def test_a_sources_text_is_stored_without_the_programs_additions() -> None:
    found = "\n\n--- Newly Discovered Project Context ---\nbe kind\n--- End Project Context ---"
    whole = one(last(Gemini(ROOT).call("read_file", {"file_path": "a"}, f"text\n{found}")), SourceAccess)
    assert whole.text.content == "text\n"
    assert one(last(Gemini(ROOT).call("read_file", {"file_path": "a"}, CUT)), SourceAccess).text.content == "some\n"
    told = last(Gemini(ROOT).shell(f"curl -fsS {PAGE}", "the page"))
    assert one(told, SourceAccess).text.content == "the page"
    assert (
        one(last(Gemini(ROOT).call("google_web_search", {}, CITED.partition("\n[2]")[0])), SourceAccess).title
        == "A page"
    )


def test_a_servers_tool_is_recognized_by_its_context_too() -> None:
    session = Gemini(ROOT).call("fetch", {"url": PAGE}, "the page")
    session.hooks[-1]["mcp_context"] = {"server_name": "web", "tool_name": "fetch"}
    assert reads(last(session)) == [(PAGE, Reading.EXCERPT, False)]
    assert one(last(session), ToolCall).name == "fetch"


def test_a_read_that_failed_is_an_attempt() -> None:
    session = Gemini(ROOT).call("read_file", {"file_path": "a.py"}, "File not found", "", status="error")
    assert reads(last(session)) == [("a.py", Reading.ATTEMPTED, True)]


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("Command: x\nDirectory: (root)\nStdout: hello\nStderr: (empty)\nExit Code: 0\nProcess Group PGID: 1", "hello"),
        ("Output: (empty)\nProcess Group PGID: 1", ""),
        ("words", "words"),
    ],
)
def test_a_commands_output_in_either_shape(shown: str, said: str) -> None:
    assert extract_command_output(shown) == said


# --- invalid content --------------------------------------------------------------------------------------------------


def test_unknown_events_fields_and_versions_are_ignored() -> None:
    session = Gemini(ROOT).replace("a.py", "one\n", "one", "1")
    plain = last(session)
    session.hooks[-1] |= {"version": "99.0", "new": {"deep": [1]}}
    session.hooks[-1]["tool_input"]["unheard"] = None
    session.hooks[-1]["tool_response"] |= {"novel": 1}
    session.hooks[-1]["tool_response"]["returnDisplay"]["more"] = []
    told = last(session)
    assert [type(view) for view in told] == [type(view) for view in plain]
    assert one(told, FileEdit).after == one(plain, FileEdit).after
    assert last(Gemini(ROOT).hook("AfterEverything", tool_name="replace")) == []


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = (
    "file_path old_string new_string content modified_by_user ai_proposed_content command dir_path prompt url include"
    " llmContent returnDisplay error filePath originalContent newContent diffStat files matches text model"
).split()
FIELDS = st.dictionaries(st.sampled_from(NAMES), VALUES | st.dictionaries(st.sampled_from(NAMES), VALUES), max_size=6)
TOOLS = st.sampled_from(
    "replace write_file run_shell_command read_file read_many_files web_fetch google_web_search grep_search".split()
)


@given(st.sampled_from(sorted(EVENTS)), TOOLS | VALUES, FIELDS | VALUES, FIELDS | VALUES, VALUES)
def test_arbitrary_payloads_do_not_break_the_reader(event: str, tool: Any, asked: Any, answer: Any, more: Any) -> None:
    said = {"session_id": "s", "hook_event_name": event, "tool_name": tool, "tool_input": asked}
    seen({**said, "tool_response": answer, "prompt": more, "llm_request": more, "cwd": more, "mcp_context": more})
