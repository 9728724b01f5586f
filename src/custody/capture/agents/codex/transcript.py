"""Codex CLI's rollouts: where they are, which session they belong to, and what is trimmed.

From ``codex-rs/rollout/src`` at commit 343074d4207d (August 2026): ``rollout-<start>-<thread>.jsonl`` in
``sessions/YYYY/MM/DD`` of Codex's folder, after a revert with a second id after the thread's; ``archived_sessions``
beside it; older files are compressed (``.jsonl.zst``). ``line_shapes`` lists the known lines.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from custody.capture.agents.codex import line_shapes as shapes
from custody.capture.agents.codex.rollout_reader import RolloutState
from custody.capture.agents.codex.tool_calls import SPAWN, normalize_tool_name
from custody.capture.agents.codex.views import extract_answer_text, views_from_transcript_event
from custody.capture.line_reader import (
    ZST,
    FileLine,
    find_first_time,
    is_file_in_trees,
    list_transcript_files,
    locate_agent_folder,
    read_json_object,
)
from custody.capture.transcripts import (
    LineResult,
    Starts,
    SubagentLaunch,
    TranscriptReader,
    excerpt_fields,
    read_transcript_objects,
)
from custody.capture.typed_field import Fields, get_fields, get_string, parse_payload_json
from custody.core.ids import AgentName
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json

SUFFIX = ".jsonl"
FOLDERS = ("sessions", "archived_sessions")
SPAWNED_MAX = 10_000
LONG = ("output", "stdout", "stderr", "aggregated_output")
"""Fields of lines and items that hold a tool's output."""

_NAME = lazy_pattern(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([0-9A-Za-z-]{1,100})")
_SPAWNING = (b"session_meta", b"spawn", b"agent_id", b"sub_agent_activity", b"SubAgentActivity", b"CollabAgentToolCall")
_ENVELOPES = frozenset("session_meta response_item event_msg turn_context compacted".split())


def locate_codex_home(environment: Mapping[str, str]) -> Path:
    """Return the user's Codex folder."""
    return locate_agent_folder(environment, "CODEX_HOME", ".codex")


def find_project_rollouts(home: Path, trees: Sequence[str]) -> list[Path]:
    """Return the rollouts of threads that started in or below one of these work trees, unreadable files included."""
    files = [file for folder in FOLDERS for file in _list_rollout_files(home / folder)]
    return [file for file in _sort_rollouts_by_start(files) if is_file_in_trees(file, trees, _read_line_folder)]


def list_rollouts(place: Path) -> list[Path]:
    """Return every rollout at or below ``place``, oldest first, so that a fork comes after its origin."""
    return _sort_rollouts_by_start(_list_rollout_files(place))


def is_rollout_opening(first: bytes) -> bool:
    """Return whether a line has Codex's envelope, or is the first line of a rollout without envelopes."""
    line = read_json_object(first)
    if isinstance(line.get("payload"), dict):
        return get_string(line.get("type")) in _ENVELOPES
    return (
        "type" not in line
        and all(isinstance(line.get(name), str) for name in ("id", "timestamp"))
        and bool({"instructions", "git"} & line.keys())
    )


def find_subagent_launches(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """Yield launches from events that name a subagent with its call, and from results of calls that started one."""
    session, calls = thread_from_rollout_name(file), set[str]()
    for line in lines:
        if not any(mark in line.data for mark in _SPAWNING):
            continue
        kind, inner = _parse_rollout_line(line.data)
        if kind == "session_meta" and (origin := shapes.parse_rollout_origin(inner)) is not None:
            session = origin.session
        name, call = get_string(inner.get("type")), shapes.read_call_id(inner)
        if name in shapes.CALLS and call and normalize_tool_name(get_string(inner.get("name")) or "") == SPAWN:
            calls = calls if len(calls) > SPAWNED_MAX else {*calls, call}
        if (launch := shapes.read_subagent_spawn(inner)) is not None:
            yield SubagentLaunch(session, *launch)
        agent = _find_spawned_subagent(inner.get("output")) if call in calls and name in shapes.OUTPUTS else None
        if agent is not None and call is not None:
            yield SubagentLaunch(session, agent, call)


def read_rollout(file: Path, lines: Iterable[FileLine], starts: Starts) -> Iterator[LineResult]:
    """Yield the result of each line."""
    state = RolloutState(starts, session=thread_from_rollout_name(file), at=find_first_time(file))
    yield from read_transcript_objects(lines, state.line)


def trim_event_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """Return the event with long outputs cut; patches and their changes stay whole."""
    payload = event.get("payload")
    inner = payload.get("payload") if isinstance(payload, dict) else None
    if not isinstance(payload, dict) or not isinstance(inner, dict):
        return event
    trimmed = excerpt_fields(inner, LONG)
    if isinstance(trimmed.get("item"), dict):
        trimmed["item"] = excerpt_fields(get_fields(trimmed["item"]), LONG)
    return {**event, "payload": {**payload, "payload": trimmed}}


READER = TranscriptReader(
    agent=AgentName("codex"),
    home=locate_codex_home,
    of_trees=find_project_rollouts,
    files=list_rollouts,
    knows=is_rollout_opening,
    starts=find_subagent_launches,
    read=read_rollout,
    trimmed=trim_event_outputs,
    views=views_from_transcript_event,
    answer=extract_answer_text,
)


def thread_from_rollout_name(file: Path) -> str:
    """Return the thread by its file's name; a reverted thread has a second id.

    >>> thread_from_rollout_name(Path("rollout-2026-08-01T12-00-00-0198-aa_0199-bb.jsonl"))
    '0198-aa'
    """
    match = _NAME.match(file.name)
    return match[1] if match else "unknown"


def _list_rollout_files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return [*list_transcript_files(place, SUFFIX), *list_transcript_files(place, SUFFIX + ZST)]


def _sort_rollouts_by_start(files: Iterable[Path]) -> list[Path]:
    """Sort by the start time in the names; files with other names come last."""
    return sorted(files, key=lambda file: file.name if _NAME.match(file.name) else "s")


def _read_line_folder(data: bytes) -> str | None:
    kind, inner = _parse_rollout_line(data)
    if kind in ("session_meta", "turn_context"):
        return get_string(inner.get("cwd"))
    return shapes.read_message_folder(inner)


def _parse_rollout_line(data: bytes) -> tuple[str, Fields]:
    return shapes.unwrap_rollout_line(read_json_object(data))


def _find_spawned_subagent(output: object) -> str | None:
    """Return the subagent that a call's result names."""
    value = output if isinstance(output, str) else get_string(get_fields(output).get("content"))
    return None if value is None else get_string(get_fields(parse_payload_json(value)).get("agent_id"))
