"""What a statement is based on, and whether that holds (document 003).

The files at the top and ``checks`` are pure: they may import ``core``, ``sketch``, their own parsers and the standard
library's value tools, and no other question.
"""

from typing import TYPE_CHECKING

from custody.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from custody.cite.codes import (
        CitationCode,
        Finding,
    )
    from custody.cite.model import (
        SourceError,
        UnknownSource,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "codes": "CitationCode Finding",
            "model": "SourceError UnknownSource",
        },
    )

__all__ = [
    "CitationCode",
    "Finding",
    "SourceError",
    "UnknownSource",
]
