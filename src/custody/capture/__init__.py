"""Formats of agents and other tools: one reader per format, from its own shape to our views.

Readers of events touch nothing: they are functions of what the store passes in. Readers of transcripts open the files
that they are given, and no file that is named inside them.
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from custody.capture.database_rows import is_database, lines_for
    from custody.capture.hook_reader import hook_views, snapshot_views
    from custody.capture.line_reader import FileLine, lines_of
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
    "is_database",
    "lines_for",
    "lines_of",
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
        "is_database": "database_rows",
        "lines_for": "database_rows",
        "lines_of": "line_reader",
        "snapshot_views": "hook_reader",
        "transcript_views": "transcript_reader",
    }
)
"""Where each exported name is: readers are large, and most questions need none, so each is imported when asked for."""


def __getattr__(name: str) -> Any:
    """Import an exported name when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
