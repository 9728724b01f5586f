"""Which session wrote a line, and on what evidence (document 000).

The modules at the top are pure: they may import ``core`` and value tools of the standard library, and touch nothing
outside.
"""

from typing import TYPE_CHECKING

from custody.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from custody.attribution.model import (
        TIERS,
        Grade,
        LineOwner,
        Segment,
        Trace,
        TraceAttribution,
        format_certainty,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "model": "Grade LineOwner Segment TIERS Trace TraceAttribution format_certainty",
        },
    )

__all__ = [
    "TIERS",
    "Grade",
    "LineOwner",
    "Segment",
    "Trace",
    "TraceAttribution",
    "format_certainty",
]
