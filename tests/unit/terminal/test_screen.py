"""Lines are shown as the terminal can: styled, aligned, cut, and never with control characters of their text."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.terminal.screen import Screen, StyledText, detect_screen, escape_controls, table_lines, text_columns

COLOR = Screen(columns=80, rows=24, is_terminal=True, has_color=True, has_links=True)
PLAIN = Screen(columns=80, rows=24, is_terminal=True)
PIPE = Screen()


class FakeTerminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def rendered(screen: Screen, rows: list[list[str | StyledText]], **options: object) -> list[str]:
    return [screen.render(line) for line in table_lines(rows, screen, **options)]  # type: ignore[arg-type]


def test_a_style_is_shown_only_in_color() -> None:
    line = ("by ", StyledText("claude-code", "agent"), " today")
    assert COLOR.render(line) == "by \x1b[35mclaude-code\x1b[0m today"
    assert PLAIN.render(line) == "by claude-code today"


def test_a_link_is_shown_only_where_links_are_understood() -> None:
    line = StyledText("S1", url="https://example.invalid/a")
    assert COLOR.render(line) == "\x1b]8;;https://example.invalid/a\x1b\\S1\x1b]8;;\x1b\\"
    assert PIPE.render(line) == "S1"


@given(st.text(), st.sampled_from(["agent", "bad", None]), st.text())
def test_a_text_cannot_bring_control_characters(text: str, role: str | None, url: str) -> None:
    shown = COLOR.render(StyledText(text, role, url))  # type: ignore[arg-type]
    for own in ("\x1b[35m", "\x1b[31m", "\x1b[0m", "\x1b]8;;", "\x1b\\"):
        shown = shown.replace(own, "")
    assert all(letter.isprintable() or letter == "\t" for letter in shown)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])), st.integers(1, 40))
def test_what_is_cut_fits_and_begins_as_the_text_does(text: str, columns: int) -> None:
    cut, shown = PLAIN.cut(text, columns), escape_controls(text)
    assert text_columns(cut) <= columns
    assert cut == shown or shown.startswith(cut.removesuffix("…"))
    assert PIPE.cut(text, columns) == text, "nothing is cut where no terminal shows it"


@given(st.text(), st.integers(0, 40))
def test_a_place_that_is_cut_ends_as_it_did(text: str, columns: int) -> None:
    cut, shown = PLAIN.cut_start(text, columns), escape_controls(text)
    assert text_columns(cut) <= columns
    assert cut == shown or shown.endswith(cut.removeprefix("…"))
    assert PIPE.cut_start(text, columns) == text, "nothing is cut where no terminal shows it"


def test_a_file_is_a_link_only_where_its_folder_is_known() -> None:
    there = Screen(is_terminal=True, has_links=True, folder="/home/ana/my shop")
    shown = there.render(there.link_file("prices.py:12", "src/prices.py"))
    assert shown == "\x1b]8;;file:///home/ana/my%20shop/src/prices.py\x1b\\prices.py:12\x1b]8;;\x1b\\"
    assert there.link_file("a", "\udcff\n").url == "file:///home/ana/my%20shop/%FF%0A"
    assert COLOR.link_file("prices.py:12", "src/prices.py") == StyledText("prices.py:12")


def test_columns_are_aligned_also_with_wide_characters() -> None:
    rows: list[list[str | StyledText]] = [["日本", "1"], ["abc", "12,345"]]
    assert rendered(PLAIN, rows, header=("NAME", "LINES"), right=(1,)) == [
        "NAME   LINES",
        "日本       1",
        "abc   12,345",
    ]


def test_the_last_column_ends_with_the_terminal() -> None:
    narrow = Screen(columns=20, rows=24, is_terminal=True)
    (line,) = rendered(narrow, [["2f6c81d0", "Support must be able to refund"]])
    assert line == "2f6c81d0  Support m…"
    assert rendered(PIPE, [["2f6c81d0", "Support must be able to refund"]])[0].endswith("to refund")


def test_escaped_characters_count_as_wide_as_they_are_shown() -> None:
    narrow = Screen(columns=20, rows=24, is_terminal=True)
    rows: list[list[str | StyledText]] = [["a\x1b", "b" * 30], ["abcd", "c"]]
    first, second = rendered(narrow, rows)
    assert (first, second) == ("a\\x1b  bbbbbbbbbbbb…", "abcd   c")
    assert text_columns(first) == 20


@pytest.mark.parametrize(
    ("environment", "color", "expected"),
    [
        ({}, "auto", True),
        ({"NO_COLOR": "1"}, "auto", False),
        ({"NO_COLOR": ""}, "auto", True),
        ({"TERM": "dumb"}, "auto", False),
        ({"NO_COLOR": "1"}, "always", True),
        ({}, "never", False),
    ],
)
def test_color_follows_the_user(environment: dict[str, str], color: str, expected: bool) -> None:
    assert detect_screen(FakeTerminal(), environment, color).has_color is expected  # type: ignore[arg-type]


def test_a_pipe_has_neither_color_nor_links_and_keeps_everything() -> None:
    screen = detect_screen(io.StringIO(), {"TERM": "xterm"})
    assert (screen.is_terminal, screen.has_color, screen.has_links) == (False, False, False)
    assert detect_screen(io.StringIO(), {"FORCE_COLOR": "1"}).has_color


def test_a_terminal_without_unicode_gets_dots() -> None:
    assert Screen(is_terminal=True, has_unicode=False).cut("abcdefgh", 6) == "abc..."


def test_printable_text_is_left_alone() -> None:
    assert escape_controls("naïve — 日本\tx") == "naïve — 日本\tx"


@given(st.lists(st.text("ab日", min_size=1, max_size=12), min_size=1), st.integers(0, 6), st.integers(20, 60))
def test_prose_is_wrapped_between_words_and_keeps_every_word(words: list[str], indent: int, columns: int) -> None:
    line = " " * indent + " ".join(words)
    parts = [str(part.text if isinstance(part, StyledText) else part) for part in terminal(columns).wrap(line)]
    assert " ".join(parts).split() == words
    assert all(part.startswith(" " * indent) for part in parts)
    assert [part for part in parts if text_columns(part) > columns and " " in part.strip()] == []


def test_a_wrapped_line_keeps_its_style_and_is_moved_to_the_right() -> None:
    hint = StyledText("hint: run 'custody log'", "muted", "https://example.org")
    first, second = terminal(20).wrap(hint)
    assert first == StyledText("hint: run 'custody", "muted", "https://example.org")
    assert second == StyledText("  log'", "muted", "https://example.org")


def test_only_prose_on_a_terminal_is_wrapped() -> None:
    code = ["10  ", "x = [" + "1, " * 40]
    assert terminal(20).wrap(code) == [code]
    assert Screen(columns=20).wrap("word " * 20) == ["word " * 20]
    assert terminal(20).wrap("short") == ["short"]


def terminal(columns: int) -> Screen:
    return Screen(columns=columns, is_terminal=True)


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_a_locale_without_other_characters_shows_none(locale: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")  # what Python opens for this locale
    assert detect_screen(stream, {"LC_ALL": "en_US.UTF-8"}).has_unicode
    screen = detect_screen(stream, {"LC_ALL": locale, "LANG": "en_US.UTF-8"})
    assert not screen.has_unicode
    assert not detect_screen(stream, {"LANG": locale, "LC_CTYPE": "C.UTF-8"}).has_unicode, "as Python leaves LANG=C"
