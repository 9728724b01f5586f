"""One parse of a Markdown text: its blocks, its links, and the bytes without markers.

Only this file calls the parser. Time is linear in the length of the text.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, cast

import pyromark
from msgspec import Struct, field
from pyromark import Options

from custody.cite.document import TextPlace
from custody.cite.walk import CODE, TABLE, MarkdownBlock, MarkdownLink, walk_markdown_events
from custody.core.patterns import lazy_pattern

OPTIONS = (
    Options.ENABLE_TABLES
    | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_MATH
    | Options.ENABLE_GFM
)

# A text may also start with a thematic break, so the first line must look like a key.
_FRONT = lazy_pattern(
    rb"\A(?:\xef\xbb\xbf)?(?:"
    rb"---[ \t]*\r?\n[\w\"'][^\n:]*:(?:[ \t].*)?\r?\n(?:.*\r?\n)*?(?:---|\.\.\.)"
    rb"|\+\+\+[ \t]*\r?\n[\w\"'][^\n=]*=.*\r?\n(?:.*\r?\n)*?\+\+\+"
    rb")[ \t]*(?:\r?\n|\Z)"
)
_LINE_END = lazy_pattern(rb"\r\n?|\n")
_ADDRESS = lazy_pattern(rb"https?://[^\s<\[\]\"|\xe3\xef]+(?:\[[^\]\s]{0,64}\][=&/?#.][^\s<\[\]\"|\xe3\xef]*)*")
_DEFINITION = lazy_pattern(
    rb"^[ ]{0,3}\[([Ss]?[0-9]{1,9})\]:[ \t]+<?([^\s<>]+)>?[ \t]*[\"'(]?([^\r\n\"]*?)[\"')]?[ \t]*(?=\r|\n|\Z)",
    re.MULTILINE,
)


class Definition(NamedTuple):
    """A link reference definition: ``[3]: https://… "title"``."""

    label: str
    url: str
    title: str
    start: int
    end: int


class Layout(Struct, frozen=True):
    """A text and its parse."""

    data: bytes
    blocks: tuple[MarkdownBlock, ...]
    links: tuple[MarkdownLink, ...]
    definitions: tuple[Definition, ...]
    guarded: tuple[tuple[int, int], ...]
    """Code, links, HTML, math, front matter and bare URLs: sorted, without overlap."""
    addresses: tuple[tuple[int, int], ...]
    """Bare URLs, not links."""
    broken: int | None
    """The first invalid UTF-8 byte, or None."""
    _lines: list[int] = field(default_factory=list)
    _last: list[tuple[int, TextPlace]] = field(default_factory=list)

    def place(self, offset: int) -> TextPlace:
        """Return the line and column of a byte; fast for ascending offsets, also on one long line."""
        if not self._lines:
            self._lines.append(0)
            self._lines.extend(match.end() for match in _LINE_END.finditer(self.data))
        line = bisect_right(self._lines, offset)
        start, column = self._lines[line - 1], 1
        if self._last and self._last[0][1].line == line and self._last[0][0] <= offset:
            start, column = self._last[0][0], self._last[0][1].column
        place = TextPlace(line, column + len(self.data[start:offset].decode("utf-8", "surrogateescape")))
        self._last[:] = [(offset, place)]
        return place

    def is_guarded(self, offset: int) -> bool:
        """Return whether no marker can start at this byte."""
        at = bisect_right(self.guarded, (offset, len(self.data) + 1)) - 1
        return at >= 0 and self.guarded[at][1] > offset

    def links_within(self, start: int, end: int) -> tuple[MarkdownLink, ...]:
        """Return the links that start in a byte range."""
        first = bisect_left(self.links, (start,))
        return self.links[first : bisect_left(self.links, (end,))]

    def blocks_from(self, start: int) -> int:
        """Return the index of the first block that starts at or after a byte."""
        return bisect_left(self.blocks, start, key=_markdown_block_start)

    def blocks_within(self, start: int, end: int) -> Iterator[tuple[int, MarkdownBlock]]:
        """Yield the blocks that start in a byte range, with their indices."""
        for at in range(self.blocks_from(start), len(self.blocks)):
            if self.blocks[at].start >= end:
                break
            yield at, self.blocks[at]

    def is_plain(self, at: int) -> bool:
        """Return whether a block contains neither code nor a table, so that it fits on one line."""
        end = self.blocks[at].end
        for index in range(at + 1, len(self.blocks)):
            block = self.blocks[index]
            if block.start >= end:
                return True
            if block.kind == CODE or block.kind == TABLE:
                return False
        return True

    def trim_range_end(self, start: int, end: int) -> int:
        """Return the end of a byte range without trailing white space."""
        return start + len(self.data[start:end].rstrip())

    def text(self, start: int, end: int) -> str:
        """Decode a byte range; ``surrogateescape`` restores invalid bytes when it is encoded."""
        return self.data[start:end].decode("utf-8", "surrogateescape")


def parse_markdown_layout(data: bytes) -> Layout:
    """Parse ``data`` once; invalid UTF-8 bytes are parsed as question marks and stay as they are."""
    # The parser would also find front matter in the middle of a text, between two thematic breaks.
    front = _FRONT.match(data)
    base = front.end() if front else 0
    text, broken = decode_markdown(data[base:])
    walked = walk_markdown_events(data, base, pyromark.events_with_range(text, options=OPTIONS, merge_text=True))
    definitions = _parse_link_definitions(text, base) if b"]:" in data else ()
    definitions += tuple(_find_repeated_link_definitions(data, base, definitions, walked.blocks)) if definitions else ()
    walked.guarded.append((0, base))
    walked.guarded.extend((definition.start, definition.end) for definition in definitions)
    guarded = _merge_markdown_ranges(walked.guarded)
    addresses = tuple(_unguarded_markdown_ranges(_ADDRESS.finditer(data, base), guarded))
    walked.links.sort()
    return Layout(
        data=data,
        blocks=tuple(walked.blocks),
        links=tuple(walked.links),
        definitions=definitions,
        guarded=_merge_markdown_ranges((*guarded, *addresses)),
        addresses=addresses,
        broken=None if broken is None else base + broken,
    )


def _unguarded_markdown_ranges(
    matches: Iterator[re.Match[bytes]], guarded: tuple[tuple[int, int], ...]
) -> Iterator[tuple[int, int]]:
    """Yield the matches that do not start in guarded bytes; both are in order."""
    at = 0
    for match in matches:
        while at < len(guarded) and guarded[at][1] <= match.start():
            at += 1
        if at == len(guarded) or match.start() < guarded[at][0]:
            yield match.span()


def decode_markdown(data: bytes) -> tuple[str, int | None]:
    """Return the text with one ASCII character for each invalid byte, and the offset of the first."""
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        return _LOST.sub("?", data.decode("utf-8", "surrogateescape")), error.start


def _markdown_block_start(block: MarkdownBlock) -> int:
    return block.start


def _parse_link_definitions(text: str, base: int) -> tuple[Definition, ...]:
    definitions = pyromark.reference_definitions(text, options=OPTIONS)
    return tuple(
        Definition(
            label,
            definition["dest"],
            definition["title"] or "",
            base + definition["span"]["start"],
            base + definition["span"]["end"],
        )
        for label, definition in definitions.items()
    )


def _find_repeated_link_definitions(
    data: bytes, base: int, known: tuple[Definition, ...], blocks: list[MarkdownBlock]
) -> Iterator[Definition]:
    """Yield numbered definitions of a name that is already defined; the parser and renderers ignore them."""
    taken = {definition.start for definition in known}
    outer = [block for block in blocks if not block.inside]
    starts = [block.start for block in outer]
    for match in _DEFINITION.finditer(data, base):
        at = bisect_right(starts, match.start()) - 1
        if match.start() in taken or (at >= 0 and match.start() < outer[at].end):
            continue
        label, url, title = (part.decode("utf-8", "replace") for part in match.group(1, 2, 3))
        yield Definition(label, url, title, *match.span())


def _merge_markdown_ranges(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the same bytes as ordered ranges that do not touch.

    >>> _merge_markdown_ranges([(5, 7), (0, 2), (1, 3), (3, 3)])
    ((0, 3), (5, 7))
    """
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)


_LOST = lazy_pattern("[\udc80-\udcff]")


# Write sources into Markdown: titles without markup, URLs that cannot end early. ``escape_citation_markdown`` is for
# plain text such as a title of the registry, ``clean_citation_markup`` for Markdown from a report.


_ACTIVE = lazy_pattern(r"[\\`*_\[\]<>&~$|^]")
_CODE_OR_ESCAPE = lazy_pattern(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?:(?!(?<!`)(?P=ticks)(?!`)).)*?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<marker>\[(?:\^[^\]\s]{1,80}|\s?S?[0-9][S0-9,;\s–-]{0,40})\])"
    r"|(?P<open><)",
    re.IGNORECASE,
)
_BLOCK_START = lazy_pattern(
    r"(?P<number>[0-9]{1,9})[.)](?=\s|$)|#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|=+$|~~~|```(?![^`]*`)|\[[ xX]\](?=\s|$)"
)
_UNSAFE = lazy_pattern('[\x00-\x20"<>\\\\^`{|}\x7f]')
_EMPHASIS = lazy_pattern(r"[*\[\]]")
_LINKED = lazy_pattern(r"(?:https?|ftp)://[^\s<>]+", re.IGNORECASE)


def escape_citation_markdown(text: str) -> str:
    """Return Markdown that renders as exactly this plain text, on one line."""
    return _escape_markdown_block_start(_ACTIVE.sub(r"\\\g<0>", " ".join(text.split())))


def clean_citation_markup(markdown: str, renamed: Callable[[str], str | None] = lambda _name: None) -> str:
    """Return Markdown of a report on one line, with emphasis and code, without HTML and markers.

    ``renamed`` has the new labels of footnote references; unknown references become text.
    """

    def written(match: re.Match[str]) -> str:
        if match["open"]:
            return "\\<"
        if match["marker"]:
            new = renamed(match[0][2:-1]) if match[0].startswith("[^") else None
            return new or f"\\{match[0][:-1]}\\]"
        return match[0]

    line = " ".join(markdown.split())
    return _escape_markdown_block_start(_CODE_OR_ESCAPE.sub(written, line) if "<" in line or "[" in line else line)


def citation_markdown_to_text(markdown: str) -> str:
    """Return the plain text that Markdown renders as: no emphasis, links or escapes; HTML stays as text.

    >>> citation_markdown_to_text("**Generic\\\\<T>** in `depth`")
    'Generic<T> in depth'
    """
    shown_text = [
        event["Text"] if "Text" in event else event["Code"]
        for event in _markdown_text_events(clean_citation_markup(markdown))
    ]
    return " ".join("".join(shown_text).split())


def replace_citation_surrogates(text: str) -> str:
    """Return the text with a question mark for each lone surrogate, which UTF-8 and JSON cannot contain."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _markdown_text_events(markdown: str) -> Iterator[dict[str, str]]:
    for event in pyromark.events(replace_citation_surrogates(markdown)):
        if isinstance(event, dict) and ("Text" in event or "Code" in event):
            yield cast(dict[str, str], event)


def render_source_link(url: str) -> str:
    """Return a URL as a link; a URL that is not a web page is shown as text."""
    encoded = _UNSAFE.sub(_encode_source_url_character, url.strip())
    return f"<{encoded}>" if _LINKED.fullmatch(encoded) else _EMPHASIS.sub(_encode_source_url_character, encoded)


def _escape_markdown_block_start(text: str) -> str:
    """Escape characters that would start a list, a heading or a quote."""
    match = _BLOCK_START.match(text)
    if match is None:
        return text
    if match["number"]:
        return f"{match['number']}\\{text[len(match['number']) :]}"
    return f"\\{text}"


def _encode_source_url_character(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"
