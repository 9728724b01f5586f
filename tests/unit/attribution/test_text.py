"""Which lines are the same line, and which say enough to lead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.attribution.text import bare, is_informative, key_of, keys_of, lines_of, split_line_words, text_of
from tests.builders.table import table


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\r\nb\n", ["a", "b"]),
        ("a\rb\n", ["a\rb"]),
        ("a\u2028b\x0cc\n", ["a\u2028b\x0cc"]),
    ],
)
def test_only_a_line_feed_ends_a_line_and_the_last_one_begins_none(text: str, lines: list[str]) -> None:
    assert lines_of(text) == lines


@given(st.binary(max_size=200))
def test_any_bytes_become_text_and_back(data: bytes) -> None:
    assert text_of(data).encode("utf-8", "surrogateescape") == data


def test_white_space_never_makes_another_line() -> None:
    assert key_of("total = price * 3") == key_of("\ttotal=price *  3  ")
    assert key_of("total = price * 3") != key_of("total = price * 4")
    assert bare(" a\tb\x0c ") == "ab"


def test_a_key_fits_a_column_of_64_bits_and_is_the_same_everywhere() -> None:
    assert keys_of(["", "return total"]) == [-1970711489451281740, key_of("returntotal")]
    assert all(-(2**63) <= key_of(f"line {n}") < 2**63 for n in range(100))


def test_bytes_that_are_no_text_have_a_key_too() -> None:
    assert key_of(text_of(b"caf\xe9 = 1")) != key_of(text_of(b"caf\xea = 1"))


def test_quotes_and_marks_are_no_words() -> None:
    assert split_line_words("print('a', b)") == split_line_words('print("a", b,)') == ("print", "a", "b")


@table(
    "line", ["", "   ", "}", "});", "else:", "return None", "    pass", "import os", "end", "try:", "a = 1", "# ---"]
)
def test_lines_that_any_file_may_have_say_little(line: str) -> None:
    assert not is_informative(line)


@pytest.mark.parametrize("line", ["    return total", "import custody", "abc123", "x = compute()"])
def test_a_line_with_a_word_of_its_own_says_something(line: str) -> None:
    assert is_informative(line)


def test_six_letters_or_digits_are_enough() -> None:
    assert (is_informative("abcde"), is_informative("abcdef"), is_informative("ab cd ef")) == (False, True, True)
