"""Codex's rollouts, in every shape and however invalid: read, skipped or reported, never a crash."""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import FileLine, LineProblem, SkippedLine, TranscriptLine, transcript_views
from custody.capture import line_reader as lines
from custody.capture.agent_event import PendingCalls
from custody.core.errors import InputError
from custody.core.views import CallStatus, FileEdit, Prompt, Reading, Session, SourceAccess, ToolCall
from custody.core.wire.canonical import parse_json_bytes
from tests.builders.codex import (
    MODEL,
    THREAD,
    TURN,
    Rollout,
    a_rollout,
    added,
    patch_text,
    unified,
    updated,
)
from tests.builders.codex_told import ANY_FILE, READER, an_event, ended, of, read, told
from tests.builders.drawn import json_values

PATCH = patch_text(updated("a.py", "one\n", "two\n"))
CHANGES = {"/w/a.py": {"type": "update", "unified_diff": unified("one\n", "two\n"), "move_path": None}}


def a_long_session(**fields: Any) -> Rollout:
    made = a_rollout("/w", **fields).prompt("do it").says("sure").patch(PATCH, CHANGES).patch(PATCH)
    made.shell("cat a.py", "two\n").shell("git commit -am x", "[main abc1234] x\n").shell("make", "no", 2)
    made.event("patch_apply_begin", call_id="call_begun", auto_approved=True, changes=CHANGES)
    made.event("patch_apply_end", call_id="call_begun", stdout="", stderr="", success=True)
    made.event("exec_command_end", call_id="call_ran", command=["bash", "-lc", "echo x > c"], cwd="/w", exit_code=0)
    made.response("web_search_call", id="ws_1", status="completed", action={"type": "search", "query": "q"})
    made.response("function_call", name="spawn_agent", arguments="{}", call_id="call_spawn")
    made.response("function_call_output", call_id="call_spawn", output='{"agent_id": "child"}')
    made.event("sub_agent_activity", event_id="e", agent_thread_id="child", agent_path="/thread/a", kind="started")
    made.line("compacted", {"message": "", "replacement_history": []})
    return made.line("world_state", {}, ordinal=7)


LINES = [line for fields in ({}, {"paginated": True}) for line in a_long_session(**fields).lines]


def paths_to(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths_to(item, (*at, key))


def changed(value: Any, at: tuple[Any, ...], item: Any) -> Any:
    if not at:
        return item
    made = dict(value) if isinstance(value, dict) else list(value)
    made[at[0]] = changed(value[at[0]], at[1:], item)
    return made


PLACES = [(number, place) for number, line in enumerate(LINES) for place in paths_to(line)]


@given(st.sampled_from(PLACES), json_values)
def test_a_line_with_arbitrary_fields_is_read_or_reported(where: tuple[int, tuple[Any, ...]], odd: Any) -> None:
    number, place = where
    for item in read(*LINES[:number], changed(LINES[number], place, odd), *LINES[number + 1 :]):
        if isinstance(item, TranscriptLine):
            try:
                transcript_views(parse_json_bytes(json.dumps(an_event(item)).encode()))
            except InputError:
                pass  # such a line is reported by its number, not stored


@given(st.lists(json_values, max_size=5), st.binary(max_size=40))
def test_lines_of_any_json_or_other_text_are_skipped_or_reported(values: list[Any], data: bytes) -> None:
    assert len(read(*values)) >= sum(value != "" for value in values)
    READER.knows(data)
    (item,) = READER.read(ANY_FILE, [FileLine(1, b"[" + data, len(data), False)], {})
    assert isinstance(item, LineProblem)


def test_every_line_has_a_unique_and_stable_id() -> None:
    lines = a_long_session().prompt("again").prompt("again").lines
    names = [[item.id for item in read(*lines) if isinstance(item, TranscriptLine)] for _ in range(2)]
    assert names[0] == names[1] and len(set(names[0])) == len(names[0])


def test_all_types_of_a_session_are_known() -> None:
    assert [item for item in read(*LINES) if isinstance(item, SkippedLine) and not item.known] == []


# --- calls ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", "exec_command shell shell_command local_shell functions.exec_command".split())
def test_commands_in_every_shape_of_codex(way: str) -> None:
    views = told(a_rollout("/w").shell("cat a.py", "two\n", way=way).shell("make", "no", 2, way=way))
    assert [(call.name, call.about) for call in of(views, ToolCall) if call.about] == [
        ("Bash", "cat a.py"),
        ("Bash", "make"),
    ]
    assert [call.status for call in ended(views)] == [CallStatus.OK, CallStatus.FAILED]
    (read_,) = of(views, SourceAccess)
    assert (read_.locator, read_.reading, read_.text.content) == ("/w/a.py", Reading.VERBATIM, "two\n")


def test_a_command_that_still_runs_has_not_ended() -> None:
    made = a_rollout("/w")
    made.response("function_call", name="exec_command", arguments='{"cmd":"cat a.py"}', call_id="call_1")
    head = "Chunk ID: 1\nWall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\nsome"
    views = told(made.response("function_call_output", call_id="call_1", output=head))
    assert (ended(views), of(views, SourceAccess)) == ([], [])


def test_a_command_reported_by_an_event_and_by_its_output_counts_once() -> None:
    made = a_rollout("/w")
    made.response("function_call", name="exec_command", arguments='{"cmd":"cat a.py"}', call_id="call_1")
    said = {"command": ["bash", "-lc", "cat a.py"], "cwd": "file:///w", "exit_code": 0, "aggregated_output": "two\n"}
    made.event("exec_command_end", call_id="call_1", stdout="two\n", **said)
    views = told(made.response("function_call_output", call_id="call_1", output="two\n"))
    assert [read_.locator for read_ in of(views, SourceAccess)] == ["/w/a.py"]
    assert {call.id for call in of(views, ToolCall)} == {"call_1"}


def test_a_persons_command_is_not_the_agents() -> None:
    said = {"command": ["bash", "-lc", "echo x > c"], "cwd": "/w", "exit_code": 0, "source": "user_shell"}
    assert of(told(a_rollout("/w").event("exec_command_end", call_id="call_1", **said)), ToolCall) == []


@pytest.mark.parametrize("paginated", [False, True])
def test_a_patch_reported_by_its_text_and_by_its_event_is_one_edit(paginated: bool) -> None:
    (edit,) = of(told(a_rollout("/w", paginated=paginated).patch(PATCH, CHANGES)), FileEdit)
    assert (edit.before.content, edit.after.content, edit.part) == ("one\n", "two\n", True)
    assert [(piece.first, piece.last) for piece in edit.lines] == [(1, 1)]


def test_patches_in_the_shapes_of_older_versions() -> None:
    made = a_rollout("/w")
    made.response("function_call", name="apply_patch", arguments=json.dumps({"input": PATCH}), call_id="call_1")
    made.response("function_call_output", call_id="call_1", output='{"output":"Success.","metadata":{"exit_code":0}}')
    made.shell(f"apply_patch <<'EOF'\n{PATCH}\nEOF", "Success.", way="shell")
    made.event("patch_apply_begin", call_id="call_3", auto_approved=True, changes={"a.py": {"add": {"content": "x\n"}}})
    made.event("patch_apply_end", call_id="call_3", stdout="", stderr="", success=True)
    assert [edit.after.content for edit in of(told(made), FileEdit)] == ["two\n", "two\n", "x\n"]


@pytest.mark.parametrize("changes", [None, CHANGES])
@pytest.mark.parametrize("paginated", [False, True])
def test_a_patch_that_failed_edits_nothing(changes: dict[str, Any] | None, paginated: bool) -> None:
    views = told(a_rollout("/w", paginated=paginated).patch(PATCH, changes, success=False))
    assert of(views, FileEdit) == []
    assert {call.status for call in ended(views)} == {CallStatus.FAILED}


def test_files_that_a_command_writes_by_its_own_text() -> None:
    (edit,) = of(told(a_rollout("/w").shell("cat > a.py <<'EOF'\nx\nEOF")), FileEdit)
    assert (edit.after.content, ":shell:" in edit.id) == ("x\n", True)


def test_a_search_counts_once_with_its_hits_and_the_opened_page() -> None:
    found = [{"url": "https://example.org/a", "title": "A"}]
    made, action = a_rollout("/w"), {"type": "search", "query": "q"}
    made.event("web_search_end", call_id="ws_1", query="q", action=action, results=found)
    made.response("web_search_call", status="completed", action=action)
    made.response("web_search_call", id="ws_2", action={"type": "open_page", "url": "https://example.org/b"})
    views = told(made)
    assert [(one.locator, one.reading) for one in of(views, SourceAccess)] == [
        ("https://example.org/a", Reading.LISTED),
        ("https://example.org/b", Reading.ATTEMPTED),
    ]
    assert [call.id for call in of(views, ToolCall)] == ["ws_1", "ws_2"]


def test_calls_that_wait_for_results_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custody.capture.agent_event.PENDING_BYTES_MAX", 100)
    waiting = PendingCalls()
    for call in ("a", "b", "c", "c"):
        waiting.put(call, {"id": call}, 40)
    assert (len(waiting), waiting.pop("a"), waiting.get("b")) == (2, None, {"id": "b"})


# --- sessions ---------------------------------------------------------------------------------------------------------


def test_prompts_and_the_programs_texts_in_their_place() -> None:
    made = a_rollout("/w").prompt("<environment_context>x</environment_context>").prompt("first").prompt("first")
    assert [(one.id, one.text.content) for one in of(told(made), Prompt)] == [(TURN, "first"), (f"{TURN}:1", "first")]


def test_an_erased_prompt_is_reported_as_erased() -> None:
    (found,) = [
        item for item in read(*a_rollout("/w").prompt("x").lines) if isinstance(item, TranscriptLine) and not item.opens
    ]
    event = an_event(found)
    event["payload"]["payload"]["message"] = {"$erased": "sha256:" + "0" * 64}
    (prompt,) = of(list(transcript_views(event)), Prompt)
    assert prompt.text.content is None


def test_a_changed_model_is_reported() -> None:
    made = a_rollout("/w").turned().turned(model="gpt-6").says("x")
    assert [one.model for one in of(told(made), Session)] == [None, MODEL, "gpt-6"]


def test_rollouts_without_envelopes() -> None:
    made = Rollout("/w", enveloped=False).begun().prompt("do it").shell("cat a.py", "two\n", way="shell")
    made.lines.append({"record_type": "state"})
    views = told(made)
    assert ([one.id for one in of(views, Session)], [one.text.content for one in of(views, Prompt)]) == (
        [THREAD],
        ["do it"],
    )
    assert [one.locator for one in of(views, SourceAccess)] == ["/w/a.py"]
    assert READER.knows(json.dumps(made.lines[0]).encode())


def test_lines_that_a_subagent_inherited_are_skipped() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD, "depth": 1}}}
    made = Rollout("/w", thread="child").begun(session_id=THREAD, source=source, subagent_history_start_ordinal=5)
    made.line("response_item", {"type": "function_call", "name": "x", "arguments": "{}", "call_id": "c1"}, ordinal=4)
    made.line("response_item", {"type": "function_call", "name": "x", "arguments": "{}", "call_id": "c2"}, ordinal=5)
    assert [(call.id, call.session, call.subagent) for call in of(told(made), ToolCall)] == [("c2", THREAD, "child")]


def test_summarized_lines_are_not_repeated() -> None:
    again = {"type": "function_call", "name": "apply_patch", "arguments": json.dumps({"input": PATCH}), "call_id": "c"}
    made = a_rollout("/w").line("compacted", {"message": "x", "replacement_history": [again]})
    assert of(told(made), ToolCall) == []


def test_unknown_fields_are_ignored_and_a_newer_version_is_reported_and_read() -> None:
    plain = a_rollout("/w").patch(PATCH, CHANGES)
    newer = Rollout("/w", version="9.1.0").begun(hologram=1).patch(PATCH, CHANGES)
    for line in newer.lines:
        line["hologram"] = {"x": 1}
        line["payload"]["hologram"] = [2]
    assert of(told(newer), FileEdit) == of(told(plain), FileEdit)
    (trouble,) = [item for item in read(*newer.lines) if isinstance(item, LineProblem)]
    assert "version 9.1.0" in trouble.what
    assert not [item for item in read(*plain.lines) if isinstance(item, LineProblem)]


def test_outputs_are_cut_patches_are_not_and_thinking_is_not_stored() -> None:
    long = "x" * 100_000
    made = a_rollout("/w").says("well").shell("make", long, 2).patch(patch_text(added("a.py", f"{long}\n")))
    kept = [an_event(item) for item in read(*made.lines) if isinstance(item, TranscriptLine)]
    text = json.dumps(kept)
    assert text.count(long) == 2  # in the call and beside its result
    assert "I think" not in text and "coding agent" not in text
    assert [call.status for call in ended(told(made))] == [CallStatus.FAILED, CallStatus.OK]


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "home"), [({"HOME": "/home/a"}, "/home/a/.codex"), ({"HOME": "/home/a", "CODEX_HOME": "/c"}, "/c")]
)
def test_where_rollouts_are_stored(environment: dict[str, str], home: str) -> None:
    assert READER.home(environment) == Path(home)


def test_archived_rollouts_are_found_and_the_oldest_come_first(tmp_path: Path) -> None:
    late = a_rollout("/w/sub", at="2026-02-01T12:00:00Z").put(tmp_path / "sessions")
    early = a_rollout("/w").put(tmp_path / "archived_sessions")
    a_rollout("/w2", thread="other").put(tmp_path / "sessions")
    assert READER.of_trees(tmp_path, ["/w"]) == [early, late]


def test_compressed_rollouts_are_read_where_python_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rollout-2026-01-31T12-00-00-x.jsonl.zst"
    file.write_bytes(gzip.compress(a_rollout("/w").text().encode()))
    # Python has zstd from 3.14 on; this stand-in has the same two names.
    monkeypatch.setitem(sys.modules, "a_zstd", SimpleNamespace(open=gzip.open, ZstdError=gzip.BadGzipFile))
    monkeypatch.setattr(lines, "DECOMPRESSORS", ("no_zstd", "a_zstd"))
    assert READER.of_trees(tmp_path, ["/w"]) == [] and READER.files(tmp_path) == [file]
    assert [line.number for line in lines.read_jsonl_lines(file)] == [1, 2, 3]
    file.write_bytes(b"nonsense")
    with pytest.raises(OSError, match="the compressed data is damaged"):
        list(lines.read_jsonl_lines(file))
    monkeypatch.setattr(lines, "DECOMPRESSORS", ())
    with pytest.raises(OSError, match="which this Python cannot read"):
        list(lines.read_jsonl_lines(file))
