"""Gemini CLI's chats: where they are, and the reader of them.

``chat`` and ``locations`` name the shapes and the versions that they come from.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture.agents.gemini.chat import LINES, ChatState
from custody.capture.agents.gemini.locations import chats_below, chats_of, home_of, is_opening, roots_of
from custody.capture.agents.gemini.tool_calls import EDITING
from custody.capture.agents.gemini.views import GEMINI, views_of
from custody.capture.line_reader import FileLine
from custody.capture.transcripts import LineResult, Starts, SubagentLaunch, TranscriptLine, TranscriptReader
from custody.capture.typed_field import fields, get_string, items
from custody.core.wire.canonical import Json
from custody.core.wire.excerpt import excerpt_long_texts


def starts_in(file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
    """From calls that name the subagent that they started."""
    # Of a file of lines only those that can tell; a document has to be read whole.
    telling = (b'"agentId"', b'"sessionId"')
    some = (line for line in lines if file.suffix != LINES or any(mark in line.data for mark in telling))
    for item in ChatState({}, file).all(some):
        if isinstance(item, TranscriptLine):
            call = next(map(fields, items(item.payload.get("toolCalls"))), {})
            named = get_string(call.get("agentId"))
            if named is not None:
                yield SubagentLaunch(item.session, named, str(item.calls[0]["id"]))


def read_chat(
    file: Path, lines: Iterable[FileLine], starts: Starts, roots: Mapping[str, str] = MappingProxyType({})
) -> Iterator[LineResult]:
    """What each message holds; ``roots`` are work trees by their hashes, since a chat names its project by that."""
    yield from ChatState(starts, file, roots).all(lines)


def reader_in(trees: Sequence[str]) -> TranscriptReader:
    """The reader that knows these work trees by their hashes."""
    return replace(READER, read=partial(read_chat, roots=roots_of(trees)))


def trim_outputs(event: dict[str, Json]) -> dict[str, Json]:
    """The event with long outputs cut; what editing tools were given and display are the texts of edits."""
    payload = event.get("payload")
    if not isinstance(payload, dict) or not isinstance(payload.get("toolCalls"), list):
        return event
    calls: list[Json] = [_cut_call(call) for call in items(payload["toolCalls"])]
    return {**event, "payload": {**payload, "toolCalls": calls}}


READER = TranscriptReader(
    agent=GEMINI,
    home=home_of,
    of_trees=chats_of,
    files=chats_below,
    knows=is_opening,
    starts=starts_in,
    read=read_chat,
    trimmed=trim_outputs,
    views=views_of,
    in_trees=reader_in,
)


def _cut_call(call: Json) -> Json:
    if not isinstance(call, dict):
        return call
    long = ("result",) if get_string(call.get("name")) in EDITING else ("result", "resultDisplay")
    return {**call, **{key: excerpt_long_texts(call[key]) for key in long if key in call}}
