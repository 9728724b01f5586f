"""What one line of a list says: label, title, address."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from custody.cite.document import NUMBER, Label, LabelKind, ListEntry, compile_byte_pattern, number_text
from custody.cite.markdown import Layout
from custody.cite.walk import MarkdownLink

_NUMBER_IN_BRACKETS = rf"(?:\[|［|【)[ \t]?(?P<s1>[Ss]?)(?P<n1>{NUMBER})[ \t]?(?:\](?!\()|］|】)"
_LABEL = compile_byte_pattern(
    rf"[ \t]{{0,8}}(?P<em>\*\*|__|\*|_)?(?:{_NUMBER_IN_BRACKETS}"
    rf"|(?P<s2>[Ss])(?P<n2>{NUMBER})(?=[ \t]*(?::|：|\.|\)|–|—|-|\*|\||\Z))"
    rf"|\\\[(?P<s5>[Ss]?)(?P<n5>{NUMBER})\\\]"
    rf"|(?:\(|（)(?P<n3>{NUMBER})(?:\)|）)"
    rf"|(?P<n4>{NUMBER})(?:\.(?![0-9])|\)|、|．)"
    r")(?:(?::|：)(?=\*|_))?(?(em)(?P=em)?)[ \t]*(?::(?!//)|：|–[ \t]|—[ \t]|-[ \t])?[ \t]*"
)
_RUN_ON = compile_byte_pattern(rf"\[(?P<s>[Ss]?)(?P<n>{NUMBER})\](?!\()")
_BEFORE_RUN_ON = (b" ", b"\t", b"\n", b"\r", b";", "。".encode(), "；".encode())
_ADDRESS = re.compile(r"(?:https?|ftp)://[^\s<\"|「」『』“”（）【】《》，。；、]+", re.IGNORECASE)
_BARE = re.compile(
    r"www\.[^\s<\"|（），。；、]+|\b(?:javascript|vbscript|data|file|blob|about):[^\s<>\"]+", re.IGNORECASE
)
NO_PAGE = re.compile(r"\s*(javascript|vbscript|data|file|blob|about):", re.IGNORECASE)
"""How an address begins that leads to no page, and may run a program."""
_TRAILING = ".,;:!?'*_>"
_EDGES = " \t\r\n-–—:：|,，;；·•"
_ANNOUNCED = re.compile(
    r"\b(?:URL|Links?|Available(?: at)?|Retrieved from)\s*[:：]\s*$|(?:链接|网址|来源|地址)\s*[:：]\s*$", re.IGNORECASE
)
_EMPTY_PAIRS = re.compile(r"\(\s*\)|（\s*）|\[\s*\]|<\s*>|【\s*】")
_PAIRS = ("()", "( )", "（）", "（ ）", "[]", "[ ]", "<>", "< >", "【】", "【 】")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_ITEM = re.compile(r"[\r\n]+[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?=\s)")
_SHOWN = re.compile(rb"\\?\[?\^?([Ss]?)([0-9]{1,9})\\?\]?")
SHOWN_BYTES_MAX = 16
YEARS = range(1000, 2200)
"""A number in brackets that is a year names no source, unless the list says so."""


class LabelSpan(NamedTuple):
    """A label at the beginning of a stretch, and where what it labels begins."""

    label: Label
    start: int
    body: int
    bracketed: bool
    """In ``[]``, ``［］`` or ``【】``."""
    escaped: bool
    r"""In ``\[\]``."""


def label_at(layout: Layout, start: int, end: int) -> LabelSpan | None:
    """The label that a stretch begins with, if it does."""
    match = _LABEL.match(layout.data, start, end)
    if match is None:
        return None
    number = match["n1"] or match["n2"] or match["n5"] or match["n3"] or match["n4"]
    kind = LabelKind.ID if match["s1"] or match["s2"] or match["s5"] else LabelKind.NUMBER
    label = Label(kind, number_text(number))
    return LabelSpan(label, match.start(), match.end(), match["n1"] is not None, match["n5"] is not None)


def glued_labels(layout: Layout, labelled: LabelSpan, end: int) -> Iterator[tuple[int, LabelSpan]]:
    """Further entries in the middle of an entry: bracketed labels that count on, with where each begins."""
    number = labelled.label.number
    for match in _RUN_ON.finditer(layout.data, labelled.body, end):
        if number is None or not layout.data[match.start() - 3 : match.start()].endswith(_BEFORE_RUN_ON):
            continue
        if layout.is_guarded(match.start()):
            continue
        kind = LabelKind.ID if match["s"] else LabelKind.NUMBER
        label = Label(kind, number_text(match["n"]))
        if label.number == number + 1 and kind is labelled.label.kind:
            number += 1
            found = label_at(layout, match.start(), end)
            if found is not None:
                yield match.start(), found


class EntrySpan(NamedTuple):
    """Where an entry stands, and where it begins after its label."""

    start: int
    end: int
    body: int


def read_entry(layout: Layout, label: Label | None, at: EntrySpan, *, plain: bool = True) -> ListEntry:
    """The entry that stands in a stretch: its own address is taken out, the rest is its title.

    Its own is the address in angle brackets at the end, else the first of the web. What leads elsewhere stays in the
    title, a link that could run a program as text.
    """
    links = [link for link in layout.links_within(at.body, at.end) if not link.image]
    if len(links) == 1 and links[0].bare and links[0].end == at.end and is_web(links[0].url):
        title = tidy(layout.text(at.body, links[0].start))
        return ListEntry(label, title, links[0].url, at.start, at.end, at.body, plain)
    body = at.body
    url: str | None = None
    number = shown_number(layout, links[0]) if links and links[0].start == body else None
    if number is not None:
        # ``[1](https://…) Title``, or ``[1](#back) [Title](https://…)``: the number is the label.
        label, body, url = label or number, links[0].end, links[0].url
        links = links[1:]
    own = _EntryAddress(body, body, url) if url is not None and is_web(url) else _own(layout, links, body, at.end)
    title = _title(layout, links, own, body, at.end)
    url = own.url if own is not None else _elsewhere(links, title)
    return ListEntry(label, tidy(title), url, at.start, at.end, at.body, plain)


class _EntryAddress(NamedTuple):
    """The address of an entry, where it stands, and what is shown instead of it."""

    start: int
    end: int
    url: str
    shown: str = ""


def _own(layout: Layout, links: list[MarkdownLink], start: int, end: int) -> _EntryAddress | None:
    if links and links[-1].bare and links[-1].end == end and is_web(links[-1].url):
        return _EntryAddress(links[-1].start, end, links[-1].url)
    link = next((markdown_link for markdown_link in links if is_web(markdown_link.url)), None)
    before = layout.text(start, end if link is None else link.start)
    if (found := address_in(before)) is not None:
        first = start + len(before[: found[1]].encode("utf-8", "surrogateescape"))
        return _EntryAddress(first, first + len(found[0].encode("utf-8", "surrogateescape")), found[0], " ")
    return None if link is None else _EntryAddress(link.start, link.end, link.url, _shown(layout, link))


def _title(layout: Layout, links: list[MarkdownLink], own: _EntryAddress | None, start: int, end: int) -> str:
    """The text of an entry without its own address, and with links that could run a program as text."""
    swaps = [] if own is None else [(own.start, own.end, own.shown)]
    swaps += [
        (link.start, link.end, f"{_shown(layout, link)} {link.url}")
        for link in links
        if NO_PAGE.match(link.url) and (own is None or not own.start <= link.start < own.end)
    ]
    made, at = "", start
    for first, last, shown in sorted(swaps):
        made += layout.text(at, first)
        if made.rstrip()[-1:] in ":：":
            made = _ANNOUNCED.sub("", made)
        made += shown
        at = last
    return made + layout.text(at, end)


def _elsewhere(links: list[MarkdownLink], title: str) -> str | None:
    """What an entry leads to that is no page of the web: a file, a domain, a program."""
    link = next(
        (markdown_link.url for markdown_link in links if markdown_link.url and not markdown_link.url.startswith("#")),
        None,
    )
    if link is not None:
        return link
    found = _BARE.search(title)
    return found[0].rstrip(_TRAILING) if found else None


def has_address(layout: Layout, start: int, end: int) -> bool:
    """Whether a link to another page or an address stands in a stretch."""
    if any(not link.image and not link.url.startswith("#") for link in layout.links_within(start, end)):
        return True
    text = layout.text(start, end)
    return _ADDRESS.search(text) is not None or _BARE.search(text) is not None


def is_web(url: str) -> bool:
    """Whether an address can be written as a link to another page."""
    return _ADDRESS.match(url) is not None


def shown_number(layout: Layout, link: MarkdownLink) -> Label | None:
    """The number that a link shows instead of words; None if it shows anything else."""
    if link.image or link.bare or link.text_end - link.start > SHOWN_BYTES_MAX:
        return None
    match = _SHOWN.fullmatch(layout.data, link.start + 1, link.text_end)
    if match is None:
        return None
    return Label(LabelKind.ID if match[1] else LabelKind.NUMBER, number_text(match[2]))


def tidy(title: str) -> str:
    """A title on one line, without what only led to the address."""
    if "\n" in title or "\r" in title:
        title = _ITEM.sub(" — ", title)
    if "<" in title:
        title = _BREAK.sub(" ", title)
    title = " ".join(title.split())
    title = title.strip(_EDGES)
    while any(pair in title for pair in _PAIRS):
        title = _EMPTY_PAIRS.sub("", title).strip(_EDGES)
    return title.replace("**", "", 1).strip(_EDGES) if title.count("**") % 2 else title


def _shown(layout: Layout, link: MarkdownLink) -> str:
    """What a link shows, unless that is its own address."""
    if link.bare:
        return ""
    text = layout.text(link.start + 1, link.text_end)
    return "" if _ADDRESS.fullmatch(text) else text


def address_in(text: str) -> tuple[str, int, int] | None:
    """The first address in a text with its place, without the punctuation that follows it."""
    match = _ADDRESS.search(text) if "://" in text else None
    if match is None:
        return None
    url = match[0].rstrip(_TRAILING)
    while url and url[-1] in ")]" and url.count(")") + url.count("]") > url.count("(") + url.count("["):
        url = url[:-1].rstrip(_TRAILING)
    return url, match.start(), match.start() + len(url)
