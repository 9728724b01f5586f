"""The blocks, links and definitions of a Markdown text, collected in one pass over the parser's events.

The range of an element is known at its start, so end events are ignored. Offsets are in bytes.
"""

import re
from collections.abc import Iterator
from enum import IntFlag
from typing import Any, NamedTuple

from custody.core.patterns import lazy_pattern

_VERBATIM = lazy_pattern(rb"<(/?)(code|pre|script|style|kbd|samp|math|svg|a)\b", re.IGNORECASE)
_MARKS = lazy_pattern(rb"(?:\[\^?[Ss]?[0-9]{1,9}\])+")
_DIGITS = b"0123456789"


class BlockKind(IntFlag):
    """The kinds of blocks; combined, the kinds around a block."""

    HEADING = 1
    PARAGRAPH = 2
    ITEM = 4
    TABLE = 8
    ROW = 16
    QUOTE = 32
    CODE = 64
    HTML = 128
    NOTE = 256
    RULE = 512


# Plain integers, because enum lookups at every event would take longer than the parse.
HEADING, PARAGRAPH, ITEM, TABLE, ROW, QUOTE, CODE, HTML, NOTE, RULE = (int(kind) for kind in BlockKind)


class MarkdownBlock(NamedTuple):
    """A block and its range; ``inside`` combines the kinds of the blocks around it.

    ``number`` is the level of a heading, or the rendered number of an item (None for a bullet); ``name`` is the label
    of a footnote. The text of a tight list item counts as a paragraph.
    """

    kind: int
    start: int
    end: int
    inside: int = 0
    number: int | None = None
    name: str = ""


class MarkdownLink(NamedTuple):
    """A link or an image: its range, the end of its text (which starts after the first bracket), and its target."""

    start: int
    end: int
    text_end: int
    url: str
    image: bool = False
    bare: bool = False
    """Whether it shows its own URL: ``<https://…>``."""


class MarkdownOutline(NamedTuple):
    """The result of a walk: blocks in the order of the text, outer before inner; links; bytes without markers."""

    blocks: list[MarkdownBlock]
    links: list[MarkdownLink]
    guarded: list[tuple[int, int]]


_PASSED = frozenset({"Emphasis", "Strong", "Strikethrough", "Superscript", "Subscript", "TableCell"})
_BLOCKS = {
    "Paragraph": PARAGRAPH,
    "Heading": HEADING,
    "Item": ITEM,
    "BlockQuote": QUOTE,
    "CodeBlock": CODE,
    "HtmlBlock": HTML,
    "Table": TABLE,
    "TableHead": ROW,
    "TableRow": ROW,
    "FootnoteDefinition": NOTE,
}
_BY_NAME = ("Shortcut", "Collapsed", "Reference")
_BARE = ("Autolink", "Email")


def walk_markdown_events(data: bytes, base: int, events: Iterator[tuple[Any, Any]]) -> MarkdownOutline:
    """Process the parser's events of ``data`` from ``base`` on."""
    walked = MarkdownOutline([], [], [])
    _MarkdownWalk(data, base, walked).go(events)
    return walked


class _MarkdownWalk:
    """The state of a walk: the open blocks, lists and links, by their ends."""

    def __init__(self, data: bytes, base: int, walked: MarkdownOutline) -> None:
        self.data = data
        self.base = base
        self.blocks, self.links, self.guarded = walked
        self.open: list[tuple[int, int, int]] = [(len(data) + 1, 0, 0)]
        """End, kind and content of all open blocks; the innermost is last."""
        self.lists: list[tuple[int, int | None]] = []
        """End and next number of all open lists."""
        self.link: tuple[int, int, dict[str, Any], bool] | None = None
        self.link_text_end = 0
        self.loose: int | None = None
        """Index in ``blocks`` of the open text of a tight item, which has no paragraph around it."""
        self.loose_end = 0
        self.verbatim: tuple[bytes, int, int] | None = None

    def go(self, events: Iterator[tuple[Any, Any]]) -> None:
        """Process all events."""
        base, item = self.base, ITEM
        top_end, top_kind, _ = self.open[-1]
        for event, span in events:
            if event.__class__ is str:
                if event == "Rule":
                    self.block(RULE, base + span["start"], base + span["end"])
                continue
            if "End" in event:
                continue
            start, end = base + span["start"], base + span["end"]
            if start >= top_end:
                top_end, top_kind = self.close(start)
            if "Start" in event:
                self.begin(event["Start"], start, end)
                top_end, top_kind, _ = self.open[-1]
                continue
            if top_kind == item or self.link is not None:
                self.inline(start, end)
            if "Text" not in event:
                self.leaf(event, start, end)
        self.close(len(self.data))
        self.end_link()

    def close(self, start: int) -> tuple[int, int]:
        """Close the blocks that end before ``start``; return end and kind of the innermost open block."""
        self.settle()
        while self.open[-1][0] <= start:
            self.open.pop()
        return self.open[-1][0], self.open[-1][1]

    def begin(self, tag: Any, start: int, end: int) -> None:
        if tag.__class__ is str and tag in _PASSED:
            if self.open[-1][1] == ITEM:
                self.goes_on(start, end)
            return
        name: str
        value: Any
        name, value = (tag, None) if tag.__class__ is str else next(iter(tag.items()))
        kind = _BLOCKS.get(name)
        if kind is not None:
            self.begin_block(kind, value, start, end)
        elif name == "List":
            self.settle()
            self.lists.append((end, value))
        elif name in ("Link", "Image"):
            if self.open[-1][1] == ITEM:
                self.goes_on(start, end)
            self.end_link()
            self.link, self.link_text_end = (start, end, value, name == "Image"), start + 1

    def begin_block(self, kind: int, value: Any, start: int, end: int) -> None:
        number: int | None = None
        if kind == ITEM:
            number = self.next_number(start)
        elif kind == HEADING:
            number = int(value["level"][1])
        elif kind in (CODE, HTML):
            self.guarded.append((start, end))
        inside = self.block(kind, start, end, number, value if kind == NOTE else "")
        self.open.append((end, kind, inside | kind))

    def block(self, kind: int, start: int, end: int, number: int | None = None, name: str = "") -> int:
        self.settle()
        self.verbatim = None
        if start >= self.open[-1][0]:
            self.close(start)
        inside = self.open[-1][2]
        self.blocks.append(MarkdownBlock(kind, start, end, inside, number, name))
        return inside

    def next_number(self, start: int) -> int | None:
        while self.lists[-1][0] <= start:
            self.lists.pop()
        end, number = self.lists[-1]
        if number is not None:
            self.lists[-1] = (end, number + 1)
        return number

    def inline(self, start: int, end: int) -> None:
        if self.link is not None:
            self.link_goes_on(start, end)
        if self.open[-1][1] == ITEM:
            self.goes_on(start, end)

    def goes_on(self, start: int, end: int) -> None:
        """Add text of a tight item."""
        if self.loose is None:
            self.loose = len(self.blocks)
            self.blocks.append(MarkdownBlock(PARAGRAPH, start, end, self.open[-1][2]))
        self.loose_end = max(end, self.loose_end)

    def settle(self) -> None:
        """Close the text of a tight item."""
        if self.loose is not None:
            kind, start, _, inside, _, _ = self.blocks[self.loose]
            self.blocks[self.loose] = MarkdownBlock(kind, start, self.loose_end, inside)
            self.loose = None

    def link_goes_on(self, start: int, end: int) -> None:
        if self.link is not None and start < self.link[1]:
            self.link_text_end = end
        else:
            self.end_link()

    def end_link(self) -> None:
        if self.link is None:
            return
        start, end, value, image = self.link
        self.link = None
        kind = value["link_type"]
        if kind in _BY_NAME and _MARKS.fullmatch(self.data, start, end):
            return  # ``[3]`` that is also the name of a link is a marker
        self.guarded.append((start, end))
        self.links.append(MarkdownLink(start, end, self.link_text_end, value["dest_url"], image, kind in _BARE))

    def leaf(self, event: Any, start: int, end: int) -> None:
        if "Code" in event or "DisplayMath" in event:
            self.guarded.append((start, end))
        elif "InlineHtml" in event:
            self.guarded.append((start, end))
            self.tag(start, end)
        elif "InlineMath" in event and not self.is_money(start, end):
            self.guarded.append((start, end))

    def is_money(self, start: int, end: int) -> bool:
        """Return whether two dollar signs are amounts, not math, as in ``$5[1]–$10``."""
        after, before = self.data[end : end + 1], self.data[start - 1 : start] if start else b""
        return (bool(after) and after in _DIGITS) or before.isalnum()

    def tag(self, start: int, end: int) -> None:
        """Guard the text between ``<code>`` and ``</code>``, which is code in every renderer."""
        match = _VERBATIM.match(self.data, start, end)
        if match is None:
            return
        name = match[2].lower()
        if not match[1]:
            self.verbatim = self.verbatim or (name, start, self.open[-1][0])
        elif self.verbatim is not None and self.verbatim[0] == name:
            if start < self.verbatim[2]:
                self.guarded.append((self.verbatim[1], end))
            self.verbatim = None
