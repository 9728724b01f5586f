"""The lines of a hunk as HTML: numbers, the bar and letter of the author, colored code, changed words.

Numbers, + and - are attributes that the style sheet draws, so a line costs one element and copies as code only.
"""

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct

from custody.server.page_data.diff import DiffLine
from custody.server.pages.code import CharacterMask, compare_words, render_code_line

GUTTERS: Mapping[str, tuple[str, str, str]] = {
    "agent": ("a", "A", "agent"),
    "person": ("p", "P", "person"),
    "mixed": ("m", "M", "agent and person"),
    "none": ("u", "?", "unknown"),
}
"""By kind of author: the class, the letter and the word."""
_SIGNS = {"+": "add", "-": "del", " ": ""}


class LineNote(Struct, frozen=True):
    """A reason that belongs to one line, shown under it."""

    level: str
    words: str


class HunkHtml(Struct, frozen=True):
    """The rows of a hunk, and the number of their elements."""

    html: Markup
    elements: int
    left_out: int = 0
    """Lines that are left out, since the page has no room for them."""


def render_hunk_lines(
    lines: Sequence[DiffLine],
    kinds: Mapping[int, str],
    notes: Mapping[int, LineNote],
    *,
    elements_max: int | None = None,
) -> HunkHtml:
    """Return the rows of a hunk; ``kinds`` has the kind of author of added lines by their number.

    Lines beyond ``elements_max`` elements are left out.
    """
    masks = _find_changed_words(lines)
    digits = len(str(max((line.new or line.old or 0 for line in lines), default=0)))
    rows: list[Markup] = []
    last: str | None = None
    elements = 0
    for at, line in enumerate(lines):
        kind = kinds.get(line.new or 0) if line.sign == "+" else None
        row = _render_row(line, masks.get(at), kind, digits, is_first=kind is not None and kind != last)
        note = notes.get(line.new or 0) if line.sign == "+" else None
        if note is not None:
            row += Markup('<div class="say {}">{}</div>').format(note.level, note.words)
        elements += row.count("<") - row.count("</")
        if elements_max is not None and elements > elements_max:
            return HunkHtml(Markup("").join(rows), elements, len(lines) - at)
        rows.append(row)
        last = kind if line.sign == "+" else last if line.sign == "-" else None
    return HunkHtml(Markup("").join(rows), elements)


def _render_row(line: DiffLine, mask: CharacterMask | None, kind: str | None, digits: int, *, is_first: bool) -> Markup:
    names = ["l", _SIGNS[line.sign]]
    letter = Markup("")
    if kind is not None:
        name, text, word = GUTTERS[kind]
        names.append(f"g-{name}")
        if is_first:
            letter = Markup('<i class="who w-{}" role="img" aria-label="{}">{}</i>').format(name, word, text)
    code = render_code_line(line.code, mask)
    old = str(line.old or "").rjust(digits)
    new = str(line.new or "").rjust(digits)
    return Markup('<div class="{}" data-o="{}" data-n="{}">{}{}\n</div>').format(
        " ".join(filter(None, names)), old, new, letter, code
    )


def _find_changed_words(lines: Sequence[DiffLine]) -> dict[int, CharacterMask]:
    """Return the changed characters by position: removed lines are compared with the added lines after them."""
    masks: dict[int, CharacterMask] = {}
    at = 0
    while at < len(lines):
        if lines[at].sign != "-":
            at += 1
            continue
        middle = at
        while middle < len(lines) and lines[middle].sign == "-":
            middle += 1
        end = middle
        while end < len(lines) and lines[end].sign == "+":
            end += 1
        for step in range(min(middle - at, end - middle)):
            pair = compare_words(lines[at + step].text, lines[middle + step].text)
            if pair is not None:
                masks[at + step], masks[middle + step] = pair
        at = end
    return masks
