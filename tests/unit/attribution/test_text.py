"""Which lines have the same key, and which are informative."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.attribution.text import (
    decode_lineage_text,
    is_informative_lineage_line,
    make_lineage_key,
    make_lineage_keys,
    split_lineage_lines,
    split_lineage_words,
    strip_lineage_whitespace,
)
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
def test_only_a_line_feed_ends_a_line_and_a_final_one_begins_no_other(text: str, lines: list[str]) -> None:
    assert split_lineage_lines(text) == lines


@given(st.binary(max_size=200))
def test_any_bytes_become_text_and_back(data: bytes) -> None:
    assert decode_lineage_text(data).encode("utf-8", "surrogateescape") == data


def test_white_space_does_not_change_the_key() -> None:
    assert make_lineage_key("total = price * 3") == make_lineage_key("\ttotal=price *  3  ")
    assert make_lineage_key("total = price * 3") != make_lineage_key("total = price * 4")
    assert strip_lineage_whitespace(" a\tb\x0c ") == "ab"


def test_a_key_fits_a_column_of_64_bits_and_is_the_same_everywhere() -> None:
    assert make_lineage_keys(["", "return total"]) == [-1970711489451281740, make_lineage_key("returntotal")]
    assert all(-(2**63) <= make_lineage_key(f"line {n}") < 2**63 for n in range(100))


def test_invalid_utf8_has_a_key_too() -> None:
    assert make_lineage_key(decode_lineage_text(b"caf\xe9 = 1")) != make_lineage_key(
        decode_lineage_text(b"caf\xea = 1")
    )


def test_quotes_and_punctuation_are_not_words() -> None:
    assert split_lineage_words("print('a', b)") == split_lineage_words('print("a", b,)') == ("print", "a", "b")


@table(
    "line", ["", "   ", "}", "});", "else:", "return None", "    pass", "import os", "end", "try:", "a = 1", "# ---"]
)
def test_common_lines_are_not_informative(line: str) -> None:
    assert not is_informative_lineage_line(line)


@pytest.mark.parametrize("line", ["    return total", "import custody", "abc123", "x = compute()"])
def test_a_line_with_a_specific_word_is_informative(line: str) -> None:
    assert is_informative_lineage_line(line)


def test_six_letters_or_digits_are_informative() -> None:
    assert (
        is_informative_lineage_line("abcde"),
        is_informative_lineage_line("abcdef"),
        is_informative_lineage_line("ab cd ef"),
    ) == (False, True, True)
