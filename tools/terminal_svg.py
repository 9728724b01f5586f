"""What a terminal shows after a program wrote to it, as plain text and as an SVG picture.

Knows what custody writes: text, line ends, colors, links, and the progress line that erases itself. Anything else is
an error, so that a picture never hides a character.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from custody.terminal.screen import letter_columns, text_columns

PALETTE = (
    *("#1c1f24", "#f26d6d", "#7ec66b", "#e0b252", "#6aa6f2", "#cf8df0", "#56c2c8", "#d5d9e0"),
    *("#6b7280", "#ff8f8f", "#9be08a", "#f5cd74", "#8fc0ff", "#e2adff", "#7fe0e6", "#ffffff"),
)
"""The 16 colors of ANSI, by number."""
BACKGROUND, FOREGROUND = "#16181d", "#d5d9e0"
LETTER_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 19, 14
_PART = re.compile(r"\x1b\[([0-9;]*)m|(\x1b\[K)|\x1b\]8;[^\x1b]*\x1b\\|(\r?\n)|(\r)|([^\x1b\r\n])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CellStyle:
    """How a character is drawn; ``color`` is a number of the palette."""

    color: int | None = None
    is_bold: bool = False
    is_dim: bool = False


PLAIN = CellStyle()
Cell = tuple[str, CellStyle]
CellLine = Sequence[Cell]


def read_screen(output: str, columns: int) -> list[CellLine]:
    """Return the lines that a terminal of ``columns`` shows; it breaks longer lines, as terminals do.

    >>> [line_text(line) for line in read_screen("3 of 9\\r\\x1b[Kdone, \\x1b[32mall\\x1b[0m good\\r\\n", 10)]
    ['done, all', 'good']
    """
    screen, end = _Screen(columns), 0
    for part in _PART.finditer(output):
        if part.start() == end:
            screen.write(part)
            end = part.end()
    if end != len(output):
        raise ValueError(f"a terminal sequence that is not known: {output[end : end + 12]!r}")
    while screen.lines and not line_text(screen.lines[-1]):
        screen.lines.pop()
    return [*screen.lines]


class _Screen:
    """The lines of a terminal, its cursor and the style of what comes next."""

    def __init__(self, columns: int) -> None:
        self.lines: list[list[Cell]] = [[]]
        self._columns, self._at, self._style = columns, 0, PLAIN

    def write(self, part: re.Match[str]) -> None:
        """Show one character, or obey one sequence; links are not shown."""
        codes, erase, line_end, carriage_return, letter = part.groups()
        if codes is not None:
            self._style = _apply_codes(self._style, codes)
        elif erase:
            del self.lines[-1][self._at :]
        elif line_end:
            self._break_line()
        elif carriage_return:
            self._at = 0
        elif letter:
            self._put(letter)

    def _put(self, letter: str) -> None:
        if (
            text_columns("".join(cell for cell, _ in self.lines[-1][: self._at])) + letter_columns(letter)
            > self._columns
        ):
            self._break_line()
        self.lines[-1][self._at : self._at + 1] = [(letter, self._style)]
        self._at += 1

    def _break_line(self) -> None:
        self.lines.append([])
        self._at = 0


def line_text(line: CellLine) -> str:
    """Return a line without its styles."""
    return "".join(letter for letter, _ in line).rstrip()


def _apply_codes(style: CellStyle, codes: str) -> CellStyle:
    for code in map(int, (codes or "0").split(";")):
        if code == 0:
            style = PLAIN
        elif code == 1:
            style = replace(style, is_bold=True)
        elif code == 2:
            style = replace(style, is_dim=True)
        elif 30 <= code <= 37:
            style = replace(style, color=code - 30)
        elif 90 <= code <= 97:
            style = replace(style, color=code - 90 + 8)
        else:
            raise ValueError(f"a terminal style that is not known: {code}")
    return style


def draw_svg(lines: Sequence[CellLine], columns: int, title: str) -> str:
    """Return the picture of a terminal with ``lines``; every piece starts at its column, whatever the font."""
    width = round(columns * LETTER_WIDTH + 2 * MARGIN)
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    rows = "".join(f"{row}\n" for number, line in enumerate(lines) for row in _draw_line(line, number))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' role="img" aria-label={quoteattr(title)}>\n'
        "<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        f"fill:{FOREGROUND};white-space:pre}}.b{{font-weight:bold}}.d{{opacity:.6}}</style>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>\n'
        f"{rows}</svg>\n"
    )


def _draw_line(line: CellLine, number: int) -> Iterator[str]:
    column, y = 0, MARGIN + number * LINE_HEIGHT + LINE_HEIGHT - 5
    for style, cells in groupby(line, key=lambda cell: cell[1]):
        text = "".join(letter for letter, _ in cells)
        wide = text_columns(text)
        if text.strip():
            x, length = MARGIN + column * LETTER_WIDTH, wide * LETTER_WIDTH
            yield f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}"{_style_attributes(style)}>{escape(text)}</text>'
        column += wide


def _style_attributes(style: CellStyle) -> str:
    classes = " ".join(name for name, is_on in (("b", style.is_bold), ("d", style.is_dim)) if is_on)
    color = "" if style.color is None else f' style="fill:{PALETTE[style.color]}"'
    return (f' class="{classes}"' if classes else "") + color
