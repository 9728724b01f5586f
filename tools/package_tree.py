"""The tree of packages in ARCHITECTURE.md: every package by layer, with the first line of its docstring."""

import ast
import configparser
from collections.abc import Iterator
from pathlib import Path

from tools.problems import Problem, Undocumented

PAGE = "ARCHITECTURE.md"
BEGIN = "<!-- tree: generated from .importlinter and the docstrings by make docs -->\n"
END = "<!-- end of tree -->\n"
STALE = "the tree is outdated; run: make docs"
UNMARKED = f"has no tree between '{BEGIN.strip()}' and '{END.strip()}'"


def check(root: Path) -> list[Problem]:
    """Return what is wrong with the tree on the page, if the page exists."""
    page = root / PAGE
    if not page.is_file():
        return []
    text = page.read_text("utf-8")
    try:
        wanted = with_tree(text, root)
    except Undocumented as error:
        return [Problem(PAGE, 0, str(error))]
    return [] if text == wanted else [Problem(PAGE, 0, STALE)]


def write(root: Path) -> list[Problem]:
    """Update the tree on the page, if the page exists; return what was outdated."""
    problems = check(root)
    if problems:
        page = root / PAGE
        page.write_text(with_tree(page.read_text("utf-8"), root), "utf-8")
    return problems


def with_tree(text: str, root: Path) -> str:
    """``text`` with the present tree between its markers; raises ``Undocumented`` without markers or a docstring."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise Undocumented(UNMARKED)
    rows = [
        f"{name if is_first else '· ' + name:<16}{first_line(root / 'src' / 'custody', name)}"
        for layer in layers(root)
        for is_first, name in zip((True, *[False] * len(layer)), layer, strict=False)
    ]
    return f"{before}{BEGIN}```text\n" + "\n".join(rows) + f"\n```\n{END}{after}"


def layers(root: Path) -> Iterator[list[str]]:
    """Yield the packages of each layer, the highest layer first."""
    contracts = configparser.ConfigParser()
    contracts.read(root / ".importlinter", "utf-8")
    for row in contracts["importlinter:contract:layers"]["layers"].split("\n"):
        if names := row.replace("|", " ").split():
            yield names


def first_line(source: Path, name: str) -> str:
    """Return the first line of a package's or module's docstring."""
    file = source / name / "__init__.py" if (source / name).is_dir() else source / f"{name}.py"
    docstring = ast.get_docstring(ast.parse(file.read_bytes())) if file.is_file() else None
    if not docstring:
        raise Undocumented(f"'{name}' has no docstring")
    return docstring.partition("\n")[0]
