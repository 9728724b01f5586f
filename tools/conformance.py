"""The tables in ``docs/conformance/``: what each document says, our name for it, and its test.

Each row has an id. A test names the rows that it shows in a comment above it (``# Conformance: 000-012``), so a test
may be renamed or moved. A row without a test quotes the sentence of our pages that changes what the document says.
This file alone defines what a row must look like; ``docs/conformance/README.md`` explains it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.problems import Problem, pages_of

DOCUMENTS = ("000", "001", "002", "003", "004")
HEADER = ("id", "section", "what the document says", "our name", "shown by")
TESTS = "tests"
"""The last cell of a row that tests show."""
GUIDE = "README.md"
FOLDER = "docs/conformance"
QUOTE_WORDS_MIN = 4
"""Shorter quotes would match by chance."""

_CELLS = re.compile(r"(?<!\\)\|")
_DIVIDER = re.compile(r":?-+:?")
_PAGE = re.compile(r'page:\s*["“](?P<quote>.+)["”]', re.DOTALL)
_ID = re.compile(r"[0-9]{3}-[0-9]{3}")
_COMMENT = re.compile(r"^ *# Conformance: (?P<ids>.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: its line number and its cells."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConformanceProof:
    """The evidence for rows: the ids that tests name, with their first place, and the words of our pages."""

    root: Path
    named: Mapping[str, str]
    words: str

    @classmethod
    def of(cls, root: Path) -> "ConformanceProof":
        """Read the tests and pages under ``root``; the conformance tables cannot show themselves."""
        pages = (page for page in pages_of(root) if page.parent != root / FOLDER)
        return cls(root, ids_in_tests(root), "\n".join(_words(page.read_text("utf-8")) for page in pages))


def check(root: Path) -> list[Problem]:
    """Return what is wrong with the tables: there must be one file per document, and nothing else."""
    names = {f"{document}.md" for document in DOCUMENTS}
    there = {path.name for path in (root / FOLDER).iterdir()} - {GUIDE}
    proof = ConformanceProof.of(root)
    return [
        *(Problem(f"{FOLDER}/{name}", 0, "is missing") for name in sorted(names - there)),
        *(Problem(f"{FOLDER}/{name}", 0, "does not belong to a document") for name in sorted(there - names)),
        *(problem for name in sorted(there & names) for problem in file_problems(f"{FOLDER}/{name}", proof)),
        *unknown_ids(proof),
    ]


def ids_in_tests(root: Path) -> dict[str, str]:
    """Return the ids that comments above tests name, each with the first place that names it."""
    named: dict[str, str] = {}
    for path in sorted((root / "tests").rglob("*.py")):
        text = path.read_text("utf-8")
        for match in _COMMENT.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            for row_id in match["ids"].split(","):
                named.setdefault(row_id.strip(), f"{path.relative_to(root).as_posix()}:{line}")
    return named


def unknown_ids(proof: ConformanceProof) -> Iterator[Problem]:
    """Yield the ids that a test names and no row has."""
    known = set()
    for document in DOCUMENTS:
        if (path := proof.root / FOLDER / f"{document}.md").is_file():
            known |= {row.cells[0] for row in rows_of(path.read_text("utf-8"))}
    for row_id, place in proof.named.items():
        if row_id not in known:
            path_name, _, line = place.rpartition(":")
            yield Problem(path_name, int(line), f"no row of {FOLDER} has the id '{row_id}'")


def file_problems(name: str, proof: ConformanceProof) -> Iterator[Problem]:
    """Yield what is wrong with one table."""
    header, *rows = rows_of((proof.root / name).read_text("utf-8")) or [Row(0, ())]
    if header.cells != HEADER:
        yield Problem(name, header.line, f"the table's header is not {_shape(HEADER)}")
        return
    divider, *rows = rows or [Row(header.line, ())]
    if len(divider.cells) != len(HEADER) or not all(map(_DIVIDER.fullmatch, divider.cells)):
        yield Problem(name, divider.line, "the header has no line of dashes under it")
        return
    for row in rows:
        yield from (Problem(name, row.line, wrong) for wrong in row_troubles(row, proof))
    yield from (Problem(name, line, "repeats a row above") for line in repeated(rows))
    yield from id_problems(name, rows)


def id_problems(name: str, rows: Iterable[Row]) -> Iterator[Problem]:
    """Yield what is wrong with the ids of a table: each starts with the document's number and is used once."""
    seen: set[str] = set()
    for row in rows:
        row_id = row.cells[0]
        if len(row.cells) != len(HEADER) or not row_id:
            continue
        if not _ID.fullmatch(row_id) or row_id[:3] != Path(name).stem:
            yield Problem(name, row.line, f"'{row_id}' is not an id such as {Path(name).stem}-001")
        elif row_id in seen:
            yield Problem(name, row.line, f"the id '{row_id}' is taken by a row above")
        seen.add(row_id)


def rows_of(text: str) -> list[Row]:
    """Return the table lines of a page."""
    lines = ((n, line.strip()) for n, line in enumerate(text.splitlines(), start=1))
    return [Row(n, cells_of(line)) for n, line in lines if line.startswith("|")]


def cells_of(line: str) -> tuple[str, ...]:
    r"""Return the cells of a line; ``\|`` is a bar inside one.

    >>> cells_of(r"| 3.1 | a \| b | `x` |  |")
    ('3.1', 'a | b', '`x`', '')
    """
    inner = line.removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith(r"\|") else inner
    return tuple(cell.strip().replace(r"\|", "|") for cell in _CELLS.split(inner))


def row_troubles(row: Row, proof: ConformanceProof) -> Iterator[str]:
    """Yield what is wrong with one row."""
    if len(row.cells) != len(HEADER):
        yield f"has {len(row.cells)} cells, not {len(HEADER)}"
        return
    empty = [title for title, cell in zip(HEADER, row.cells, strict=True) if not cell]
    yield from (f"'{title}' is empty" for title in empty)
    if "shown by" not in empty:
        yield from shown_troubles(row, proof)


def repeated(rows: Iterable[Row]) -> Iterator[int]:
    """Yield the lines of rows that repeat the section and words of an earlier row."""
    seen: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        says = tuple(" ".join(cell.lower().split()) for cell in row.cells[1:3])
        seen[says] += 1
        if seen[says] > 1:
            yield row.line


def shown_troubles(row: Row, proof: ConformanceProof) -> Iterator[str]:
    """Yield what is wrong with a row's last cell: a quoted sentence, or the word for tests that name the row."""
    cell = row.cells[-1]
    if cell.startswith("page:"):
        if wrong := page_trouble(cell, proof.words):
            yield wrong
    elif cell != TESTS:
        yield f"'{cell}' is neither {TESTS} nor page: \"a sentence\""
    elif row.cells[0] not in proof.named:
        yield f"no test names it: write '# Conformance: {row.cells[0]}' above the test that shows it"


def page_trouble(cell: str, words: str) -> str | None:
    """Return what is wrong with a quoted sentence: it must be on one of our pages, word for word."""
    quoted = _PAGE.fullmatch(cell)
    if quoted is None:
        return 'a page is quoted as: page: "the sentence"'
    quote = _words(quoted["quote"])
    if len(quote.split()) < QUOTE_WORDS_MIN:
        return f"'{quote}' is too short to be a sentence of ours"
    return None if quote in words else f"no page contains '{quote}'"


def _words(text: str) -> str:
    return " ".join(text.split())


def _shape(header: Iterable[str]) -> str:
    return "| " + " | ".join(header) + " |"
