"""Lines of code as HTML: syntax color, and the words that a change replaced."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from markupsafe import Markup, escape

from custody.core.patterns import lazy_pattern
from custody.server.pages.phrases import TEXT_CHARACTERS_MAX, escape_page_text
from custody.terminal.syntax import CodeLine

WORD_LINE_CHARACTERS_MAX = 400
"""Longer lines are not compared word by word."""
LIKENESS_MIN = 0.5
"""Lines that are less alike than this are two lines, not one that changed."""
_WORDS = lazy_pattern(r"\w+|\s+|[^\w\s]", re.DOTALL)

CharacterMask = Sequence[bool]
"""Which characters of a line changed."""


def render_code_line(line: CodeLine, changed: CharacterMask | None = None) -> Markup:
    """Return a line as HTML, with control characters written as their numbers; long lines are cut."""
    drawn, at = [], 0
    for part in line:
        for text, is_changed in _split_by_mask(part.text, at, changed):
            shown = escape(escape_page_text(text, TEXT_CHARACTERS_MAX - at if at < TEXT_CHARACTERS_MAX else 0))
            if part.style and not text.isspace():
                shown = Markup('<span class="{}">{}</span>').format(part.style, shown)
            drawn.append(Markup("<mark>{}</mark>").format(shown) if is_changed else shown)
            at += len(text)
        if at > TEXT_CHARACTERS_MAX:
            break
    return Markup("").join(drawn)


def _split_by_mask(text: str, at: int, changed: CharacterMask | None) -> list[tuple[str, bool]]:
    if changed is None:
        return [(text, False)]
    pieces: list[tuple[str, bool]] = []
    start = 0
    for n in range(1, len(text) + 1):
        if n == len(text) or changed[at + n] != changed[at + start]:
            pieces.append((text[start:n], changed[at + start]))
            start = n
    return pieces


def compare_words(old: str, new: str) -> tuple[list[bool], list[bool]] | None:
    """Return which characters of two lines differ, by words; None if most do, or if a line is long.

    >>> old, new = compare_words("return a + b", "return a + c")
    >>> [n for n, differs in enumerate(new) if differs]
    [11]
    >>> compare_words("x = 1", "def other(): pass") is None
    True
    """
    if max(len(old), len(new)) > WORD_LINE_CHARACTERS_MAX or old == new:
        return None
    words = _WORDS.findall(old), _WORDS.findall(new)
    matcher = SequenceMatcher(None, *words, autojunk=False)
    if matcher.quick_ratio() < LIKENESS_MIN or matcher.ratio() < LIKENESS_MIN:
        return None
    masks = [True] * len(old), [True] * len(new)
    for block in matcher.get_matching_blocks():
        for mask, line, first in ((masks[0], words[0], block.a), (masks[1], words[1], block.b)):
            begin = sum(map(len, line[:first]))
            end = begin + sum(map(len, line[first : first + block.size]))
            mask[begin:end] = [False] * (end - begin)
    return masks
