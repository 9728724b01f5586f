"""Whether a change already exists (document 002).

The files at the top and ``facts`` are pure: they may import ``core``, ``sketch`` and the standard library's value
tools, and no other question.
"""

from custody.dupes.model import Category, ChangeRow, DuplicateVerdict, Relation

__all__ = [
    "Category",
    "ChangeRow",
    "DuplicateVerdict",
    "Relation",
]
