"""The notes in ``changes/``: one user-visible change each, named so that they sort themselves."""

import re
from collections.abc import Iterator
from pathlib import Path

from tools import markdown
from tools.problems import Problem

KINDS = ("added", "changed", "fixed", "removed")
GUIDE = "README.md"
_NAME = re.compile(rf"[a-z0-9][a-z0-9-]*\.({'|'.join(KINDS)})\.md")


def check(root: Path) -> list[Problem]:
    """What is wrong with the notes, if anything is."""
    return [
        Problem(f"changes/{path.name}", 0, wrong)
        for path in sorted((root / "changes").iterdir())
        if path.name != GUIDE
        for wrong in troubles(path)
    ]


def troubles(path: Path) -> Iterator[str]:
    """What is wrong with one note."""
    if not _NAME.fullmatch(path.name):
        yield f"is not named <name>.<{'|'.join(KINDS)}>.md"
        return
    note = path.read_text("utf-8")
    if not note.strip():
        yield "is empty"
    if markdown.has_list(note):
        yield "holds a list: a note that wants a list is two changes"
