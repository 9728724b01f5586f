"""Problems of documents, with their places."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A problem in a file; line 0 means the whole file.

    >>> str(Problem("docs/a.md", 3, "has no end")), str(Problem("docs/b.md", 0, "is missing"))
    ('docs/a.md:3: has no end', 'docs/b.md: is missing')
    """

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.message}"


class Undocumented(Exception):
    """A page cannot be made because its source lacks a description; the message names the place."""


def pages_of(root: Path) -> list[Path]:
    """Return every page people read: those at the root, under ``docs/``, and the guide to the benchmarks."""
    guide = root / "bench/README.md"
    return [
        *sorted(root.glob("*.md")),
        *sorted(root.glob("docs/**/*.md")),
        *([guide] if guide.is_file() else []),
    ]
