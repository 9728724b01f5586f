"""Reads Markdown with a real parser, and writes the Markdown of generated pages."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark")


def links(text: str) -> Iterator[tuple[int, str]]:
    """Return every link and image of a page with its line; code contains no links."""
    for block in _PARSER.parse(text):
        line = block.map[0] + 1 if block.map else 0
        for token in block.children or ():
            line += token.type in ("softbreak", "hardbreak")
            target = token.attrGet("href") or token.attrGet("src")
            if isinstance(target, str):
                yield line, target


def anchors(text: str) -> set[str]:
    """Return the valid anchors after ``#``: one anchor per heading, numbered where headings repeat."""
    found: set[str] = set()
    tokens = _PARSER.parse(text)
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            found.add(_unused(slug(_plain(inline)), found))
    return found


def slug(heading: str) -> str:
    """Return a heading's anchor as code hosts make it.

    >>> slug("The newcomer's two commands"), slug("`custody verify`")
    ('the-newcomers-two-commands', 'custody-verify')
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a table; a bar inside a cell is escaped, a line break becomes a space.

    >>> print(table(("a", "b"), [("1", "x | y")]), end="")
    | a | b |
    |---|---|
    | 1 | x \| y |
    """
    lines = [_row(header), "|" + "---|" * len(header), *map(_row, rows)]
    return "".join(f"{line}\n" for line in lines)


def text(words: str) -> str:
    """Format the words of a docstring, a comment or a help text: code in single ticks, tags escaped.

    >>> text("``lines`` of <file>")
    '`lines` of &lt;file>'
    """
    return words.replace("``", "`").replace("<", "&lt;")


def code(words: str) -> str:
    """Format words as code, even if they contain ticks.

    >>> code("a"), code("a`b")
    ('`a`', '`` a`b ``')
    """
    return f"`` {words} ``" if "`" in words else f"`{words}`"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in cells) + " |"


def _plain(inline: Token) -> str:
    return "".join(token.content for token in inline.children or () if token.type in ("text", "code_inline"))


def _unused(anchor: str, taken: set[str]) -> str:
    if anchor not in taken:
        return anchor
    return next(f"{anchor}-{n}" for n in range(1, len(taken) + 2) if f"{anchor}-{n}" not in taken)
