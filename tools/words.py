"""The check of words: finds banned words and shapes in everything that people read.

    python -m tools.words          print every finding
    python -m tools.words --count  print how many findings each folder has

``tools/words.toml`` lists the banned words and shapes, and the few exceptions.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tools.problems import Problem

LIST = "tools/words.toml"
PYTHON = ("src/custody/**/*.py", "tests/**/*.py", "bench/**/*.py", "tools/**/*.py", "action/*.py")
PAGES = (
    "*.md",
    "docs/**/*.md",
    "bench/**/*.md",
    "deploy/*.md",
    "src/custody/**/*.html",
    "web/src/**/*.ts",
    "web/src/**/*.css",
)
LEFT_OUT = ("CHANGELOG.md", "tests/golden/answers/*", "*/fixtures/*", "bench/redaction_*")
"""History is not rewritten, and samples are quotes."""
NOUN_OPENINGS = frozenset(
    "A All An Both Each Every How Its Nothing One Some The Two What Whether Which Who Whose".split()
)
"""First words of a docstring that says what a function is, not what it does."""
NOUN_DECORATORS = ("property", "fixture", "scenario")
"""What these decorate is used like a noun."""


@dataclass(frozen=True, slots=True)
class BannedShape:
    """A pattern that must not occur, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str


@dataclass(frozen=True, slots=True)
class AllowedUse:
    """A place where a banned shape is allowed."""

    path: str
    text: str

    def covers(self, path: str, line: str) -> bool:
        """Return whether this exception applies to this line of this file."""
        return fnmatchcase(path, self.path) and self.text in line


@dataclass(frozen=True, slots=True)
class WordList:
    """The banned shapes and the exceptions."""

    banned: tuple[BannedShape, ...]
    allowed: tuple[AllowedUse, ...]

    def problems(self, path: str, line: int, text: str) -> Iterator[Problem]:
        """Yield each banned shape in a line of text."""
        for shape in self.banned:
            found = shape.pattern.search(text)
            if found and not any(use.covers(path, text) for use in self.allowed):
                yield Problem(path, line, f"'{found[0].strip()}': write {shape.instead}")


def read_word_list(root: Path) -> WordList:
    """Read ``tools/words.toml``."""
    table = tomllib.loads((root / LIST).read_text("utf-8"))
    banned = (
        BannedShape(re.compile(row["pattern"], 0 if row.get("case") else re.IGNORECASE), row["instead"])
        for row in table["banned"]
    )
    return WordList(tuple(banned), tuple(AllowedUse(row["path"], row["text"]) for row in table["allowed"]))


def check(root: Path) -> list[Problem]:
    """Return every banned shape in what people read, by file and line."""
    words = read_word_list(root)
    problems: list[Problem] = []
    for patterns, lines_of in ((PYTHON, python_prose), (PAGES, page_prose)):
        for path in sorted({path for pattern in patterns for path in root.glob(pattern)}):
            name = path.relative_to(root).as_posix()
            if not any(fnmatchcase(name, left_out) for left_out in LEFT_OUT):
                source = path.read_text("utf-8")
                for line, text in lines_of(source):
                    problems += words.problems(name, line, text)
                if lines_of is python_prose:
                    problems += (
                        Problem(name, line, f"'{word}': start the docstring of a function with a verb")
                        for line, word in noun_openings(source)
                    )
    return sorted(set(problems))


def python_prose(source: str) -> Iterator[tuple[int, str]]:
    """Yield each line of the strings, docstrings, comments and names of tests of a Python file, with its number.

    >>> list(python_prose('x = f"{n} files"  # why\\n'))
    [(1, ' files'), (1, '# why')]
    >>> list(python_prose("def test_a_key_is_not_a_token(): ..."))
    [(1, 'a key is not a token')]
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.removeprefix("test_").replace("_", " ")
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for offset, text in enumerate(node.value.splitlines()):
                yield min(node.lineno + offset, node.end_lineno or node.lineno), text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def noun_openings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the first word of each docstring of a function that does not start with a verb, with its line.

    >>> list(noun_openings('def name():\\n    "The name."'))
    [(2, 'The')]
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("test_"):
            word = ((ast.get_docstring(node) or "").split() or [""])[0]
            used_as_noun = any(name in ast.unparse(item) for item in node.decorator_list for name in NOUN_DECORATORS)
            if word in NOUN_OPENINGS and not used_as_noun:
                yield node.body[0].lineno, word


def page_prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line of a page, with its number."""
    yield from enumerate(text.splitlines(), start=1)


def main() -> int:
    """Print every problem; 1 if there is any."""
    parser = argparse.ArgumentParser(
        description="Check the words of strings, docstrings, comments, names of tests and pages."
    )
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--count", action="store_true", help="print the number of findings per folder")
    parser.add_argument("paths", nargs="*", help="show only findings whose path begins with one of these")
    arguments = parser.parse_args()
    problems = [
        problem
        for problem in check(arguments.root)
        if not arguments.paths or problem.path.startswith(tuple(arguments.paths))
    ]
    if arguments.count:
        for folder, count in Counter("/".join(problem.path.split("/")[:3]) for problem in problems).most_common():
            print(f"{count:5} {folder}")
    else:
        for problem in problems:
            print(problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
