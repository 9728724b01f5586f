"""Readers of agents' and other tools' formats: one reader per format, from its own shape to custody's views.

Event readers are pure functions of stored events. Transcript readers may open the files that the caller names, and no
file that is named inside them.
"""

from typing import TYPE_CHECKING

from custody.core.lazy_names import lazy_names

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
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "database_rows": "is_sqlite_transcript read_transcript_lines",
            "hook_reader": "hook_views snapshot_views",
            "line_reader": "FileLine read_jsonl_lines",
            "transcript_reader": "TRANSCRIPT_READERS transcript_views",
            "transcripts": "ChangedFile LineProblem SkippedLine SubagentLaunch TranscriptLine TranscriptReader",
        },
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
