"""The examples of STYLE.md are code of this tree: each block is in the file that it names, each good name is used."""

import re
from collections.abc import Iterator
from pathlib import Path

from tools.problems import Problem

PAGE = "STYLE.md"
SOURCE = "src/custody"

_BLOCK = re.compile(r"(?:<!-- from: (?P<file>\S+) -->\n)?```python\n(?P<code>.*?)```", re.DOTALL)
_NAME = re.compile(r"`([A-Za-z_]+)(?:\(\.\.\.\))?`")


def check(root: Path) -> list[Problem]:
    """Return the examples that differ from the tree."""
    if not (page := root / PAGE).is_file():
        return []
    text = page.read_text("utf-8")
    return [*_wrong_blocks(root, text), *_unused_names(root, text)]


def _wrong_blocks(root: Path, text: str) -> Iterator[Problem]:
    for block in _BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        if block["file"] is None:
            yield Problem(PAGE, line, "the example does not name its file: <!-- from: src/custody/….py -->")
        elif not (path := root / block["file"]).is_file():
            yield Problem(PAGE, line, f"there is no '{block['file']}'")
        elif block["code"] not in path.read_text("utf-8"):
            yield Problem(PAGE, line, f"'{block['file']}' does not contain this example")


def _unused_names(root: Path, text: str) -> Iterator[Problem]:
    """Yield names that the last column of the table of names recommends, but that no module uses."""
    source = "\n".join(path.stem + "\n" + path.read_text("utf-8") for path in sorted((root / SOURCE).rglob("*.py")))
    used = set(re.findall(r"\w+", source))
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("|") and line.count("|") == 4:
            for name in _NAME.findall(line.split("|")[3]):
                if name not in used:
                    yield Problem(PAGE, number, f"no module has the name '{name}'")
