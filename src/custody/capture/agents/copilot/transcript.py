"""The reader of Copilot's sessions: those of the CLI, and the chats and transcripts of VS Code.

``event_stream``, ``chat`` and ``locations`` name the shapes and the versions that they come from.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from custody.capture.agents.copilot.chat import Chat
from custody.capture.agents.copilot.event_stream import StreamState, starts_in
from custody.capture.agents.copilot.locations import home_of, is_opening, sessions_below, sessions_of
from custody.capture.agents.copilot.views import views_of
from custody.capture.line_reader import FileLine
from custody.capture.transcripts import LineResult, Starts, SubagentLaunch, TranscriptReader, peek_line, read_objects
from custody.core.ids import AgentName
from custody.core.wire.canonical import Json
from custody.core.wire.excerpt import excerpt_long_texts

_EVENT = (b'"parentId"', b'"data"')


def find_starts(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """From event streams; a request of a chat says it itself."""
    first, together = peek_line(lines)
    if first is not None and _is_stream(file, first):
        yield from starts_in(file, together)


def read_session(file: Path, lines: Iterable[FileLine], starts: Starts) -> Iterator[LineResult]:
    """What each line, or each request, holds."""
    first, together = peek_line(lines)
    if first is None:
        return
    if not _is_stream(file, first):
        yield from Chat(file).all(together)
        return
    stream = StreamState(starts, file)
    yield from read_objects(together, stream.line)
    yield from stream.end()


def trim_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """The event with what a tool gave back cut; what it was given are the texts of edits."""
    payload = event.get("payload")
    if not isinstance(payload, dict) or "words" not in payload:
        return event
    return {**event, "payload": {**payload, "words": excerpt_long_texts(payload["words"])}}


READER = TranscriptReader(
    agent=AgentName("copilot"),
    home=home_of,
    of_trees=sessions_of,
    files=sessions_below,
    knows=is_opening,
    starts=find_starts,
    read=read_session,
    trimmed=trim_outputs,
    views=views_of,
)


def _is_stream(file: Path, first: FileLine) -> bool:
    """Whether a file has an event on each line; the first one may be damaged, then its name tells."""
    named = file.name == "events.jsonl" or file.parent.name in ("transcripts", "session-state")
    return named or all(mark in first.data for mark in _EVENT)
