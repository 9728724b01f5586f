"""Which session wrote a line, and on what evidence (document 000).

The modules at the top are pure: they may import ``core`` and value tools of the standard library, and touch nothing
outside.
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
