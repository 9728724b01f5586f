"""Which session wrote a line, and on what evidence (document 000).

The files at the top are pure: they may import ``core`` and the standard library's value tools, and no other question.
"""

from custody.attribution.model import (
    TIERS,
    Grade,
    LineOwner,
    Segment,
    Trace,
    TraceAttribution,
)

__all__ = [
    "TIERS",
    "Grade",
    "LineOwner",
    "Segment",
    "Trace",
    "TraceAttribution",
]
