"""The reader of opencode's sessions.

``locations`` and ``session_reader`` name the shapes and their versions.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from custody.capture.agent_event import call_view, dispatch_transcript_event, prompt_view, to_tool_use
from custody.capture.agents.opencode.locations import (
    find_project_sessions,
    list_session_files,
    locate_opencode_data,
    read_session_files,
    read_session_rows,
)
from custody.capture.agents.opencode.session_reader import (
    OPENCODE,
    SessionReadState,
    add_call_state,
    list_message_parts,
    qualify_call_id,
)
from custody.capture.agents.opencode.tool_calls import (
    EDITING,
    add_effects,
    describe_tool_call,
    find_subagent_session,
    read_call_status,
    read_shell_run,
)
from custody.capture.command_facts import find_written_files
from custody.capture.database_rows import is_session_in_database
from custody.capture.line_reader import FileLine
from custody.capture.tool_use import views_from_tool_use
from custody.capture.transcripts import (
    LineProblem,
    LineResult,
    Starts,
    SubagentLaunch,
    TranscriptReader,
    excerpt_fields,
    parse_transcript_object,
)
from custody.capture.typed_field import Fields, get_agent_model, get_captured_text, get_fields, get_int, get_string
from custody.core.patterns import lazy_pattern
from custody.core.views import View
from custody.core.wire.canonical import Json
from custody.core.wire.event import TranscriptEvent

_OPENING = lazy_pattern(rb'"id": ?"ses_[0-9A-Za-z]+"')
_STARTING = (b'"session"', b"task", b"subagent")


def is_opencode_session_opening(first: bytes) -> bool:
    """Return whether a line names a session of opencode."""
    return _OPENING.search(first) is not None


def find_subagent_launches(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """Yield launches from calls that name the session that they started."""
    session = root = ""
    for line in _collect_session_lines(file, lines):
        if isinstance(line, LineProblem) or not any(mark in line.data for mark in _STARTING):
            continue
        row = parse_transcript_object(line)
        if not isinstance(row, dict):
            continue
        if row.get("table") == "session":
            session, root = get_string(row.get("id")) or "", get_string(row.get("root")) or ""
            continue
        for part in list_message_parts(row):
            fields = get_fields(get_fields(part.get("state")).get("metadata"))
            child, call = (
                find_subagent_session(get_string(part.get("tool")) or "", fields),
                get_string(part.get("callID")),
            )
            if child and call:
                yield SubagentLaunch(root, child, qualify_call_id(session, root, call))


def read_session(file: Path, lines: Iterable[FileLine], starts: Starts) -> Iterator[LineResult]:
    """Yield the record of each prompt and each call."""
    yield from SessionReadState(starts).read_lines(_collect_session_lines(file, lines))


def trim_event_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """Return the event with long outputs cut; input and metadata of editing tools stay whole."""
    payload = event.get("payload")
    part = payload.get("part") if isinstance(payload, dict) else None
    state = part.get("state") if isinstance(part, dict) else None
    if not isinstance(payload, dict) or not isinstance(part, dict) or not isinstance(state, dict):
        return event
    long = ("output",) if part.get("tool") in EDITING else ("output", "metadata")
    return {**event, "payload": {**payload, "part": {**part, "state": excerpt_fields(state, long)}}}


# Views of one stored prompt or call: a pure function of the record.


NS_PER_MS = 1_000_000


def views_from_transcript_event(event: TranscriptEvent) -> tuple[View, ...]:
    """Return the views of one prompt or call."""
    return dispatch_transcript_event(event, KINDS, _read_message_model(get_fields(event.payload)))


def _read_prompt_record(event: TranscriptEvent, fields: Fields) -> Iterator[View]:
    prompt = get_captured_text(fields.get("text"))
    if event.subagent is None and prompt is not None:
        yield prompt_view(event, get_string(get_fields(fields.get("message")).get("id")) or event.id, prompt)


def _read_call_record(event: TranscriptEvent, fields: Fields) -> Iterator[View]:
    if not event.calls:
        return
    reference, state = event.calls[0], get_fields(get_fields(fields.get("part")).get("state"))
    use = replace(add_call_state(to_tool_use(event, reference), state), folder=reference.cwd)
    view = call_view(
        event,
        reference,
        read_call_status(use),
        model=_read_message_model(fields),
        about=describe_tool_call(state.get("input")),
    )
    yield replace_fields(view, started_ns=_read_call_start_ns(state, use.at_ns))
    yield from views_from_tool_use(
        replace(add_effects(use), writes=find_written_files(read_shell_run(use))), event.commits
    )


def _read_call_start_ns(state: Fields, ended_ns: int) -> int:
    started_ns = (get_int(get_fields(state.get("time")).get("start")) or 0) * NS_PER_MS
    return started_ns if 0 < started_ns <= ended_ns else ended_ns


def _read_message_model(fields: Fields) -> str | None:
    return get_agent_model(get_fields(fields.get("message")).get("model"))


KINDS: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {"prompt": _read_prompt_record, "call": _read_call_record}
)


READER = TranscriptReader(
    agent=OPENCODE,
    home=locate_opencode_data,
    of_trees=find_project_sessions,
    files=list_session_files,
    knows=is_opencode_session_opening,
    starts=find_subagent_launches,
    read=read_session,
    trimmed=trim_event_outputs,
    views=views_from_transcript_event,
    rows=read_session_rows,
)


def _collect_session_lines(file: Path, lines: Iterable[FileLine]) -> Iterable[FileLine | LineProblem]:
    """Return the lines of a database as they come; for a session's file, those of all its files."""
    return lines if is_session_in_database(file) else read_session_files(file, lines)
