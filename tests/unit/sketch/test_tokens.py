"""Tokens, lines and words of any text, and that a look at a text is one look."""

import re

from hypothesis import given
from hypothesis import strategies as st

from custody.sketch.tokens import _TOKEN, identifiers_of, mask_literals, normalised_line, split_message_words, tokens_of
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
def test_tokens_are_those_of_a_reader_that_goes_sign_by_sign(text: str) -> None:
    assert tokens_of(text) == [token for line in re.split("[\r\n]", text) for token in slow.tokens(line.rstrip())]


@given(CODE | ANY)
def test_nothing_but_white_space_is_left_out(text: str) -> None:
    found = tokens_of(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(token.strip() and "\n" not in token and "\r" not in token for token in found)


@given(CODE, CODE, st.sampled_from([" ", "\t", "\r", "\u2028"]))
def test_lines_are_read_each_for_itself_and_without_their_ends(one: str, other: str, space: str) -> None:
    assert (
        tokens_of(f"{one}\n{other}") == tokens_of(f"{one}{space}\n{other}{space}") == tokens_of(one) + tokens_of(other)
    )


@given(CODE, st.booleans(), st.booleans())
def test_a_masked_view_stays_the_same_when_it_is_masked_again(text: str, numbers: bool, strings: bool) -> None:
    found = mask_literals(tokens_of(text), numbers=numbers, strings=strings)
    assert mask_literals(found, numbers=numbers, strings=strings) == found


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
def test_tokens_end_where_a_reader_would_end_them(text: str, tokens: list[str]) -> None:
    assert tokens_of(text) == tokens


# Conformance: 002-016
def test_masks_make_numbers_alike_and_strings_alike() -> None:
    tokens = tokens_of("wait(30, 'ms', 0x1F, `a`)")
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
def test_every_sign_begins_a_token_at_the_first_try(text: str) -> None:
    text = text.rstrip()
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        assert text[at].isspace() if found is None else found.end() > at
        at = at + 1 if found is None else found.end()


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
def test_a_hostile_line_of_any_length_is_read(line: str, count: int) -> None:
    found = tokens_of(line)
    assert len(found) == count
    assert sum(map(len, found)) == len(line) - line.count(" ")


def test_names_are_neither_words_of_the_language_nor_numbers_nor_texts() -> None:
    tokens = mask_literals(tokens_of("return this.größe + _x + $y + 'name' + 12 + na\udcefve + \udcc4nderung + ☃"))
    assert identifiers_of(tokens) == ["größe", "_x", "$y", "na\udcefve", "\udcc4nderung"]
    assert identifiers_of(iter(["a", "b", "a", "if", "<NUM>", "<STR>"])) == ["a", "b", "a"]


@given(CODE)
def test_names_keep_their_order_and_their_repetitions(text: str) -> None:
    tokens = tokens_of(text)
    names = set(identifiers_of(tokens))
    assert identifiers_of(tokens) == [token for token in tokens if token in names]


# Conformance: 002-015
@given(ANY)
def test_a_normalised_line_is_normal(line: str) -> None:
    normal = normalised_line(line)
    assert normalised_line(normal) == normal
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
def test_words_are_taken_out_of_names(text: str, words: list[str]) -> None:
    assert split_message_words(text) == words


@given(ANY)
def test_words_hold_letters_and_digits_only_and_all_of_them(text: str) -> None:
    assert "".join(split_message_words(text)) == "".join(sign for sign in text if sign.isalnum()).lower() or "Σ" in text
