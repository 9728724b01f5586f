"""Which agents' transcripts can be read, and from a kept line to its views."""

from collections.abc import Mapping
from types import MappingProxyType

from custody.model.errors import InputError
from custody.model.views import View
from custody.wire.canonical import Json
from custody.wire.events import TranscriptEvent, event_from
from custody.wire.views import observation_of
from custody.world.capture.claude_transcript import ClaudeTranscripts
from custody.world.capture.codex_rollout import CodexRollouts
from custody.world.capture.copilot_transcript import CopilotTranscripts
from custody.world.capture.cursor_transcript import CursorTranscripts
from custody.world.capture.gemini_transcript import GeminiTranscripts
from custody.world.capture.opencode_transcript import OpencodeSessions
from custody.world.capture.transcripts import TranscriptReader

TRANSCRIPT_READERS: Mapping[str, TranscriptReader] = MappingProxyType(
    {
        reader.agent: reader
        for reader in (
            ClaudeTranscripts(),
            CodexRollouts(),
            CopilotTranscripts(),
            CursorTranscripts(),
            GeminiTranscripts(),
            OpencodeSessions(),
        )
    }
)


def transcript_views(payload: Json) -> tuple[View, ...]:
    """The views of one line of a transcript; an agent without a reader still leaves an observation."""
    event = event_from(payload)
    if not isinstance(event, TranscriptEvent):
        raise InputError("not a line of a transcript")
    reader = TRANSCRIPT_READERS.get(event.agent)
    return (*observation_of(event, "transcript"), *(reader.views(event) if reader else ()))
