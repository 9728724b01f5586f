"""What captured events mean: one reader per agent format, from an agent's own shape to our views.

Readers of events touch nothing: they are functions of what the store hands them. Readers of transcripts open the files
that they are handed, and nothing that is named inside them.
"""

from custody.world.capture.databases import is_database, lines_for
from custody.world.capture.hooks import hook_views, snapshot_views
from custody.world.capture.lines import Line, lines_of
from custody.world.capture.reading import TRANSCRIPT_READERS, transcript_views
from custody.world.capture.transcripts import Found, Named, NeedsTrees, Passed, Started, TranscriptReader, Trouble

__all__ = [
    "TRANSCRIPT_READERS",
    "Found",
    "Line",
    "Named",
    "NeedsTrees",
    "Passed",
    "Started",
    "TranscriptReader",
    "Trouble",
    "hook_views",
    "is_database",
    "lines_for",
    "lines_of",
    "snapshot_views",
    "transcript_views",
]
