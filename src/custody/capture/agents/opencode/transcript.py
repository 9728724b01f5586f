"""opencode's kept sessions: where they are, and the reader of them.

``locations`` and ``session_reader`` name the shapes and the versions that they come from.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from custody.capture.agents.opencode.locations import home_of, lines_below, rows_of, sessions_below, sessions_of
from custody.capture.agents.opencode.session_reader import OPENCODE, SessionReadState, call_name, parts_in
from custody.capture.agents.opencode.tool_calls import EDITING, started_by
from custody.capture.agents.opencode.views import views_of
from custody.capture.database_rows import in_database
from custody.capture.line_reader import FileLine
from custody.capture.transcripts import (
    LineProblem,
    LineResult,
    Starts,
    SubagentLaunch,
    TranscriptReader,
    object_in,
)
from custody.capture.typed_field import fields, get_string
from custody.core.wire.body import excerpt_long_texts
from custody.core.wire.canonical import Json

_OPENING = re.compile(rb'"id": ?"ses_[0-9A-Za-z]+"')
_STARTING = (b'"session"', b"task", b"subagent")


def is_opening(first: bytes) -> bool:
    """Whether a line names a session of opencode's."""
    return _OPENING.search(first) is not None


def starts_in(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """From calls that name the session that they started."""
    session = root = ""
    for line in _lines(file, lines):
        if isinstance(line, LineProblem) or not any(mark in line.data for mark in _STARTING):
            continue
        row = object_in(line)
        if not isinstance(row, dict):
            continue
        if row.get("table") == "session":
            session, root = get_string(row.get("id")) or "", get_string(row.get("root")) or ""
            continue
        for part in parts_in(row):
            told = fields(fields(part.get("state")).get("metadata"))
            child, call = started_by(get_string(part.get("tool")) or "", told), get_string(part.get("callID"))
            if child and call:
                yield SubagentLaunch(root, child, call_name(session, root, call))


def read_session(file: Path, lines: Iterable[FileLine], starts: Starts) -> Iterator[LineResult]:
    """What each prompt and each call holds."""
    yield from SessionReadState(starts).all(_lines(file, lines))


def trim_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """The event with long outputs cut; what editing tools were given and say is the texts of edits."""
    payload = event.get("payload")
    part = payload.get("part") if isinstance(payload, dict) else None
    state = part.get("state") if isinstance(part, dict) else None
    if not isinstance(payload, dict) or not isinstance(part, dict) or not isinstance(state, dict):
        return event
    long = ("output",) if part.get("tool") in EDITING else ("output", "metadata")
    short = {**state, **{key: excerpt_long_texts(state[key]) for key in long if key in state}}
    return {**event, "payload": {**payload, "part": {**part, "state": short}}}


READER = TranscriptReader(
    agent=OPENCODE,
    home=home_of,
    of_trees=sessions_of,
    files=sessions_below,
    knows=is_opening,
    starts=starts_in,
    read=read_session,
    trimmed=trim_outputs,
    views=views_of,
    rows=rows_of,
)


def _lines(file: Path, lines: Iterable[FileLine]) -> Iterable[FileLine | LineProblem]:
    """The lines of a database as they come; of a session's file those of all files that belong to it."""
    return lines if in_database(file) else lines_below(file, lines)
