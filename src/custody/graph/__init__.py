"""What an agent called, inside what, in what order (document 004).

The files at the top are pure: they may import ``core``, the standard library's value tools and, in ``csr.py`` alone,
numpy; they import no other question.
"""

from typing import TYPE_CHECKING

from custody.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from custody.graph.model import UnitId
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "model": "UnitId",
        },
    )

__all__ = ["UnitId"]
