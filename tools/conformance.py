"""The tables in ``docs/conformance/``: what each document says, our name for it, and what shows that we do it.

A row is shown by a test that exists, or by a sentence of one of our pages that changes what the document says. This
file is the only one that says what a row must look like; ``docs/conformance/README.md`` says the same to people.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.problems import Problem, pages_of

DOCUMENTS = ("000", "001", "002", "003", "004")
HEADER = ("section", "what the document says", "our name", "shown by")
GUIDE = "README.md"
FOLDER = "docs/conformance"
QUOTE_WORDS_MIN = 4
"""Fewer words would be found on any page."""

_CELLS = re.compile(r"(?<!\\)\|")
_DIVIDER = re.compile(r":?-+:?")
_PAGE = re.compile(r'page:\s*["“](?P<quote>.+)["”]', re.DOTALL)
_TEST = re.compile(r"(?P<path>tests/[\w/]+\.py)::(?P<name>\w+(?:::\w+)?)")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: where it stands and its cells."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """What can show a row in one tree: the tests by file, and the words of our pages."""

    root: Path
    words: str

    @classmethod
    def of(cls, root: Path) -> "Shown":
        """What there is under ``root``; the conformance tables cannot show themselves."""
        pages = (page for page in pages_of(root) if page.parent != root / FOLDER)
        return cls(root, "\n".join(_words(page.read_text("utf-8")) for page in pages))


def check(root: Path) -> list[Problem]:
    """What is wrong with the tables, if anything is: one file per document, and nothing else."""
    names = {f"{document}.md" for document in DOCUMENTS}
    there = {path.name for path in (root / FOLDER).iterdir()} - {GUIDE}
    shown = Shown.of(root)
    return [
        *(Problem(f"{FOLDER}/{name}", 0, "is missing") for name in sorted(names - there)),
        *(Problem(f"{FOLDER}/{name}", 0, "is of no document") for name in sorted(there - names)),
        *(problem for name in sorted(there & names) for problem in file_problems(f"{FOLDER}/{name}", shown)),
    ]


def file_problems(name: str, shown: Shown) -> Iterator[Problem]:
    """What is wrong with one table."""
    header, *rows = rows_of((shown.root / name).read_text("utf-8")) or [Row(0, ())]
    if header.cells != HEADER:
        yield Problem(name, header.line, f"the table's header is not {_shape(HEADER)}")
        return
    divider, *rows = rows or [Row(header.line, ())]
    if len(divider.cells) != len(HEADER) or not all(map(_DIVIDER.fullmatch, divider.cells)):
        yield Problem(name, divider.line, "the header has no line of dashes under it")
        return
    for row in rows:
        yield from (Problem(name, row.line, wrong) for wrong in row_troubles(row, shown))
    yield from (Problem(name, line, "says the same as a row above") for line in repeated(rows))


def rows_of(text: str) -> list[Row]:
    """The lines of a page that belong to a table."""
    lines = ((n, line.strip()) for n, line in enumerate(text.splitlines(), start=1))
    return [Row(n, cells_of(line)) for n, line in lines if line.startswith("|")]


def cells_of(line: str) -> tuple[str, ...]:
    r"""The cells of a line; ``\|`` is a bar inside one.

    >>> cells_of(r"| 3.1 | a \| b | `x` |  |")
    ('3.1', 'a | b', '`x`', '')
    """
    inner = line.removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith(r"\|") else inner
    return tuple(cell.strip().replace(r"\|", "|") for cell in _CELLS.split(inner))


def row_troubles(row: Row, shown: Shown) -> Iterator[str]:
    """What is wrong with one row."""
    if len(row.cells) != len(HEADER):
        yield f"has {len(row.cells)} cells, not {len(HEADER)}"
        return
    empty = [title for title, cell in zip(HEADER, row.cells, strict=True) if not cell]
    yield from (f"'{title}' is empty" for title in empty)
    if "shown by" not in empty:
        yield from shown_troubles(row.cells[-1], shown)


def repeated(rows: Iterable[Row]) -> Iterator[int]:
    """The lines of rows whose section and words stood there before."""
    seen: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        says = tuple(" ".join(cell.lower().split()) for cell in row.cells[:2])
        seen[says] += 1
        if seen[says] > 1:
            yield row.line


def shown_troubles(cell: str, shown: Shown) -> Iterator[str]:
    """What is wrong with a row's last cell: a quoted sentence, or tests with commas between them."""
    if cell.startswith("page:"):
        wrong = page_trouble(cell, shown.words)
        yield from [wrong] if wrong else []
        return
    for name in (part.strip().strip("`") for part in cell.split(",")):
        if wrong := test_trouble(name, shown.root):
            yield wrong


def page_trouble(cell: str, words: str) -> str | None:
    """What is wrong with a quoted sentence: it has to stand on one of our pages, word for word."""
    quoted = _PAGE.fullmatch(cell)
    if quoted is None:
        return 'a page is quoted as: page: "the sentence"'
    quote = _words(quoted["quote"])
    if len(quote.split()) < QUOTE_WORDS_MIN:
        return f"'{quote}' is too short to be a sentence of ours"
    return None if quote in words else f"no page of ours says '{quote}'"


def test_trouble(name: str, root: Path) -> str | None:
    """What is wrong with the name of a test: it has to be defined in the file it names."""
    named = _TEST.fullmatch(name)
    if named is None:
        return f"'{name}' is neither tests/….py::test_name nor page: \"a sentence\""
    path = root / named["path"]
    if not path.is_file():
        return f"there is no '{named['path']}'"
    return None if named["name"] in tests_in(path) else f"'{named['path']}' has no test '{named['name']}'"


def tests_in(path: Path) -> set[str]:
    """The tests a file defines: ``test_name``, and ``TestClass::test_name`` for a method."""
    body = ast.parse(path.read_bytes(), filename=str(path)).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    return {*_tests(body), *(f"{owner.name}::{name}" for owner in classes for name in _tests(owner.body))}


def _tests(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name


def _words(text: str) -> str:
    return " ".join(text.split())


def _shape(header: Iterable[str]) -> str:
    return "| " + " | ".join(header) + " |"
