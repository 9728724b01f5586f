"""What a terminal can show, and text laid out for it: styles, widths, tables, links.

Renderers build lines of pieces; a piece is a plain text or a ``StyledText``. Control characters of a piece never reach
the terminal, whatever a record holds.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, TextIO

from msgspec import Struct

Role = Literal["agent", "person", "unknown", "ok", "warn", "bad", "muted", "strong"]
ColorChoice = Literal["auto", "always", "never"]

_CODES: Mapping[Role, str] = {
    "agent": "35",
    "person": "1",
    "unknown": "2",
    "ok": "32",
    "warn": "33",
    "bad": "31",
    "muted": "2",
    "strong": "1",
}
WIDE_COLUMNS_MIN = 100
"""From this width on, facts are in columns; below it, they are above their block."""
NARROW_COLUMNS_MIN = 20
WRAP_INDENT = 2
"""How far the rest of a wrapped line is moved to the right."""
UNKNOWN_COLUMNS = 120
"""The width of a layout that is not shown on a terminal; nothing is cut there."""


class StyledText(Struct, frozen=True):
    """A text with a meaning that a terminal may show, and where it leads."""

    text: str
    role: Role | None = None
    url: str | None = None


Piece = str | StyledText
TextLine = str | StyledText | Sequence[Piece]
"""A line of output: one piece, or several beside each other."""


class Screen(Struct, frozen=True):
    """Where an answer is shown: ``columns`` and ``rows`` of a terminal, and what it understands."""

    columns: int = UNKNOWN_COLUMNS
    rows: int = 0
    is_terminal: bool = False
    has_color: bool = False
    has_links: bool = False
    has_unicode: bool = True
    folder: str | None = None
    """The work tree, where paths lead on a terminal with links."""

    @property
    def is_wide(self) -> bool:
        """Whether facts can stand in columns beside the code."""
        return self.columns >= WIDE_COLUMNS_MIN

    def render(self, line: TextLine) -> str:
        """Return a line as this screen shows it, without control characters of its pieces."""
        pieces = (line,) if isinstance(line, str | StyledText) else line
        if not (self.has_color or self.has_links):  # controls are escaped one by one, so all pieces at once
            text = "".join([piece if isinstance(piece, str) else piece.text for piece in pieces])
            return escape_controls(text).rstrip()
        return "".join(self._render_piece(piece) for piece in pieces).rstrip()

    def wrap(self, line: TextLine) -> list[TextLine]:
        """Return a line of prose in lines that fit on a terminal; a line of several pieces is laid out already."""
        pieces = (line,) if isinstance(line, str | StyledText) else line
        if not self.is_terminal or len(pieces) != 1:
            return [line]
        piece = pieces[0] if isinstance(pieces[0], StyledText) else StyledText(pieces[0])
        text = escape_controls(piece.text).rstrip()
        if text_columns(text) <= self.columns:
            return [line]
        indent = " " * (len(text) - len(text.lstrip()))
        first, *rest = wrap_text(text.lstrip(), self.columns - len(indent) - WRAP_INDENT)
        return [
            StyledText(f"{before}{part}", piece.role, piece.url)
            for before, part in [(indent, first), *((f"{indent}{' ' * WRAP_INDENT}", part) for part in rest)]
        ]

    def link_file(self, text: str, path: str, role: Role | None = None) -> StyledText:
        """Return ``text`` as a link to the file ``path`` of the work tree, where there is one."""
        if self.folder is None:
            return StyledText(text, role)
        from urllib.parse import quote  # only for a terminal

        return StyledText(text, role, f"file://{quote(f'{self.folder}/{path}', errors='surrogateescape')}")

    def cut(self, text: str, columns: int) -> str:
        """Return as much of ``text`` as fits; everything where the output is not a terminal."""
        if not self.is_terminal:
            return text
        text = escape_controls(text)  # an escape is wider than the character that it stands for
        if text_columns(text) <= columns:
            return text
        mark = "…" if self.has_unicode else "..."
        taken, room = [], columns - len(mark)
        for letter in text:
            room -= letter_columns(letter)
            if room < 0:
                break
            taken.append(letter)
        return "".join(taken).rstrip() + mark if columns > len(mark) else mark[:columns]

    def cut_start(self, text: str, columns: int) -> str:
        """Return as much of the end of ``text`` as fits: of a place, the name of its file and its lines."""
        if not self.is_terminal or text_columns(escape_controls(text)) <= columns:
            return text if not self.is_terminal else escape_controls(text)
        mark = "…" if self.has_unicode else "..."
        taken, room = [], columns - len(mark)
        for letter in reversed(escape_controls(text)):
            room -= letter_columns(letter)
            if room < 0:
                break
            taken.append(letter)
        return mark[: max(columns, 0)] + "".join(reversed(taken))

    def _render_piece(self, piece: Piece) -> str:
        if isinstance(piece, str):
            return escape_controls(piece)
        text = escape_controls(piece.text)
        if piece.role is not None and self.has_color and text:
            text = f"\x1b[{_CODES[piece.role]}m{text}\x1b[0m"
        if piece.url is not None and self.has_links:
            text = f"\x1b]8;;{escape_controls(piece.url)}\x1b\\{text}\x1b]8;;\x1b\\"
        return text


def detect_screen(
    stream: TextIO | None = None, environment: Mapping[str, str] = os.environ, color: ColorChoice = "auto"
) -> Screen:
    """Return what ``stream`` can show (standard output without one).

    ``NO_COLOR`` and a dumb terminal turn color off, ``FORCE_COLOR`` turns it on; ``color`` is stronger than all.
    """
    out = sys.stdout if stream is None else stream
    is_terminal = out.isatty()
    is_dumb = environment.get("TERM", "") == "dumb"
    size = os.terminal_size((UNKNOWN_COLUMNS, 0))
    if is_terminal:
        import shutil  # slow to load

        size = shutil.get_terminal_size((80, 24))
    encoding = (getattr(out, "encoding", None) or "ascii").lower().replace("-", "")
    return Screen(
        columns=max(size.columns, NARROW_COLUMNS_MIN),
        rows=size.lines,
        is_terminal=is_terminal,
        has_color=wants_color(color, environment, is_terminal=is_terminal and not is_dumb),
        has_links=is_terminal and not is_dumb and color != "never" and not environment.get("NO_COLOR"),
        has_unicode=encoding.startswith("utf") and not is_plain_locale(environment),
    )


def is_plain_locale(environment: Mapping[str, str]) -> bool:
    """Return whether the user chose the locale without characters beyond ASCII, which Python replaces by UTF-8.

    >>> is_plain_locale({"LC_ALL": "C", "LANG": "en_US.UTF-8"}), is_plain_locale({"LC_ALL": "", "LANG": "POSIX"})
    (True, True)
    >>> is_plain_locale({}), is_plain_locale({"LC_ALL": "C.UTF-8"})
    (False, False)

    For ``LANG=C`` Python sets ``LC_CTYPE`` of its own process.

    >>> is_plain_locale({"LANG": "C", "LC_CTYPE": "C.UTF-8"}), is_plain_locale({"LC_CTYPE": "C.UTF-8"})
    (True, False)
    """
    if environment.get("LC_CTYPE") == "C.UTF-8" and not environment.get("LC_ALL"):
        return environment.get("LANG") in ("C", "POSIX")
    chosen = next((value for name in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environment.get(name))), "")
    return chosen in ("C", "POSIX")


def wants_color(color: ColorChoice, environment: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Return whether to use color.

    >>> wants_color("auto", {}, is_terminal=True), wants_color("auto", {"NO_COLOR": "1"}, is_terminal=True)
    (True, False)
    >>> wants_color("always", {"NO_COLOR": "1"}, is_terminal=False), wants_color("auto", {}, is_terminal=False)
    (True, False)
    """
    if color != "auto":
        return color == "always"
    if environment.get("NO_COLOR"):
        return False
    return is_terminal or environment.get("FORCE_COLOR", "") not in ("", "0")


def escape_controls(text: str, allowed: str = "\t") -> str:
    """Return ``text`` with every character that a terminal might obey written out.

    >>> escape_controls("a\\x1b[31m\\u202e b")
    'a\\\\x1b[31m\\\\u202e b'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if letter.isprintable() or letter in allowed else ascii(letter)[1:-1] for letter in text)


def letter_columns(letter: str) -> int:
    """Return how many columns a terminal uses for a character: 0, 1 or 2."""
    if letter.isascii():
        return 1
    from unicodedata import combining, east_asian_width  # only for text that needs it

    if combining(letter):
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def text_columns(text: str) -> int:
    """Return how many columns a terminal uses for ``text``.

    >>> text_columns("abc"), text_columns("日本"), text_columns("e\\u0301")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(letter_columns, text))


def wrap_text(text: str, columns: int) -> list[str]:
    """Return ``text`` in lines of at most ``columns``; a longer word has a line of its own.

    >>> wrap_text("to be or not to be", 9)
    ['to be or', 'not to be']
    >>> wrap_text("日本 日本", 5)
    ['日本', '日本']
    """
    lines, line, used = [], "", 0
    for word in re.findall(" *[^ ]+", re.sub(r"\s", " ", text.expandtabs())):
        width = text_columns(word)
        if line and used + width > columns:
            lines.append(line)
            word = word.lstrip()
            line, used = word, text_columns(word)
        else:
            line, used = line + word, used + width
    return [*lines, line]


def table_lines(
    rows: Sequence[Sequence[Piece]], screen: Screen, *, header: Sequence[str] = (), right: Iterable[int] = ()
) -> Iterator[TextLine]:
    """Yield the rows of a table with aligned columns; numbers of ``right`` columns end below each other.

    The last column is cut where the terminal ends. Rows may be shorter than the header.
    """
    to_right = frozenset(right)
    lines: list[Sequence[Piece]] = [*([tuple(StyledText(title, "muted") for title in header)] if header else ()), *rows]
    count = max((len(line) for line in lines), default=0)
    widths = [max((text_columns(_cell_text(line, at)) for line in lines), default=0) for at in range(count)]
    for line in lines:
        pieces: list[Piece] = []
        used = 0
        for at, cell in enumerate(line):
            text, is_last = _cell_text(line, at), at == len(line) - 1
            if is_last and screen.is_terminal and used + text_columns(text) > screen.columns:
                text = screen.cut(text, max(screen.columns - used, 1))
                cell = text if isinstance(cell, str) else StyledText(text, cell.role, cell.url)
            spaces = " " * (widths[at] - text_columns(text))
            ordered = (spaces, cell) if at in to_right else (cell, spaces)
            pieces += ordered if is_last else (*ordered, "  ")
            used += widths[at] + 2
        yield pieces


def _cell_text(line: Sequence[Piece], at: int) -> str:
    if at >= len(line):
        return ""
    cell = line[at]
    return escape_controls(cell if isinstance(cell, str) else cell.text)
