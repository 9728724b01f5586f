"""Readers of agents' and other tools' formats: one reader per format, from its own shape to custody's views.

Event readers are pure functions of stored events. Transcript readers may open the files that the caller names, and no
file that is named inside them.
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from custody.capture.database_rows import is_sqlite_transcript, read_transcript_lines
    from custody.capture.hook_reader import hook_views, snapshot_views
    from custody.capture.line_reader import FileLine, read_jsonl_lines
    from custody.capture.transcript_reader import TRANSCRIPT_READERS, transcript_views
    from custody.capture.transcripts import (
        ChangedFile,
        LineProblem,
        SkippedLine,
        SubagentLaunch,
        TranscriptLine,
        TranscriptReader,
    )

__all__ = [
    "TRANSCRIPT_READERS",
    "ChangedFile",
    "FileLine",
    "LineProblem",
    "SkippedLine",
    "SubagentLaunch",
    "TranscriptLine",
    "TranscriptReader",
    "hook_views",
    "is_sqlite_transcript",
    "read_jsonl_lines",
    "read_transcript_lines",
    "snapshot_views",
    "transcript_views",
]

_MODULES = MappingProxyType(
    {
        "ChangedFile": "transcripts",
        "FileLine": "line_reader",
        "LineProblem": "transcripts",
        "SkippedLine": "transcripts",
        "SubagentLaunch": "transcripts",
        "TRANSCRIPT_READERS": "transcript_reader",
        "TranscriptLine": "transcripts",
        "TranscriptReader": "transcripts",
        "hook_views": "hook_reader",
        "is_sqlite_transcript": "database_rows",
        "read_transcript_lines": "database_rows",
        "read_jsonl_lines": "line_reader",
        "snapshot_views": "hook_reader",
        "transcript_views": "transcript_reader",
    }
)
"""The module of each exported name. Readers are large and most commands need none, so each is imported on first use."""


def __getattr__(name: str) -> Any:
    """Import an exported name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
