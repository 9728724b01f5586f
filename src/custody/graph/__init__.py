"""What an agent called, inside what, in what order (document 004).

The files at the top are pure: they may import ``core``, the standard library's value tools and, in ``csr.py`` alone,
numpy; they import no other question.
"""

from custody.graph.model import UnitId

__all__ = ["UnitId"]
