r"""Texts as tokens, lines and words, in no language in particular.

This file is the only one that says where a token ends. A look at a text takes time in proportion to its length,
whatever the text: no repetition of the pattern has to give back what it took, because what follows it may always be
nothing, but for the end of a plain string, which is tried once more as an odd one; and every sign that is no white
space begins some token. Tokens hold no line end, so ``\n`` may stand between them.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

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
"""What stands for a token, by its first sign, when numbers are masked and when strings are."""
_KEYWORDS = frozenset(
    "abstract and as async await bool boolean break case catch char class const continue def default del do double elif"
    " else enum except export extends false False final finally float fn for from func function go if impl implements"
    " import in instanceof int interface is lambda let long match mod mut new nil None not null of or package pass"
    " private protected pub public raise return select self short static string struct super switch this throw throws"
    " trait true True try type typeof undefined use var void while with yield".split()
)
"""Words of the languages themselves: they name nothing that a change is about."""

_WORD_SIGN = "\\w$\udc80-\udcff"
"""Signs of a name; bytes that are no UTF-8 stand as lone surrogates, and are most often letters of an old encoding."""
_OPERATORS = (
    ">>>= <<= >>= >>> === !== **= &&= ||= ??= //= ... ..= <=> => -> :: == != <= >= && || ?? ?. ++ -- += -= *= /= %= &="
    " |= ^= ~= << >> ** // /* */ := .. <- |> =~ @@"
).split()
_SIGNS = "-=!+*/%&|^<>?:~@"
_STRINGS = [
    # Most strings are closed and hold no escape. In others a space belongs to the string if the line goes on after it.
    rf"{quote}[^{quote}\\\r\n]*{quote}|{quote}(?:[^{quote}\\\s]+|\\\S?|(?=[^\S\r\n]+\S)[^\S\r\n]+)*{quote}?"
    for quote in _QUOTES
]
# The apostrophe of "don't" begins no string.
_APOSTROPHE = r"(?<=\w\w)'(?=(?:[tsdm]|re|ve|ll)\b(?!'))"
_PATTERN = "|".join(
    (
        # What is frequent comes first, and a look at one sign saves the look at a long list.
        f"[A-Za-z_$][A-Za-z0-9_$]*[{_WORD_SIGN}]*",
        rf"[()\[\]{{}},;]|[{_SIGNS}](?![{_SIGNS}.])|\.(?!\.)",
        f"(?=[{_QUOTES}])(?:{'|'.join([_APOSTROPHE, *_STRINGS])})",
        r"0[xX]\w*|[0-9]\w*(?:(?=\.[0-9])\.\w*)*(?:(?<=[0-9][eE])[+-]\w+)?",
        f"(?=[{_SIGNS}.])(?:{'|'.join(map(re.escape, _OPERATORS))}|.)",
        f"[{_WORD_SIGN}]+",
        r"\S",
    )
)
# No possessive repetitions: Python 3.11.0 to 3.11.4 match some of them wrongly.
_TOKEN = re.compile(_PATTERN)

_RUN = re.compile(r"[^\W_]+")


def tokens_of(text: str) -> list[str]:
    """Names, numbers, strings and operators in their order, nothing but white space left out.

    A string that is not closed ends with its line, and white space at the end of a line never counts.

    >>> tokens_of("const limit = get('a b') ?? 1.5e-3;")
    ['const', 'limit', '=', 'get', '(', "'a b'", ')', '??', '1.5e-3', ';']
    """
    # At the end there is no token for the white space to lead to, and every part of it would be tried.
    found: list[str] = _TOKEN.findall(text.rstrip())
    return found


def mask_literals(tokens: list[str], *, numbers: bool = True, strings: bool = True) -> list[str]:
    """The tokens with every number alike and every string alike: another view of a text that was taken apart already.

    >>> mask_literals(["x", "=", "0x1F", "+", "'s'"])
    ['x', '=', '<NUM>', '+', '<STR>']
    """
    masks = _MASKS[numbers, strings]
    # A call of masks.get for every token would take twice as long.
    return [masks[token[0]] if token[0] in masks else token for token in tokens]  # noqa: SIM401


def identifiers_of(tokens: Iterable[str]) -> list[str]:
    """The names among the tokens, in their order and with repetitions; words of the languages themselves are not names.

    >>> identifiers_of(tokens_of("return user_name + größe + 'text' + 12"))
    ['user_name', 'größe']
    """
    found = list(tokens)
    names = {token for token in set(found) - _KEYWORDS if _is_name(token)}
    return [token for token in found if token in names]


def normalised_line(line: str) -> str:
    r"""The line without white space at its ends, and with one space where there was any between.

    >>> normalised_line("\tif  (a)\t{ ")
    'if (a) {'
    """
    return " ".join(line.split())


def split_message_words(text: str) -> list[str]:
    """The words of a message, a title or a name, in small letters; names made of several words are taken apart.

    >>> split_message_words("Fix parseHTTPHeader in user_agent (#42)")
    ['fix', 'parse', 'http', 'header', 'in', 'user', 'agent', '42']
    """
    return [part.lower() for run in _RUN.findall(text) for part in _parts_of(run)]


def _is_name(token: str) -> bool:
    first = token[0]
    return first == "_" or first == "$" or first.isalpha() or "\udc80" <= first <= "\udcff"


def _parts_of(run: str) -> Sequence[str]:
    if run.isupper() or run[1:].islower():
        return (run,)
    upper = [*map(str.isupper, run)]
    # A capital begins a word after a small letter or a digit, and as the last one of several before a small letter.
    starts = [at for at in range(1, len(run)) if upper[at] and (not upper[at - 1] or run[at + 1 : at + 2].islower())]
    return [run[start:end] for start, end in zip([0, *starts], [*starts, len(run)], strict=True)]


# Shingles, the runs of ``k`` tokens of a text, and how alike two sets of them are, exactly.


_BETWEEN = "\n"
"""Tokens hold no line end, so that different tokens never make the same shingle."""

T = TypeVar("T")


def shingles_of(tokens: Sequence[str], k: int) -> list[str]:
    r"""Every run of ``k`` tokens, in order and with repetitions; of fewer tokens the one run that there is.

    >>> shingles_of(["a", "=", "b", ";"], 3)
    ['a\n=\nb', '=\nb\n;']
    >>> shingles_of(["a", "b"], 3), shingles_of([], 3)
    (['a\nb'], [])
    """
    return [*_runs(tokens, k)]


def jaccard(a: Collection[T], b: Collection[T]) -> float | None:
    """The share of all different elements that both have; None when there are none at all, which is no likeness.

    >>> jaccard("abc", "bcd"), jaccard("abc", ""), jaccard("", "")
    (0.5, 0.0, None)
    """
    ours, theirs = set(a), set(b)
    shared = len(ours & theirs)
    whole = len(ours) + len(theirs) - shared
    return shared / whole if whole else None


def containment(a: Collection[T], b: Collection[T]) -> float | None:
    """The share of the different elements of ``a`` that ``b`` has too; None when ``a`` has none.

    >>> containment("ab", "bcd"), containment("ab", ""), containment("", "ab")
    (0.5, 0.0, None)
    """
    ours = set(a)
    return len(ours.intersection(b)) / len(ours) if ours else None


def _runs(tokens: Sequence[str], k: int) -> Iterable[str]:
    tails = _tails(k)
    if len(tokens) <= k:
        return (_BETWEEN.join(tokens),) if tokens else ()
    return map(_BETWEEN.join, zip(*map(tokens.__getitem__, tails), strict=False))


@lru_cache(maxsize=64)
def _tails(k: int) -> tuple[slice, ...]:
    """What is left of a sequence after none, one, two … of its elements; made once, since pieces are many and short."""
    if k < 1:
        raise ValueError(f"a shingle of {k} tokens is none")
    return tuple(slice(start, None) for start in range(k))
