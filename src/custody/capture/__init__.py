"""Formats of agents and other tools: one reader per format, from its own shape to our views.

Readers of events touch nothing: they are functions of what the store passes in. Readers of transcripts open the files
that they are given, and no file that is named inside them.
"""

from custody.capture.database_rows import is_database, lines_for
from custody.capture.hook_views import hook_views, snapshot_views
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
