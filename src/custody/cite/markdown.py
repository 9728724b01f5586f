"""One parse of a Markdown text: its blocks, its links, and the bytes in which no marker can stand.

This file is the only one that asks the parser. The work grows with the text, not with its square.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import pyromark
from pyromark import Options

from custody.cite.document import TextPlace
from custody.cite.walk import CODE, TABLE, MarkdownBlock, MarkdownLink, walk

OPTIONS = (
    Options.ENABLE_TABLES
    | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_MATH
    | Options.ENABLE_GFM
)

# A text may also begin with a rule, so the first line has to look like a key.
_FRONT = re.compile(
    rb"\A(?:\xef\xbb\xbf)?(?:"
    rb"---[ \t]*\r?\n[\w\"'][^\n:]*:(?:[ \t].*)?\r?\n(?:.*\r?\n)*?(?:---|\.\.\.)"
    rb"|\+\+\+[ \t]*\r?\n[\w\"'][^\n=]*=.*\r?\n(?:.*\r?\n)*?\+\+\+"
    rb")[ \t]*(?:\r?\n|\Z)"
)
_LINE_END = re.compile(rb"\r\n?|\n")
_ADDRESS = re.compile(rb"https?://[^\s<\[\]\"|\xe3\xef]+(?:\[[^\]\s]{0,64}\][=&/?#.][^\s<\[\]\"|\xe3\xef]*)*")
_DEFINITION = re.compile(
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


@dataclass(frozen=True, slots=True)
class Layout:
    """A text and its parse."""

    data: bytes
    blocks: tuple[MarkdownBlock, ...]
    links: tuple[MarkdownLink, ...]
    definitions: tuple[Definition, ...]
    guarded: tuple[tuple[int, int], ...]
    """Code, links, HTML, math, front matter and bare addresses: sorted, apart from each other."""
    addresses: tuple[tuple[int, int], ...]
    """Addresses that stand in the text as they are, not as links."""
    broken: int | None
    """The first byte that is no UTF-8, or None."""
    _lines: list[int] = field(default_factory=list)
    _last: list[tuple[int, TextPlace]] = field(default_factory=list)

    def place(self, offset: int) -> TextPlace:
        """The line and the column of a byte; quick for one place after the other, also on one long line."""
        if not self._lines:
            self._lines.append(0)
            self._lines.extend(found.end() for found in _LINE_END.finditer(self.data))
        line = bisect_right(self._lines, offset)
        start, column = self._lines[line - 1], 1
        if self._last and self._last[0][1].line == line and self._last[0][0] <= offset:
            start, column = self._last[0][0], self._last[0][1].column
        place = TextPlace(line, column + len(self.data[start:offset].decode("utf-8", "surrogateescape")))
        self._last[:] = [(offset, place)]
        return place

    def is_guarded(self, offset: int) -> bool:
        """Whether no marker can begin at this byte."""
        at = bisect_right(self.guarded, (offset, len(self.data) + 1)) - 1
        return at >= 0 and self.guarded[at][1] > offset

    def links_within(self, start: int, end: int) -> tuple[MarkdownLink, ...]:
        """The links that begin in a stretch."""
        first = bisect_left(self.links, (start,))
        return self.links[first : bisect_left(self.links, (end,))]

    def blocks_from(self, start: int) -> int:
        """The index of the first block that begins at or after a byte."""
        return bisect_left(self.blocks, start, key=_start_of)

    def blocks_within(self, start: int, end: int) -> Iterator[tuple[int, MarkdownBlock]]:
        """The blocks that begin in a stretch, with their indices."""
        for at in range(self.blocks_from(start), len(self.blocks)):
            if self.blocks[at].start >= end:
                break
            yield at, self.blocks[at]

    def is_plain(self, at: int) -> bool:
        """Whether the block with this index holds neither code nor a table: what can be said on one line."""
        end = self.blocks[at].end
        for place in range(at + 1, len(self.blocks)):
            block = self.blocks[place]
            if block.start >= end:
                return True
            if block.kind == CODE or block.kind == TABLE:
                return False
        return True

    def trimmed(self, start: int, end: int) -> int:
        """The end of a stretch without the white space that it ends with."""
        return start + len(self.data[start:end].rstrip())

    def text(self, start: int, end: int) -> str:
        """A stretch as characters; bytes that are no UTF-8 come back when it is encoded with ``surrogateescape``."""
        return self.data[start:end].decode("utf-8", "surrogateescape")


def lay_out(data: bytes) -> Layout:
    """Parse ``data`` once. Bytes that are no UTF-8 are kept and read as if each were a question mark."""
    # Front matter is ours to find: the parser would see it in the middle of a text too, between two rules.
    front = _FRONT.match(data)
    base = front.end() if front else 0
    text, broken = readable(data[base:])
    walked = walk(data, base, pyromark.events_with_range(text, options=OPTIONS, merge_text=True))
    definitions = _definitions(text, base) if b"]:" in data else ()
    definitions += tuple(_repeated(data, base, definitions, walked.blocks)) if definitions else ()
    walked.guarded.append((0, base))
    walked.guarded.extend((definition.start, definition.end) for definition in definitions)
    guarded = _joined(walked.guarded)
    addresses = tuple(_apart(_ADDRESS.finditer(data, base), guarded))
    walked.links.sort()
    return Layout(
        data=data,
        blocks=tuple(walked.blocks),
        links=tuple(walked.links),
        definitions=definitions,
        guarded=_joined((*guarded, *addresses)),
        addresses=addresses,
        broken=None if broken is None else base + broken,
    )


def _apart(found: Iterator[re.Match[bytes]], guarded: tuple[tuple[int, int], ...]) -> Iterator[tuple[int, int]]:
    """The matches that do not begin in guarded bytes; both come in order."""
    at = 0
    for match in found:
        while at < len(guarded) and guarded[at][1] <= match.start():
            at += 1
        if at == len(guarded) or match.start() < guarded[at][0]:
            yield match.span()


def readable(data: bytes) -> tuple[str, int | None]:
    """The text with one sign of one byte for each byte that is no UTF-8, and the place of the first of them."""
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        return _LOST.sub("?", data.decode("utf-8", "surrogateescape")), error.start


def _start_of(block: MarkdownBlock) -> int:
    return block.start


def _definitions(text: str, base: int) -> tuple[Definition, ...]:
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


def _repeated(
    data: bytes, base: int, known: tuple[Definition, ...], blocks: list[MarkdownBlock]
) -> Iterator[Definition]:
    """Numbered definitions of a name that is defined already: the parser passes them over, and so does a renderer."""
    taken = {definition.start for definition in known}
    outer = [block for block in blocks if not block.inside]
    starts = [block.start for block in outer]
    for match in _DEFINITION.finditer(data, base):
        at = bisect_right(starts, match.start()) - 1
        if match.start() in taken or (at >= 0 and match.start() < outer[at].end):
            continue
        label, url, title = (part.decode("utf-8", "replace") for part in match.group(1, 2, 3))
        yield Definition(label, url, title, *match.span())


def _joined(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same bytes as ranges that do not touch, in order.

    >>> _joined([(5, 7), (0, 2), (1, 3), (3, 3)])
    ((0, 3), (5, 7))
    """
    made: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((start, end))
    return tuple(made)


_LOST = re.compile("[\udc80-\udcff]")


# How sources are written into Markdown: titles that cannot act, addresses that cannot end early.
# ``escape_markdown`` is for plain text (a registry's title), ``keep_inline_markup`` for Markdown that stood in a
# report.
# >>> escape_markdown("Generic<T> in *depth* [2]") 'Generic\\<T\\> in \\*depth\\* \\[2\\]' >>>
# keep_inline_markup("Generic<T> in *depth* [2]") 'Generic\\<T> in *depth* \\[2\\]' >>> address("https://example.org/a
# b>c") '<https://example.org/a%20b%3Ec>'


_ACTIVE = re.compile(r"[\\`*_\[\]<>&~$|^]")
_CODE_OR_ESCAPE = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?:(?!(?<!`)(?P=ticks)(?!`)).)*?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<marker>\[(?:\^[^\]\s]{1,80}|\s?S?[0-9][S0-9,;\s–-]{0,40})\])"
    r"|(?P<open><)",
    re.IGNORECASE,
)
_BLOCK_START = re.compile(
    r"(?P<number>[0-9]{1,9})[.)](?=\s|$)|#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|=+$|~~~|```(?![^`]*`)|\[[ xX]\](?=\s|$)"
)
_UNSAFE = re.compile('[\x00-\x20"<>\\\\^`{|}\x7f]')
_EMPHASIS = re.compile(r"[*\[\]]")
_LINKED = re.compile(r"(?:https?|ftp)://[^\s<>]+", re.IGNORECASE)


def escape_markdown(text: str) -> str:
    """Plain text as Markdown that shows exactly it, on one line."""
    return _at_start(_ACTIVE.sub(r"\\\g<0>", " ".join(text.split())))


def keep_inline_markup(markdown: str, renamed: Callable[[str], str | None] = lambda _name: None) -> str:
    """Markdown of a report on one line, with its emphasis and code, without HTML and without markers.

    ``renamed`` says how a reference to a footnote is written now; what it does not know is shown as text.
    """

    def written(match: re.Match[str]) -> str:
        if match["open"]:
            return "\\<"
        if match["marker"]:
            new = renamed(match[0][2:-1]) if match[0].startswith("[^") else None
            return new or f"\\{match[0][:-1]}\\]"
        return match[0]

    line = " ".join(markdown.split())
    return _at_start(_CODE_OR_ESCAPE.sub(written, line) if "<" in line or "[" in line else line)


def plain(markdown: str) -> str:
    """Markdown of a report as the text that it shows: no emphasis, no links, no escapes; HTML is text.

    >>> plain("**Generic\\\\<T>** in `depth`")
    'Generic<T> in depth'
    """
    shown_text = [
        event["Text"] if "Text" in event else event["Code"] for event in _events(keep_inline_markup(markdown))
    ]
    return " ".join("".join(shown_text).split())


def whole_characters(text: str) -> str:
    """The text with a question mark for each half of a character, which UTF-8 and JSON cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _events(markdown: str) -> Iterator[dict[str, str]]:
    for event in pyromark.events(whole_characters(markdown)):
        if isinstance(event, dict) and ("Text" in event or "Code" in event):
            yield cast(dict[str, str], event)


def address(url: str) -> str:
    """An address as a link; one that is not of the web is shown, never linked."""
    encoded = _UNSAFE.sub(_encoded, url.strip())
    return f"<{encoded}>" if _LINKED.fullmatch(encoded) else _EMPHASIS.sub(_encoded, encoded)


def _at_start(text: str) -> str:
    """What would begin a list, a heading or a quote at the start of a line does not."""
    match = _BLOCK_START.match(text)
    if match is None:
        return text
    if match["number"]:
        return f"{match['number']}\\{text[len(match['number']) :]}"
    return f"\\{text}"


def _encoded(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"
