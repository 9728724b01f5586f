"""The reader of opencode's sessions.

``locations`` and ``session_reader`` name the shapes and their versions.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

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
    list_message_parts,
    qualify_call_id,
)
from custody.capture.agents.opencode.tool_calls import EDITING, find_subagent_session
from custody.capture.agents.opencode.views import views_from_transcript_event
from custody.capture.database_rows import is_session_in_database
from custody.capture.line_reader import FileLine
from custody.capture.transcripts import (
    LineProblem,
    LineResult,
    Starts,
    SubagentLaunch,
    TranscriptReader,
    excerpt_fields,
    parse_transcript_object,
)
from custody.capture.typed_field import get_fields, get_string
from custody.core.wire.canonical import Json

_OPENING = re.compile(rb'"id": ?"ses_[0-9A-Za-z]+"')
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
