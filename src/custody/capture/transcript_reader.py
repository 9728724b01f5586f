"""The agents whose transcripts can be read, and the views of a stored line."""

from collections.abc import Mapping
from types import MappingProxyType

from custody.capture.agents.claude import transcript as claude
from custody.capture.agents.codex import transcript as codex
from custody.capture.agents.copilot import transcript as copilot
from custody.capture.agents.cursor import transcript as cursor
from custody.capture.agents.gemini import transcript as gemini
from custody.capture.agents.opencode import transcript as opencode
from custody.capture.transcripts import TranscriptReader
from custody.core.errors import InputError
from custody.core.views import View
from custody.core.wire.canonical import Json
from custody.core.wire.event import AnyEvent, TranscriptEvent, event_from_json
from custody.core.wire.event_views import observation_from_event

TRANSCRIPT_READERS: Mapping[str, TranscriptReader] = MappingProxyType(
    {module.READER.agent: module.READER for module in (claude, codex, copilot, cursor, gemini, opencode)}
)


def transcript_views(payload: Json | AnyEvent) -> tuple[View, ...]:
    """Return the views of one line of a transcript; an agent without a reader has only an observation."""
    event = event_from_json(payload)
    if not isinstance(event, TranscriptEvent):
        raise InputError("not a line of a transcript")
    reader = TRANSCRIPT_READERS.get(event.agent)
    return (*observation_from_event(event, "transcript"), *(reader.views(event) if reader else ()))
