"""Tokens, lines and words of any text, in linear time."""

import re

from hypothesis import given
from hypothesis import strategies as st

from custody.sketch.tokens import (
    _TOKEN,
    identifiers_from_tokens,
    mask_literals,
    normalize_line_spacing,
    split_message_words,
    tokenize_text,
)
from tests.builders.table import table
from tests.unit.sketch import slow

PARTS = st.sampled_from(
    "a name größe $x _y 1 1.5e-3 0x1F 1..2 .5 1.e+x 10n ' \" ` \\ ' ( [ ; => === ?. ?? ... + - . # @ don't can't it's"
    " b's' rb't' 'a' \"b\" `c` caf\udce9 \x00 ☃ ² ٣ <NUM> // /* */".split()
)
SPACES = st.sampled_from(["", "", " ", "\t", "\n", "\r\n", "\u2028", "\x1f", "\n\n  "])
CODE = st.lists(st.tuples(PARTS, SPACES)).map(lambda parts: "".join(part + space for part, space in parts))
ANY = st.text(st.characters() | st.sampled_from("\udc80\udce9\ud800"))
LONG = 12_000_000
MANY = 400_000


@given(CODE | ANY)
def test_tokens_match_the_slow_reference(text: str) -> None:
    assert tokenize_text(text) == [token for line in re.split("[\r\n]", text) for token in slow.tokens(line.rstrip())]


@given(CODE | ANY)
def test_only_white_space_is_left_out(text: str) -> None:
    result = tokenize_text(text)
    assert "".join("".join(result).split()) == "".join(text.split())
    assert all(token.strip() and "\n" not in token and "\r" not in token for token in result)


@given(CODE, CODE, st.sampled_from([" ", "\t", "\r", "\u2028"]))
def test_lines_are_tokenized_independently(one: str, other: str, space: str) -> None:
    assert (
        tokenize_text(f"{one}\n{other}")
        == tokenize_text(f"{one}{space}\n{other}{space}")
        == tokenize_text(one) + tokenize_text(other)
    )


@given(CODE, st.booleans(), st.booleans())
def test_masking_is_idempotent(text: str, numbers: bool, strings: bool) -> None:
    result = mask_literals(tokenize_text(text), numbers=numbers, strings=strings)
    assert mask_literals(result, numbers=numbers, strings=strings) == result


# Conformance: 002-017
@table(
    ("text", "tokens"),
    [
        ("a>>>=b", ["a", ">>>=", "b"]),
        ("f(...args)", ["f", "(", "...", "args", ")"]),
        ("x=-1", ["x", "=", "-", "1"]),
        ("0..10", ["0", "..", "10"]),
        ("v1.2.3-rc", ["v1", ".", "2.3", "-", "rc"]),
        ("0xe+1", ["0xe", "+", "1"]),
        ("1e+x", ["1e+x"]),
        ("say('it\\'s') or", ["say", "(", "'it\\'s'", ")", "or"]),
        ('a = "open\nb', ["a", "=", '"open', "b"]),
        ("a = 'open\r\nb", ["a", "=", "'open", "b"]),
        ("# don't stop", ["#", "don", "'", "t", "stop"]),
        ("rb't'", ["rb", "'t'"]),
        ("#größe@x", ["#", "größe", "@", "x"]),
        ("na\udcefve = 2", ["na\udcefve", "=", "2"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_tokens_of_examples(text: str, tokens: list[str]) -> None:
    assert tokenize_text(text) == tokens


# Conformance: 002-016
def test_numbers_and_strings_are_masked() -> None:
    tokens = tokenize_text("wait(30, 'ms', 0x1F, `a`)")
    assert mask_literals(tokens, strings=False) == [
        "wait",
        "(",
        "<NUM>",
        ",",
        "'ms'",
        ",",
        "<NUM>",
        ",",
        "`a`",
        ")",
    ]
    assert mask_literals(tokens, numbers=False) == [
        "wait",
        "(",
        "30",
        ",",
        "<STR>",
        ",",
        "0x1F",
        ",",
        "<STR>",
        ")",
    ]


@given(CODE | ANY)
def test_every_character_except_white_space_starts_a_token(text: str) -> None:
    text = text.rstrip()
    at = 0
    while at < len(text):
        result = _TOKEN.match(text, at)
        assert text[at].isspace() if result is None else result.end() > at
        at = at + 1 if result is None else result.end()


@table(
    ("line", "count"),
    [
        ("a" * LONG, 1),
        ("'" + "b" * LONG, 1),
        (" " * LONG, 0),
        ("x" + " " * LONG, 1),
        ("1." * (LONG // 2), 2),
        ("1.1" * (LONG // 3), 1),
        ("é" * (LONG // 2), 1),
        ("'" + "\\" * LONG, 1),
        ("'" + "\\'" * (LONG // 2), 1),
        ("'\"`" * MANY, MANY * 3 // 4),
        ("(" * MANY, MANY),
        ("a'" * MANY, MANY),
        ("?." * MANY, MANY),
        ("\udce9\x00" * MANY, 2 * MANY),
    ],
)
def test_hostile_long_lines_are_tokenized(line: str, count: int) -> None:
    result = tokenize_text(line)
    assert len(result) == count
    assert sum(map(len, result)) == len(line) - line.count(" ")


def test_identifiers_exclude_keywords_numbers_and_strings() -> None:
    tokens = mask_literals(tokenize_text("return this.größe + _x + $y + 'name' + 12 + na\udcefve + \udcc4nderung + ☃"))
    assert identifiers_from_tokens(tokens) == ["größe", "_x", "$y", "na\udcefve", "\udcc4nderung"]
    assert identifiers_from_tokens(iter(["a", "b", "a", "if", "<NUM>", "<STR>"])) == ["a", "b", "a"]


@given(CODE)
def test_identifiers_keep_order_and_repetitions(text: str) -> None:
    tokens = tokenize_text(text)
    names = set(identifiers_from_tokens(tokens))
    assert identifiers_from_tokens(tokens) == [token for token in tokens if token in names]


# Conformance: 002-015
@given(ANY)
def test_line_normalization_is_idempotent(line: str) -> None:
    normal = normalize_line_spacing(line)
    assert normalize_line_spacing(normal) == normal
    assert not re.search(r"^\s|\s$|\s\s|[^\S ]", normal)


@table(
    ("text", "words"),
    [
        ("snake_case_name", ["snake", "case", "name"]),
        ("camelCaseName", ["camel", "case", "name"]),
        ("parseHTTPHeader", ["parse", "http", "header"]),
        ("HTTP2Server", ["http2", "server"]),
        ("sha256Of", ["sha256", "of"]),
        ("ÄnderungsListe größeMax", ["änderungs", "liste", "größe", "max"]),
        ("ΑΒγδΕζ", ["α", "βγδ", "εζ"]),
        ("Fix: don't (#12)", ["fix", "don", "t", "12"]),
        ("__init__ X a", ["init", "x", "a"]),
        ("caf\udce9", ["caf"]),
        ("", []),
    ],
)
def test_identifiers_are_split_into_words(text: str, words: list[str]) -> None:
    assert split_message_words(text) == words


@given(ANY)
def test_words_have_all_letters_and_digits_and_nothing_else(text: str) -> None:
    assert (
        "".join(split_message_words(text)) == "".join(character for character in text if character.isalnum()).lower()
        or "Σ" in text
    )
