"""Cursor's conversations: the reader of its database and of its transcripts.

The shapes and the versions that they come from are told next door, in ``cursor_store`` and ``cursor_reading``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from custody.capture.agents.cursor.conversation_reader import ConversationState, make_valid_id
from custody.capture.agents.cursor.locations import files_at, find_conversations, home_of, rows_of
from custody.capture.agents.cursor.tool_calls import EDITING, kind_of
from custody.capture.agents.cursor.views import CURSOR, views_of
from custody.capture.database_rows import is_database
from custody.capture.line_reader import FileLine
from custody.capture.transcripts import LineProblem, SkippedLine, Starts, SubagentLaunch, TranscriptLine, object_in
from custody.capture.typed_field import fields, get_string
from custody.core.errors import InputError
from custody.core.ids import AgentName
from custody.core.views import View
from custody.core.wire.canonical import Json, parse
from custody.core.wire.event import TranscriptEvent
from custody.core.wire.excerpt import excerpt_long_texts

TEXT = ".txt"


@dataclass(frozen=True)
class CursorTranscripts:
    """The reader of Cursor's conversations."""

    agent: AgentName = CURSOR

    def home(self, environment: Mapping[str, str]) -> Path:
        """The user's Cursor folder; the application's is looked for beside it."""
        return home_of(environment)

    def of_trees(self, home: Path, trees: Sequence[str]) -> list[Path]:
        """The conversations that say that they were in one of these work trees."""
        return find_conversations(home, trees)

    def files(self, place: Path) -> list[Path]:
        """The databases and transcripts at or below ``place``."""
        return files_at(place)

    def knows(self, first: bytes) -> bool:
        """Whether a row or a line is of this agent: no other's has just a role and a message."""
        if first in (b"user:", b"assistant:"):
            return True
        try:
            value = fields(parse(first))
        except InputError:
            return False
        if value.get("table") == "composer":
            return True
        content = fields(value.get("message")).get("content")
        return value.get("role") in ("user", "assistant") and isinstance(content, list) and "type" not in value

    def rows(self, file: Path) -> Iterator[FileLine]:
        """The rows of a database, or of one conversation in it."""
        return rows_of(file)

    def starts(self, file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
        """From conversations of subagents, which name the call that started them."""
        first = islice(lines, 1) if is_database(file.parent) else lines
        for line in first if _is_in_database(file) else ():
            row = object_in(line) if b'"composer"' in line.data else None
            if isinstance(row, dict) and row.get("table") == "composer" and get_string(row.get("call")):
                yield SubagentLaunch(str(row.get("root")), str(row.get("id")), make_valid_id(str(row["call"])))

    def read(
        self, file: Path, lines: Iterable[FileLine], starts: Starts
    ) -> Iterator[TranscriptLine | SkippedLine | LineProblem]:
        """What each row or line holds."""
        reading = ConversationState(starts, file)
        if _is_in_database(file):
            yield from reading.rows(lines)
        else:
            yield from reading.text(lines) if file.suffix == TEXT else reading.lines(lines)

    def trimmed(self, event: dict[str, Json]) -> dict[str, Json]:
        """The event with long outputs cut; what editing tools were given, and files before and after, stay whole."""
        payload = event.get("payload")
        made = payload.get("toolFormerData") if isinstance(payload, dict) else None
        if not isinstance(payload, dict) or not isinstance(made, dict) or "result" not in made:
            return event
        if kind_of(get_string(made.get("name")) or "") in EDITING:
            return event
        return {**event, "payload": {**payload, "toolFormerData": {**made, "result": _cut(made["result"])}}}

    def views(self, event: TranscriptEvent) -> tuple[View, ...]:
        """What one kept row or line says."""
        return views_of(event)


def _is_in_database(file: Path) -> bool:
    return is_database(file) or is_database(file.parent)


def _cut(result: Json) -> Json:
    """A result with its long texts cut, also where it is JSON in a text."""
    if isinstance(result, str):
        try:
            value = parse(result.encode("utf-8", "surrogatepass"))
        except InputError:
            return excerpt_long_texts(result)
        return excerpt_long_texts(value) if isinstance(value, dict) else excerpt_long_texts(result)
    return excerpt_long_texts(result)
