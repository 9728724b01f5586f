"""Claude Code's lines, however invalid: read, skipped or reported, never a crash, and the same every time."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.capture import TRANSCRIPT_READERS, FileLine, LineProblem, SkippedLine, TranscriptLine, transcript_views
from custody.capture.agents.claude.transcript import claude_project_from_folder
from custody.core.errors import InputError
from custody.core.views import Prompt, ToolCall
from custody.core.wire.canonical import parse_json_bytes
from tests.builders.drawn import json_values
from tests.builders.transcripts import a_transcript
from tests.builders.transcripts import project_name as expected_name

READER = TRANSCRIPT_READERS["claude-code"]


def a_long_session() -> list[dict[str, Any]]:
    session = a_transcript("s1", "/w").prompt("do it").says("sure").edit("a.py", "one\n", "one", "two", applied="2")
    session.write("b.py", None, "b\n").multi_edit("a.py", "a", ("a", "b")).bash(
        "echo x > c", git={"commit": {"sha": "abc1234"}}
    )
    session.read("a.py", "x").fetch("https://example.org", "words").bash("make", "Exit code 1", failed=True)
    agent = session.subagent("a1").edit("a.py", "x", "x", "y", structured=False)
    session.progress_of(agent).subagent_done(agent)
    session.bare(type="pr-link", prNumber=1, prUrl="https://github.com/o/r/pull/1", sessionId="s1")
    session.line(type="system", subtype="compact_boundary", content="compacted")
    return session.lines + agent.lines


LINES = a_long_session()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "s1.jsonl").touch()
    return tmp_path / "s1.jsonl"


def read(file: Path, *values: Any) -> list[TranscriptLine | SkippedLine | LineProblem]:
    def lines() -> Iterator[FileLine]:
        for number, value in enumerate(values, 1):
            data = json.dumps(value).encode()
            yield FileLine(number, data, len(data) + 1, True)

    starts = {(started.session, started.subagent): started.call for started in READER.starts(file, lines())}
    return list(READER.read(file, lines(), starts))


def an_event(found: TranscriptLine) -> dict[str, Any]:
    event: dict[str, Any] = {
        "custody": 1,
        "kind": "transcript",
        "id": found.id,
        "at": found.at,
        "agent": "claude-code",
        "session": found.session,
        "payload": found.payload,
        "calls": found.calls,
        "paths": {named.name: "a.py" for named in found.edits},
        "subagent": found.subagent,
        "parent_call": found.parent_call,
    }
    value: dict[str, Any] = json.loads(json.dumps(READER.trimmed({k: v for k, v in event.items() if v})))
    return value


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
    # Any file will do: only its name and time are used.
    for item in read(Path(__file__), *LINES[:number], changed(LINES[number], place, odd), *LINES[number + 1 :]):
        if isinstance(item, TranscriptLine):
            try:
                transcript_views(parse_json_bytes(json.dumps(an_event(item)).encode()))
            except InputError:
                pass  # such a line is reported by its number, not stored


def test_the_views_of_a_line_are_the_same_every_time(file: Path) -> None:
    for item in read(file, *LINES):
        if isinstance(item, TranscriptLine):
            assert transcript_views(an_event(item)) == transcript_views(an_event(item))


def test_every_stored_line_can_be_read_again(file: Path) -> None:
    kept = [item for item in read(file, *LINES) if isinstance(item, TranscriptLine)]
    calls = [view for item in kept for view in transcript_views(an_event(item)) if isinstance(view, ToolCall)]
    begun = {block["id"] for line in LINES for block in _blocks(line) if block.get("type") == "tool_use"}
    assert {call.id for call in calls} == begun
    assert {call.id for call in calls if call.ended_ns is not None} == begun


def _blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    content = line.get("message", {}).get("content")
    return content if isinstance(content, list) else []


@pytest.mark.parametrize(
    ("fields", "typed"),
    [
        ({"message": {"content": "do it"}}, True),
        ({"message": {"content": [{"type": "text", "text": "do it"}]}}, True),
        ({"message": {"content": [{"type": "text", "text": "see"}, {"type": "image", "source": {"data": "x"}}]}}, True),
        ({"message": {"content": "do it"}, "isMeta": True}, False),
        ({"message": {"content": "This session is being continued"}, "isCompactSummary": True}, False),
        ({"message": {"content": "<command-name>/clear</command-name>"}}, False),
        ({"message": {"content": "<local-command-stdout>x</local-command-stdout>"}}, False),
        ({"message": {"content": "<task-notification>x</task-notification>"}}, False),
        ({"message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]}}, False),
        ({"message": {"content": "do it"}, "isSidechain": True, "agentId": "a1"}, False),
        ({"message": {"content": "  "}}, False),
    ],
)
def test_prompts_are_separated_from_the_programs_texts(file: Path, fields: dict[str, Any], typed: bool) -> None:
    (line,) = a_transcript("s1", "/w").line(type="user", **fields).lines
    (found,) = read(file, line)
    assert isinstance(found, TranscriptLine)
    assert any(isinstance(view, Prompt) for view in transcript_views(an_event(found))) is typed


def test_an_erased_prompt_is_reported_as_erased(file: Path) -> None:
    (found,) = read(file, a_transcript("s1", "/w").prompt("x").lines[0])
    assert isinstance(found, TranscriptLine)
    event = an_event(found)
    event["payload"]["message"]["content"] = {"$erased": "sha256:" + "0" * 64}
    (prompt,) = [view for view in transcript_views(event) if isinstance(view, Prompt)]
    assert prompt.text.content is None


def test_a_changed_model_is_reported_and_a_synthetic_one_is_not(file: Path) -> None:
    session = a_transcript("s1", "/w").prompt("x")
    for name in ("m-1", "m-1", "<synthetic>", "m-2"):
        session.model = name
        session.assistant({"type": "text", "text": "words"})
    opens = [item.opens for item in read(file, *session.lines) if isinstance(item, TranscriptLine)]
    assert opens == ["session", "model", None, None, "model"]


def test_calls_that_wait_for_results_are_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("custody.capture.agent_event.PENDING_MAX", 2)
    session = a_transcript("s1", "/w")
    calls = [session.use("Edit", {"file_path": "/w/a", "old_string": "a", "new_string": "b"}) for _ in range(4)]
    for call in calls:
        session.result(call, None, "done")
    edits = [len(item.edits) for item in read(file, *session.lines) if isinstance(item, TranscriptLine)]
    assert edits == [0, 0, 0, 0, 0, 0, 1, 1]


def test_the_name_of_a_project_folder() -> None:
    assert (
        claude_project_from_folder("/home/a.b/my repo_1")
        == expected_name("/home/a.b/my repo_1")
        == "-home-a-b-my-repo-1"
    )


@pytest.mark.parametrize(
    ("environment", "home"),
    [({"CLAUDE_CONFIG_DIR": "/c"}, "/c/projects"), ({"HOME": "/h"}, "/h/.claude/projects")],
)
def test_where_transcripts_are_stored(environment: dict[str, str], home: str) -> None:
    assert READER.home(environment) == Path(home)
