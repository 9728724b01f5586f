"""How much of one file is looked at."""

from collections.abc import Callable
from dataclasses import dataclass

Enough = Callable[[], bool]
"""Asked now and then while a file is parsed: whether to stop. A caller with a clock gives a deadline this way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLimits:
    """Bounds on the work for one file; what lies beyond them is not read, and the facts say so."""

    bytes_max: int = 4 << 20
    """A larger file is not parsed."""
    depth_max: int = 500
    """Syntax that is nested deeper is not looked at: no person wrote it, and every level costs."""
    error_tokens_max: int = 4_000
    """A stretch of more tokens without any syntax makes a tree that is slow to read, and says nothing."""
    reads_max: int = 24
    """A parser that asks for the text more often than this many times over is going in circles."""
    name_chars_max: int = 200
    """Longer names are cut."""
    block_tokens_max: int = 16
    """How many tokens of a code block in a document count."""
