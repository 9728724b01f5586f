"""Gemini CLI's chats: where they are, and the reader of them.

The shapes and the versions that they come from are told next door, in ``gemini_chat`` and ``gemini_places``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from custody.capture.agents.gemini.chat import LINES, ChatState
from custody.capture.agents.gemini.locations import chats_below, chats_of, home_of, is_opening, roots_of
from custody.capture.agents.gemini.tool_calls import EDITING
from custody.capture.agents.gemini.views import GEMINI, views_of
from custody.capture.line_reader import FileLine
from custody.capture.transcripts import LineProblem, SkippedLine, Starts, SubagentLaunch, TranscriptLine
from custody.capture.typed_field import fields, get_string, items
from custody.core.ids import AgentName
from custody.core.views import View
from custody.core.wire.canonical import Json
from custody.core.wire.event import TranscriptEvent
from custody.core.wire.excerpt import excerpt_long_texts


@dataclass(frozen=True)
class GeminiTranscripts:
    """The reader of Gemini CLI's chats."""

    agent: AgentName = GEMINI
    roots: Mapping[str, str] = field(default_factory=dict, hash=False)
    """This repository's work trees by their hashes: a chat names its project by that alone."""

    def in_trees(self, trees: Sequence[str]) -> "GeminiTranscripts":
        """The reader that knows these work trees by their hashes."""
        return replace(self, roots=roots_of(trees))

    def home(self, environment: Mapping[str, str]) -> Path:
        """``tmp`` in the user's Gemini folder."""
        return home_of(environment)

    def of_trees(self, home: Path, trees: Sequence[str]) -> list[Path]:
        """The chats of projects in one of these work trees, by path or by hash."""
        return chats_of(home, trees)

    def files(self, place: Path) -> list[Path]:
        """The chats at or below ``place``."""
        return chats_below(place)

    def knows(self, first: bytes) -> bool:
        """Whether a line says of which project a chat is."""
        return is_opening(first)

    def starts(self, file: Path, lines: Iterable[FileLine]) -> Iterator[SubagentLaunch]:
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

    def read(
        self, file: Path, lines: Iterable[FileLine], starts: Starts
    ) -> Iterator[TranscriptLine | SkippedLine | LineProblem]:
        """What each message holds."""
        yield from ChatState(starts, file, self.roots).all(lines)

    def trimmed(self, event: dict[str, Json]) -> dict[str, Json]:
        """The event with long outputs cut; what editing tools were given and display are the texts of edits."""
        payload = event.get("payload")
        if not isinstance(payload, dict) or not isinstance(payload.get("toolCalls"), list):
            return event
        calls: list[Json] = [_cut_call(call) for call in items(payload["toolCalls"])]
        return {**event, "payload": {**payload, "toolCalls": calls}}

    def views(self, event: TranscriptEvent) -> tuple[View, ...]:
        """What one kept message or call says."""
        return views_of(event)


def _cut_call(call: Json) -> Json:
    if not isinstance(call, dict):
        return call
    long = ("result",) if get_string(call.get("name")) in EDITING else ("result", "resultDisplay")
    return {**call, **{key: excerpt_long_texts(call[key]) for key in long if key in call}}
