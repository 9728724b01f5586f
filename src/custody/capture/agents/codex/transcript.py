"""Codex CLI's rollouts: where they are, whose they are, and what of them is cut.

From ``codex-rs/rollout/src`` at commit 343074d4207d (August 2026): ``rollout-<start>-<thread>.jsonl`` in
``sessions/YYYY/MM/DD`` of Codex's folder, after a revert with another id behind the thread's; ``archived_sessions``
beside it; files that lay for a while are compressed (``.jsonl.zst``). ``codex_shapes`` says which lines are known.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from custody.capture.agents.codex import line_shapes as shapes
from custody.capture.agents.codex.rollout_reader import RolloutState
from custody.capture.agents.codex.tool_calls import SPAWN, plain
from custody.capture.agents.codex.views import views_of
from custody.capture.line_reader import ZST, FileLine, files_below, is_below, lines_of, read_json_object, user_folder
from custody.capture.transcripts import (
    LineResult,
    Starts,
    SubagentLaunch,
    TranscriptReader,
    read_objects,
)
from custody.capture.typed_field import Fields, fields, get_string, json_in
from custody.core.ids import AgentName
from custody.core.wire.body import excerpt_long_texts
from custody.core.wire.canonical import Json
from custody.core.wire.time import text_from

SUFFIX = ".jsonl"
FOLDERS = ("sessions", "archived_sessions")
PEEK_LINES = 50
SPAWNED_MAX = 10_000
LONG = ("output", "stdout", "stderr", "aggregated_output")
"""What a tool gave back, by the names that it has in lines and items."""

_NAME = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([0-9A-Za-z-]{1,100})")
_SPAWNING = (b"session_meta", b"spawn", b"agent_id", b"sub_agent_activity", b"SubAgentActivity", b"CollabAgentToolCall")
_ENVELOPES = frozenset("session_meta response_item event_msg turn_context compacted".split())


def home_of(environment: Mapping[str, str]) -> Path:
    """The user's Codex folder."""
    return user_folder(environment, "CODEX_HOME", ".codex")


def rollouts_of(home: Path, trees: Sequence[str]) -> list[Path]:
    """The rollouts of threads that began in one of these work trees or below; what cannot be read may be one."""
    files = [file for folder in FOLDERS for file in _rollouts(home / folder)]
    return [file for file in _oldest_first(files) if _is_in(file, trees)]


def rollouts_below(place: Path) -> list[Path]:
    """Every rollout at or below ``place``: those begun first come first, so that a fork comes after its origin."""
    return _oldest_first(_rollouts(place))


def is_opening(first: bytes) -> bool:
    """Whether a line has the envelope of Codex's lines, or is the first one of a rollout without envelopes."""
    line = read_json_object(first)
    if isinstance(line.get("payload"), dict):
        return get_string(line.get("type")) in _ENVELOPES
    return (
        "type" not in line
        and all(isinstance(line.get(name), str) for name in ("id", "timestamp"))
        and bool({"instructions", "git"} & line.keys())
    )


def starts_in(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """From events that name a subagent with its call, and from the answers of the calls that started one."""
    session, calls = thread_by_name(file), set[str]()
    for line in lines:
        if not any(mark in line.data for mark in _SPAWNING):
            continue
        kind, inner = _unwrapped(line.data)
        if kind == "session_meta" and (origin := shapes.origin_of(inner)) is not None:
            session = origin.session
        named, call = get_string(inner.get("type")), shapes.call_id(inner)
        if named in shapes.CALLS and call and plain(get_string(inner.get("name")) or "") == SPAWN:
            calls = calls if len(calls) > SPAWNED_MAX else {*calls, call}
        if (told := shapes.spawned(inner)) is not None:
            yield SubagentLaunch(session, *told)
        agent = _agent_in(inner.get("output")) if call in calls and named in shapes.OUTPUTS else None
        if agent is not None and call is not None:
            yield SubagentLaunch(session, agent, call)


def read_rollout(file: Path, lines: Iterable[FileLine], starts: Starts) -> Iterator[LineResult]:
    """What each line holds."""
    state = RolloutState(starts, session=thread_by_name(file), at=text_from(file.stat().st_mtime_ns))
    yield from read_objects(lines, state.line)


def trim_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """The event with long outputs cut; patches and the changes that they made are the texts of edits."""
    payload = event.get("payload")
    inner = payload.get("payload") if isinstance(payload, dict) else None
    if not isinstance(payload, dict) or not isinstance(inner, dict):
        return event
    kept = _cut(inner)
    if isinstance(kept.get("item"), dict):
        kept["item"] = _cut(fields(kept["item"]))
    return {**event, "payload": {**payload, "payload": kept}}


READER = TranscriptReader(
    agent=AgentName("codex"),
    home=home_of,
    of_trees=rollouts_of,
    files=rollouts_below,
    knows=is_opening,
    starts=starts_in,
    read=read_rollout,
    trimmed=trim_outputs,
    views=views_of,
)


def thread_by_name(file: Path) -> str:
    """The thread by the name of its file; a reverted one has a second id behind the first.

    >>> thread_by_name(Path("rollout-2026-08-01T12-00-00-0198-aa_0199-bb.jsonl"))
    '0198-aa'
    """
    found = _NAME.match(file.name)
    return found[1] if found else "unknown"


def _cut(inner: Fields) -> dict[str, Json]:
    return {name: excerpt_long_texts(value) if name in LONG else value for name, value in inner.items()}


def _rollouts(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return [*files_below(place, SUFFIX), *files_below(place, SUFFIX + ZST)]


def _oldest_first(files: Iterable[Path]) -> list[Path]:
    """By the start in their names; files of other names as they come, behind."""
    return sorted(files, key=lambda file: file.name if _NAME.match(file.name) else "s")


def _is_in(file: Path, trees: Sequence[str]) -> bool:
    try:
        for line in islice(lines_of(file), PEEK_LINES):
            kind, inner = _unwrapped(line.data)
            cwd = (
                get_string(inner.get("cwd"))
                if kind in ("session_meta", "turn_context")
                else shapes.read_message_folder(inner)
            )
            if cwd is not None:
                return is_below(cwd, trees)
    except OSError:
        return True  # named when it is read
    return False


def _unwrapped(data: bytes) -> tuple[str, Fields]:
    return shapes.unwrapped(read_json_object(data))


def _agent_in(output: object) -> str | None:
    """The subagent that the answer of a call names."""
    said = output if isinstance(output, str) else get_string(fields(output).get("content"))
    return None if said is None else get_string(fields(json_in(said)).get("agent_id"))
