"""Syntax color: the style of each part of a line, by pygments, which is imported when code is colored.

Six styles: keyword, text, number, type, name of what is declared, comment.
"""

from functools import cache
from typing import Any

from msgspec import Struct

CHARACTERS_MAX = 60_000
"""Maximum characters that are colored at once: pygments reads about 300,000 a second."""
LINE_CHARACTERS_MAX = 2_000
"""A file with a longer line is made by a program, and stays plain."""


class CodePart(Struct, frozen=True):
    """Adjacent characters of one style; an empty ``style`` is plain."""

    style: str
    text: str


CodeLine = tuple[CodePart, ...]


def color_code_lines(path: str, lines: list[str]) -> list[CodeLine]:
    r"""Return each line in parts; plain if the language is unknown, or the text too long.

    >>> color_code_lines("a.py", ["if x:", "    return 1"])[1][1]
    CodePart(style='k', text='return ')
    >>> color_code_lines("a.unknown", ["if x:"])
    [(CodePart(style='', text='if x:'),)]
    """
    lexer = _find_lexer(path.rpartition("/")[2])
    size = sum(map(len, lines)) + len(lines)
    if lexer is None or size > CHARACTERS_MAX or max(map(len, lines), default=0) > LINE_CHARACTERS_MAX:
        return [_plain(line) for line in lines]
    colored = _split_tokens(lexer, "\n".join(lines))
    if len(colored) != len(lines):
        return [_plain(line) for line in lines]
    return [
        parts if "".join(part.text for part in parts) == line else _plain(line)
        for parts, line in zip(colored, lines, strict=True)
    ]


def _plain(line: str) -> CodeLine:
    return (CodePart("", line),)


@cache
def _find_lexer(name: str) -> Any:
    """Return the lexer for a file name; None for an unknown language."""
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(name)
    return None if found is None else found(stripnl=False, ensurenl=False)


def _split_tokens(lexer: Any, text: str) -> list[CodeLine]:
    lines: list[CodeLine] = []
    parts: list[tuple[str, list[str]]] = []
    for _, token, value in lexer.get_tokens_unprocessed(text):
        style = _find_style(token)
        for at, piece in enumerate(value.split("\n")):
            if at:
                lines.append(_join_parts(parts))
                parts = []
            if not piece:
                continue
            if parts and (parts[-1][0] == style or piece.isspace()):
                parts[-1][1].append(piece)
            else:
                parts.append((style, [piece]))
    lines.append(_join_parts(parts))
    return lines


def _join_parts(parts: list[tuple[str, list[str]]]) -> CodeLine:
    return tuple(CodePart(style, "".join(pieces)) for style, pieces in parts)


@cache
def _find_style(token: Any) -> str:
    """Return the style of a token: that of the first type of the table that contains it."""
    from pygments.token import Token

    styles = (
        (Token.Comment, "c"),
        (Token.Literal.String, "s"),
        (Token.Literal.Number, "m"),
        (Token.Keyword.Constant, "m"),
        (Token.Keyword.Type, "ty"),
        (Token.Keyword, "k"),
        (Token.Operator.Word, "k"),
        (Token.Name.Function, "f"),
        (Token.Name.Class, "f"),
        (Token.Name.Decorator, "ty"),
        (Token.Name.Builtin, "ty"),
        (Token.Name.Exception, "ty"),
        (Token.Name.Tag, "k"),
        (Token.Generic.Heading, "f"),
        (Token.Generic.Subheading, "f"),
        (Token.Generic.Strong, "f"),
    )
    return next((style for kind, style in styles if token in kind), "")
