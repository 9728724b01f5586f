"""Whether a change already exists (document 002).

The files at the top and ``facts`` are pure: they may import ``core``, ``sketch`` and the standard library's value
tools, and no other question.
"""

from typing import TYPE_CHECKING

from custody.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from custody.dupes.model import Category, ChangeEnds, ChangeRow, DuplicateVerdict, Relation
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "model": "Category ChangeEnds ChangeRow DuplicateVerdict Relation",
        },
    )

__all__ = [
    "Category",
    "ChangeEnds",
    "ChangeRow",
    "DuplicateVerdict",
    "Relation",
]
