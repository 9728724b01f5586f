"""Source code of the running Python's standard library, read by path: halved by the names of its files."""

import sysconfig
import zlib
from functools import cache
from pathlib import Path

from bench.redaction_corpus.draw import Draw
from bench.redaction_corpus.frame import Harmless

LINES = 400
"""Lines of one text: about 15 kB."""
APART = frozenset(("site-packages", "test", "tests", "__pycache__", "idle_test"))
"""Folders that are not read: what others installed, and tests, some of which hold keys made for testing."""


@cache
def files(half: int) -> tuple[Path, ...]:
    """One half of the library's source files, in order."""
    root = Path(sysconfig.get_path("stdlib"))
    found = (file for file in sorted(root.rglob("*.py")) if not APART.intersection(file.relative_to(root).parts))
    return tuple(file for file in found if zlib.crc32(file.relative_to(root).as_posix().encode()) % 2 == half)


def some_lines(draw: Draw, half: int) -> Harmless:
    """Some hundred lines of one file."""
    lines = draw.random.choice(files(half)).read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    start = draw.between(0, max(0, len(lines) - LINES))
    return Harmless("".join(lines[start : start + LINES]))
