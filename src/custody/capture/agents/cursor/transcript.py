"""Cursor's conversations: the reader of its database and of its transcripts.

``locations`` and ``conversation_reader`` name the shapes and the versions that they come from.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from custody.capture.agents.cursor.conversation_reader import ConversationState
from custody.capture.agents.cursor.locations import files_at, find_conversations, home_of, rows_of
from custody.capture.agents.cursor.tool_calls import EDITING, kind_of
from custody.capture.agents.cursor.views import views_of
from custody.capture.database_rows import in_database, is_database
from custody.capture.file_probe import read_json_object
from custody.capture.line_reader import FileLine
from custody.capture.transcripts import (
    LineResult,
    Starts,
    SubagentLaunch,
    TranscriptReader,
    object_in,
    read_objects,
    valid_id,
)
from custody.capture.typed_field import fields, get_string, json_in
from custody.core.ids import AgentName
from custody.core.wire.canonical import Json
from custody.core.wire.excerpt import excerpt_long_texts

TEXT = ".txt"


def is_opening(first: bytes) -> bool:
    """Whether a row or a line is of this agent: no other's has just a role and a message."""
    if first in (b"user:", b"assistant:"):
        return True
    value = read_json_object(first)
    if value.get("table") == "composer":
        return True
    content = fields(value.get("message")).get("content")
    return value.get("role") in ("user", "assistant") and isinstance(content, list) and "type" not in value


def starts_in(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """From conversations of subagents, which name the call that started them."""
    first = islice(lines, 1) if is_database(file.parent) else lines
    for line in first if in_database(file) else ():
        row = object_in(line) if b'"composer"' in line.data else None
        if isinstance(row, dict) and row.get("table") == "composer" and get_string(row.get("call")):
            yield SubagentLaunch(str(row.get("root")), str(row.get("id")), valid_id(str(row["call"])))


def read_conversation(file: Path, lines: Iterable[FileLine], starts: Starts) -> Iterator[LineResult]:
    """What each row or line holds."""
    state = ConversationState(starts, file)
    if in_database(file):
        yield from read_objects(lines, state.row)
    else:
        yield from state.text(lines) if file.suffix == TEXT else read_objects(lines, state.line)


def trim_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """The event with long outputs cut; what editing tools were given, and files before and after, stay whole."""
    payload = event.get("payload")
    made = payload.get("toolFormerData") if isinstance(payload, dict) else None
    if not isinstance(payload, dict) or not isinstance(made, dict) or "result" not in made:
        return event
    if kind_of(get_string(made.get("name")) or "") in EDITING:
        return event
    return {**event, "payload": {**payload, "toolFormerData": {**made, "result": _cut(made["result"])}}}


READER = TranscriptReader(
    agent=AgentName("cursor"),
    home=home_of,
    of_trees=find_conversations,
    files=files_at,
    knows=is_opening,
    starts=starts_in,
    read=read_conversation,
    trimmed=trim_outputs,
    views=views_of,
    rows=rows_of,
)


def _cut(result: Json) -> Json:
    """A result with its long texts cut, also where it is JSON in a text."""
    value = json_in(result, "surrogatepass") if isinstance(result, str) else None
    return excerpt_long_texts(value if isinstance(value, dict) else result)
