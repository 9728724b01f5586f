"""How a number, a group of numbers and a range are written; this file is the only one that says so.

Patterns are of bytes, because markers are found and replaced in bytes.
"""

import re
from typing import NamedTuple

from custody.cite.document import Label, LabelKind

RANGE_MAX = 200
"""A wider range is not taken for one: it says what something spans, not which sources."""
DIGITS_MAX = 9
"""A longer number names no source."""

_DIGIT = "(?:[0-9]|[０-９])"
_COMMAS = ",;，；、&和与"
_DASHES = "-‐‑‒–—−~～〜至"


def _one_of(signs: str) -> str:
    """An alternation instead of a class: a sign may have several bytes."""
    return "(?:" + "|".join(re.escape(sign) for sign in signs) + ")"


def compile_byte_pattern(pattern: str) -> re.Pattern[bytes]:
    """A pattern of bytes from one of characters; classes must hold ASCII only, except that of full-width digits."""
    return re.compile(pattern.replace("[０-９]", "\\xef\\xbc[\\x90-\\x99]").encode())


_SPACE = r"(?:[ \t]{0,3}(?:\r?\n[ \t>]{0,4})?)"
NUMBER = f"{_DIGIT}{{1,{DIGITS_MAX}}}"
ITEM = f"[Ss]?{NUMBER}(?:{_SPACE}{_one_of(_DASHES)}{_SPACE}[Ss]?{NUMBER})?"
GROUP = f"{_SPACE}{ITEM}(?:{_SPACE}(?:{_one_of(_COMMAS)}|and){_SPACE}{ITEM})*{_SPACE}"

_ITEMS = re.compile(rf"(S?)([0-9]+)(?:\s*[{re.escape(_DASHES)}]\s*(S?)([0-9]+))?", re.IGNORECASE)
_WIDE = str.maketrans("０１２３４５６７８９", "0123456789")


class LabelGroup(NamedTuple):
    """What a group of numbers names."""

    labels: tuple[Label, ...]
    backwards: bool
    several: bool


def number_text(raw: bytes) -> str:
    """A number in ASCII digits, without leading zeros.

    >>> number_text("０１２".encode())
    '12'
    """
    return str(int(raw.decode().translate(_WIDE)))


def note_label(name: str) -> Label:
    """A footnote's label; capitals make no difference."""
    return Label(LabelKind.NOTE, name.casefold())


def read_group(raw: bytes) -> LabelGroup | None:
    """The labels that a group names, each once; None if it holds a range too wide to be one.

    >>> [str(label) for label in read_group(b"S1-S3, 7").labels], read_group(b"3-1").backwards
    (['S1', 'S2', 'S3', 'S7'], True)
    """
    items = _ITEMS.findall(raw.decode("utf-8", "replace").translate(_WIDE))
    kind = LabelKind.ID if any(first or last for first, _, last, _ in items) else LabelKind.NUMBER
    labels: dict[Label, None] = {}
    backwards = False
    for _, first, _, last in items:
        low, high = int(first), int(last or first)
        backwards = backwards or high < low
        low, high = min(low, high), max(low, high)
        if high - low > RANGE_MAX:
            return None
        for number in range(low, high + 1):
            labels[Label(kind, str(number))] = None
    return LabelGroup(tuple(labels), backwards, len(items) > 1 or bool(items and items[0][3]))
