"""What a statement is based on, and whether that holds (document 003).

The files at the top and ``checks`` are pure: they may import ``core``, ``sketch``, their own parsers and the standard
library's value tools, and no other question.
"""

from custody.cite.codes import (
    CitationCode,
    Finding,
)
from custody.cite.model import (
    SourceError,
    UnknownSource,
)

__all__ = [
    "CitationCode",
    "Finding",
    "SourceError",
    "UnknownSource",
]
