"""The terminal captures of the documents show what the program prints today."""

import re
from collections.abc import Iterator
from html import unescape
from itertools import groupby
from pathlib import Path

import pytest

from tools.captures import ALL_VERBS, IMAGES, PAGE, WIDTHS, Capture, render_page, take_captures
from tools.terminal_svg import LETTER_WIDTH, LINE_HEIGHT, MARGIN, draw_svg, line_text, read_screen

ROOT = Path(__file__).resolve().parents[2]
TEXT = re.compile(r'<text x="([\d.]+)" y="(\d+)"[^>]*>([^<]*)</text>')


@pytest.fixture(scope="module")
def captures() -> list[Capture]:
    """Run every captured verb again, without color."""
    return take_captures(colors=(False,))


def picture_lines(svg: str) -> list[str]:
    """Return the lines that a picture shows, each letter in its column."""
    lines: list[str] = []
    found = ((int(y), float(x), unescape(text)) for x, y, text in TEXT.findall(svg))
    for y, pieces in groupby(found, key=lambda piece: piece[0]):
        row = (y - MARGIN) // LINE_HEIGHT
        lines += [""] * (row - len(lines))
        line = ""
        for _, x, text in pieces:
            line = line.ljust(round((x - MARGIN) / LETTER_WIDTH)) + text
        lines.append(line.rstrip())
    return lines


def stored_pictures() -> Iterator[str]:
    return (path.name for path in (ROOT / IMAGES).iterdir())


def test_the_page_shows_what_the_program_prints(captures: list[Capture]) -> None:
    assert (ROOT / PAGE).read_text("utf-8") == render_page(captures), "run: make captures"


def test_a_picture_shows_the_text_of_the_page(captures: list[Capture]) -> None:
    assert len(captures) == len(ALL_VERBS) * len(WIDTHS)
    assert sorted(stored_pictures()) == sorted(capture.image for capture in captures)
    for capture in captures:
        picture = (ROOT / IMAGES / capture.image).read_text("utf-8")
        assert picture_lines(picture) == capture.text.splitlines(), f"{capture.image}: run: make captures"


def test_no_capture_names_this_machine(captures: list[Capture]) -> None:
    assert [capture.title for capture in captures if "custody-demo-" in capture.text] == []


def test_what_a_terminal_would_obey_becomes_text_of_the_picture() -> None:
    screen = read_screen('\x1b[35mA\x1b[0m <b> & "x"\r\n\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\\r\n', 80)
    svg = draw_svg(screen, 80, 'a "title" <b>')
    assert picture_lines(svg) == ['A <b> & "x"', "link"]
    assert "<b>" not in svg
    assert 'style="fill:#cf8df0">A</text>' in svg


def test_a_long_line_breaks_where_the_terminal_ends() -> None:
    assert [line_text(line) for line in read_screen("abcdef\n日本\n", 3)] == ["abc", "def", "日", "本"]


@pytest.mark.parametrize("output", ["\x1b[2J", "\x1b[48;5;1mx", "a\x1b7"])
def test_a_sequence_that_is_not_known_is_refused(output: str) -> None:
    with pytest.raises(ValueError, match="not known"):
        read_screen(output, 80)
