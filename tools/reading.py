"""A draw of texts for a reader who does not know custody: strings, docstrings, comments and paragraphs of pages.

    python -m tools.reading --seed 7 --count 200

Prints each text with its file and line. The same seed and the same tree give the same texts.
"""

import argparse
import ast
import io
import random
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path

from tools.words import LEFT_OUT, PAGES, PYTHON

WORDS_MIN = 4
"""A text with fewer words is a name or a label."""
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|FROM|WHERE|AND|JOIN|ORDER|PRAGMA)\b")
_PRAGMA = re.compile(r"#\s*(noqa|type:|ruff:|pragma:|mypy:)")
_CODE_BLOCK = re.compile(r"^(```|~~~).*?^\1|<!--.*?-->", re.DOTALL | re.MULTILINE)
_MARKUP = re.compile(
    r"<(script|style)\b.*?</\1>|\{%.*?%\}|\{#.*?#\}|</?(?!(?:b|code|em|i|kbd|strong)\b)\w[^>]*>", re.DOTALL
)
_WORD = re.compile(r"[(\"']?[a-zA-Z][a-z'-]*[.,:;)\"'!?]*")


@dataclass(frozen=True, slots=True, order=True)
class Text:
    """A text that a person reads, with its kind and the place where it starts."""

    path: str
    line: int
    kind: str
    words: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.kind})\n    {self.words}"


def list_texts(root: Path) -> list[Text]:
    """Return every text of the tree, by file and line."""
    texts: set[Text] = set()
    for patterns in (PYTHON, PAGES):
        for path in {path for pattern in patterns for path in root.glob(pattern)}:
            name = path.relative_to(root).as_posix()
            if path.suffix in (".py", ".md", ".html") and not any(fnmatchcase(name, out) for out in LEFT_OUT):
                read = read_python if path.suffix == ".py" else read_page
                found = ((line, kind, " ".join(words.split())) for line, kind, words in read(path.read_text("utf-8")))
                texts |= {Text(name, *text) for text in found if is_prose(text[2])}
    return sorted(texts)


def is_prose(text: str) -> bool:
    """Return whether a text reads as a sentence: several words, and more words than code.

    >>> is_prose("no session touched this file"), is_prose("| `text` | string or null | yes | |")
    (True, False)
    """
    parts = text.split()
    words = sum(1 for part in parts if _WORD.fullmatch(part))
    return words >= WORDS_MIN and 2 * words > len(parts)


def read_python(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, kind and words of the docstrings, strings and comments of a Python file.

    >>> list(read_python('x = f"{n} files"  # why\\n'))
    [(1, 'string', '{n} files'), (1, 'comment', 'why')]
    """
    yield from _strings(ast.parse(source))
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT and not _PRAGMA.match(token.string)]
    # Comments on consecutive lines at the same column are one text.
    for _, block in groupby(enumerate(comments), key=lambda pair: (pair[1].start[0] - pair[0], pair[1].start[1])):
        lines = [comment for _, comment in block]
        yield lines[0].start[0], "comment", " ".join(comment.string.lstrip("#: ") for comment in lines)


def _strings(node: ast.AST) -> Iterator[tuple[int, str, str]]:
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for place, child in enumerate(children):
            match child:
                case ast.Expr(value=ast.Constant(value=str() as text)):
                    described = field == "body" and (place or isinstance(node, DOCUMENTED))
                    yield child.lineno, "docstring" if described else "string", text
                case ast.Constant(value=str() as text) if not _SQL.match(text):
                    yield child.lineno, "string", text
                case ast.JoinedStr() if not _SQL.match(_template(child)):
                    yield child.lineno, "string", _template(child)
                case ast.AST():
                    yield from _strings(child)
                case _:
                    pass


def _template(node: ast.JoinedStr) -> str:
    return "".join(
        f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else str(getattr(part, "value", ""))
        for part in node.values
    )


def read_page(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, kind and words of each paragraph, list item and table row of a page, without its code blocks.

    >>> list(read_page("# A\\n\\nOne\\nline.\\n- two\\n"))
    [(1, 'page', '# A'), (3, 'page', 'One line.'), (5, 'page', '- two')]
    """
    for pattern in (_CODE_BLOCK, _MARKUP):
        text = pattern.sub(lambda match: "\n" * match[0].count("\n"), text)
    paragraph: list[str] = []
    for line, words in enumerate([*text.splitlines(), ""], start=1):
        if paragraph and (not words.strip() or re.match(r"\s*([-*|#]|\d+\.) ?", words)):
            yield line - len(paragraph), "page", " ".join(paragraph)
            paragraph = []
        if words.strip():
            paragraph.append(words.strip())


def main() -> int:
    """Print the drawn texts."""
    parser = argparse.ArgumentParser(description="Draw texts that people read, for a reading by fresh eyes.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    arguments = parser.parse_args()
    texts = list_texts(arguments.root)
    for text in random.Random(arguments.seed).sample(texts, min(arguments.count, len(texts))):
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
