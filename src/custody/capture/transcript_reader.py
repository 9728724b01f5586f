"""The agents whose transcripts can be read, and the views of a stored line."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from custody.core.errors import InputError
from custody.core.wire.event import TranscriptEvent, event_from_json
from custody.core.wire.event_views import observation_from_event

if TYPE_CHECKING:
    from custody.capture.transcripts import TranscriptReader
    from custody.core.views import View
    from custody.core.wire.canonical import Json
    from custody.core.wire.event import AnyEvent


class _LazyReaders(Mapping[str, "TranscriptReader"]):
    """The reader of each agent; a reader is large, so each is imported when it is asked for."""

    _PACKAGES: Mapping[str, str] = MappingProxyType(
        {
            "claude-code": "claude",
            "codex": "codex",
            "copilot": "copilot",
            "cursor": "cursor",
            "gemini": "gemini",
            "opencode": "opencode",
            # Roo Code first: it began as Cline, and its tasks have all that shows one of Cline.
            "roo-code": "cline:ROO_READER",
            "cline": "cline",
            "aider": "aider",
        }
    )

    def __getitem__(self, agent: str) -> "TranscriptReader":
        package, _, name = self._PACKAGES[agent].partition(":")
        reader: TranscriptReader = getattr(
            import_module(f"custody.capture.agents.{package}.transcript"), name or "READER"
        )
        return reader

    def __contains__(self, agent: object) -> bool:
        return agent in self._PACKAGES

    def __iter__(self) -> Iterator[str]:
        return iter(self._PACKAGES)

    def __len__(self) -> int:
        return len(self._PACKAGES)


TRANSCRIPT_READERS: Mapping[str, "TranscriptReader"] = _LazyReaders()


def find_transcript_answer(event: TranscriptEvent) -> str | None:
    """Return what the agent said to a person on one line; None if it said nothing, or if that was not stored."""
    reader = TRANSCRIPT_READERS.get(event.agent)
    text = None if reader is None or reader.answer is None or event.subagent is not None else reader.answer(event)
    return text if text and text.strip() else None


def transcript_views(payload: "Json | AnyEvent") -> tuple["View", ...]:
    """Return the views of one line of a transcript; an agent without a reader has only an observation."""
    event = event_from_json(payload)
    if not isinstance(event, TranscriptEvent):
        raise InputError("not a line of a transcript")
    reader = TRANSCRIPT_READERS.get(event.agent)
    return (*observation_from_event(event, "transcript"), *(reader.views(event) if reader else ()))
