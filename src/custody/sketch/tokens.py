r"""Tokens, lines and words of texts in any language.

Tokenizing takes linear time for any text: no repetition in the pattern needs to backtrack, except at the end of a plain
string, which is tried again as an unusual one, and every character except white space starts a token. Tokens
contain no line ends, so ``\n`` can separate them.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from custody.core.patterns import lazy_pattern

NUMBER = "<NUM>"
STRING = "<STR>"

_QUOTES = "'\"`"
_STRING_MASKS = dict.fromkeys(_QUOTES, STRING)
_NUMBER_MASKS = dict.fromkeys("0123456789", NUMBER)
_MASKS = {
    (False, False): dict[str, str](),
    (False, True): _STRING_MASKS,
    (True, False): _NUMBER_MASKS,
    (True, True): _NUMBER_MASKS | _STRING_MASKS,
}
"""Masks of tokens by their first character, for each choice of masking numbers and strings."""
_KEYWORDS = frozenset(
    "abstract and as async await bool boolean break case catch char class const continue def default del do double elif"
    " else enum except export extends false False final finally float fn for from func function go if impl implements"
    " import in instanceof int interface is lambda let long match mod mut new nil None not null of or package pass"
    " private protected pub public raise return select self short static string struct super switch this throw throws"
    " trait true True try type typeof undefined use var void while with yield".split()
)
"""Keywords of languages, which are not identifiers."""

_WORD_CHARACTERS = "\\w$\udc80-\udcff"
"""Characters of a name; invalid UTF-8 appears as lone surrogates, which are mostly letters of an old encoding."""
_OPERATORS = (
    ">>>= <<= >>= >>> === !== **= &&= ||= ??= //= ... ..= <=> => -> :: == != <= >= && || ?? ?. ++ -- += -= *= /= %= &="
    " |= ^= ~= << >> ** // /* */ := .. <- |> =~ @@"
).split()
_OPERATOR_CHARACTERS = "-=!+*/%&|^<>?:~@"
_STRINGS = [
    # Most strings are closed and have no escapes. In others, a space belongs to the string unless it ends the line.
    rf"{quote}[^{quote}\\\r\n]*{quote}|{quote}(?:[^{quote}\\\s]+|\\\S?|(?=[^\S\r\n]+\S)[^\S\r\n]+)*{quote}?"
    for quote in _QUOTES
]
# The apostrophe of "don't" does not start a string.
_APOSTROPHE = r"(?<=\w\w)'(?=(?:[tsdm]|re|ve|ll)\b(?!'))"
_PATTERN = "|".join(
    (
        # Frequent tokens come first, and a lookahead of one character avoids long alternatives.
        f"[A-Za-z_$][A-Za-z0-9_$]*[{_WORD_CHARACTERS}]*",
        rf"[()\[\]{{}},;]|[{_OPERATOR_CHARACTERS}](?![{_OPERATOR_CHARACTERS}.])|\.(?!\.)",
        f"(?=[{_QUOTES}])(?:{'|'.join([_APOSTROPHE, *_STRINGS])})",
        r"0[xX]\w*|[0-9]\w*(?:(?=\.[0-9])\.\w*)*(?:(?<=[0-9][eE])[+-]\w+)?",
        f"(?=[{_OPERATOR_CHARACTERS}.])(?:{'|'.join(map(re.escape, _OPERATORS))}|.)",
        f"[{_WORD_CHARACTERS}]+",
        r"\S",
    )
)
# No possessive repetitions: Python 3.11.0 to 3.11.4 match some of them wrongly.
_TOKEN = lazy_pattern(_PATTERN)

_RUN = lazy_pattern(r"[^\W_]+")


def tokenize_text(text: str) -> list[str]:
    """Return names, numbers, strings and operators in order; only white space is left out.

    An unclosed string ends with its line, and trailing white space never counts.

    >>> tokenize_text("const limit = get('a b') ?? 1.5e-3;")
    ['const', 'limit', '=', 'get', '(', "'a b'", ')', '??', '1.5e-3', ';']
    """
    # Trailing white space leads to no token, and the pattern would be tried at each of its characters.
    tokens: list[str] = _TOKEN.findall(text.rstrip())
    return tokens


def mask_literals(tokens: list[str], *, numbers: bool = True, strings: bool = True) -> list[str]:
    """Return the tokens with all numbers and all strings replaced by masks.

    >>> mask_literals(["x", "=", "0x1F", "+", "'s'"])
    ['x', '=', '<NUM>', '+', '<STR>']
    """
    masks = _MASKS[numbers, strings]
    # Calling masks.get for every token would take twice as long.
    return [masks[token[0]] if token[0] in masks else token for token in tokens]  # noqa: SIM401


def identifiers_from_tokens(tokens: Iterable[str]) -> list[str]:
    """Return the identifiers among the tokens, in order and with repetitions, without keywords.

    >>> identifiers_from_tokens(tokenize_text("return user_name + größe + 'text' + 12"))
    ['user_name', 'größe']
    """
    collected = list(tokens)
    names = {token for token in set(collected) - _KEYWORDS if _is_identifier_token(token)}
    return [token for token in collected if token in names]


def normalize_line_spacing(line: str) -> str:
    r"""Return the line without leading and trailing white space, and with single spaces inside.

    >>> normalize_line_spacing("\tif  (a)\t{ ")
    'if (a) {'
    """
    return " ".join(line.split())


def split_message_words(text: str) -> list[str]:
    """Return the words of a message, a title or a name in lower case; identifiers are split into words.

    >>> split_message_words("Fix parseHTTPHeader in user_agent (#42)")
    ['fix', 'parse', 'http', 'header', 'in', 'user', 'agent', '42']
    """
    return [part.lower() for run in _RUN.findall(text) for part in _split_camel_case(run)]


def _is_identifier_token(token: str) -> bool:
    first = token[0]
    return first == "_" or first == "$" or first.isalpha() or "\udc80" <= first <= "\udcff"


def _split_camel_case(run: str) -> Sequence[str]:
    if run.isupper() or run[1:].islower():
        return (run,)
    upper = [*map(str.isupper, run)]
    # A capital starts a word after a small letter or digit, or as the last of several before a small letter.
    starts = [at for at in range(1, len(run)) if upper[at] and (not upper[at - 1] or run[at + 1 : at + 2].islower())]
    return [run[start:end] for start, end in zip([0, *starts], [*starts, len(run)], strict=True)]


# Shingles, the runs of ``k`` tokens of a text, and the exact similarity of sets.


_SEPARATOR = "\n"
"""Tokens contain no line ends, so different tokens never make the same shingle."""

T = TypeVar("T")


def shingle_tokens(tokens: Sequence[str], k: int) -> list[str]:
    r"""Return every run of ``k`` tokens, in order and with repetitions; fewer tokens make one run.

    >>> shingle_tokens(["a", "=", "b", ";"], 3)
    ['a\n=\nb', '=\nb\n;']
    >>> shingle_tokens(["a", "b"], 3), shingle_tokens([], 3)
    (['a\nb'], [])
    """
    return [*_join_shingles(tokens, k)]


def compute_set_jaccard(a: Collection[T], b: Collection[T]) -> float | None:
    """Return the Jaccard similarity of two sets; None if both are empty.

    >>> compute_set_jaccard("abc", "bcd"), compute_set_jaccard("abc", ""), compute_set_jaccard("", "")
    (0.5, 0.0, None)
    """
    ours, theirs = set(a), set(b)
    shared = len(ours & theirs)
    union = len(ours) + len(theirs) - shared
    return shared / union if union else None


def compute_set_containment(a: Collection[T], b: Collection[T]) -> float | None:
    """Return the share of the set ``a`` that is in ``b``; None if ``a`` is empty.

    >>> compute_set_containment("ab", "bcd"), compute_set_containment("ab", ""), compute_set_containment("", "ab")
    (0.5, 0.0, None)
    """
    ours = set(a)
    return len(ours.intersection(b)) / len(ours) if ours else None


def _join_shingles(tokens: Sequence[str], k: int) -> Iterable[str]:
    tails = _make_shingle_slices(k)
    if len(tokens) <= k:
        return (_SEPARATOR.join(tokens),) if tokens else ()
    return map(_SEPARATOR.join, zip(*map(tokens.__getitem__, tails), strict=False))


@lru_cache(maxsize=64)
def _make_shingle_slices(k: int) -> tuple[slice, ...]:
    """Return the slices that skip 0 to ``k - 1`` elements; cached, since there are many short texts."""
    if k < 1:
        raise ValueError(f"invalid size of a shingle: {k}")
    return tuple(slice(start, None) for start in range(k))
