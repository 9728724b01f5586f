"""The parts of a list entry: label, title, URL."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from custody.cite.document import NUMBER, Label, LabelKind, ListEntry, compile_citation_pattern, normalize_marker_number
from custody.cite.markdown import Layout
from custody.cite.walk import MarkdownLink
from custody.core.patterns import lazy_pattern

_NUMBER_IN_BRACKETS = rf"(?:\[|［|【)[ \t]?(?P<s1>[Ss]?)(?P<n1>{NUMBER})[ \t]?(?:\](?!\()|］|】)"
_LABEL = compile_citation_pattern(
    rf"[ \t]{{0,8}}(?P<em>\*\*|__|\*|_)?(?:{_NUMBER_IN_BRACKETS}"
    rf"|(?P<s2>[Ss])(?P<n2>{NUMBER})(?=[ \t]*(?::|：|\.|\)|–|—|-|\*|\||\Z))"
    rf"|\\\[(?P<s5>[Ss]?)(?P<n5>{NUMBER})\\\]"
    rf"|(?:\(|（)(?P<n3>{NUMBER})(?:\)|）)"
    rf"|(?P<n4>{NUMBER})(?:\.(?![0-9])|\)|、|．)"
    r")(?:(?::|：)(?=\*|_))?(?(em)(?P=em)?)[ \t]*(?::(?!//)|：|–[ \t]|—[ \t]|-[ \t])?[ \t]*"
)
_RUN_ON = compile_citation_pattern(rf"\[(?P<s>[Ss]?)(?P<n>{NUMBER})\](?!\()")
_BEFORE_RUN_ON = (b" ", b"\t", b"\n", b"\r", b";", "。".encode(), "；".encode())
_ADDRESS = lazy_pattern(r"(?:https?|ftp)://[^\s<\"|「」『』“”（）【】《》，。；、]+", re.IGNORECASE)
_BARE = lazy_pattern(
    r"www\.[^\s<\"|（），。；、]+|\b(?:javascript|vbscript|data|file|blob|about):[^\s<>\"]+", re.IGNORECASE
)
NO_PAGE = lazy_pattern(r"\s*(javascript|vbscript|data|file|blob|about):", re.IGNORECASE)
"""Schemes of URLs that are not pages and may run a program."""
_TRAILING = ".,;:!?'*_>"
_EDGES = " \t\r\n-–—:：|,，;；·•"
_ANNOUNCED = lazy_pattern(
    r"\b(?:URL|Links?|Available(?: at)?|Retrieved from)\s*[:：]\s*$|(?:链接|网址|来源|地址)\s*[:：]\s*$", re.IGNORECASE
)
_EMPTY_PAIRS = lazy_pattern(r"\(\s*\)|（\s*）|\[\s*\]|<\s*>|【\s*】")
_PAIRS = ("()", "( )", "（）", "（ ）", "[]", "[ ]", "<>", "< >", "【】", "【 】")
_BREAK = lazy_pattern(r"<br\s*/?>", re.IGNORECASE)
_ITEM = lazy_pattern(r"[\r\n]+[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?=\s)")
_SHOWN = lazy_pattern(rb"\\?\[?\^?([Ss]?)([0-9]{1,9})\\?\]?")
SHOWN_BYTES_MAX = 16
YEARS = range(1000, 2200)
"""A bracketed year is not a label, unless the list has it."""


class LabelSpan(NamedTuple):
    """A label at the start of a byte range, and the offset after it."""

    label: Label
    start: int
    body: int
    bracketed: bool
    """In ``[]``, ``［］`` or ``【】``."""
    escaped: bool
    r"""In ``\[\]``."""


def parse_source_label(layout: Layout, start: int, end: int) -> LabelSpan | None:
    """Return the label at the start of a byte range, if there is one."""
    match = _LABEL.match(layout.data, start, end)
    if match is None:
        return None
    number = match["n1"] or match["n2"] or match["n5"] or match["n3"] or match["n4"]
    kind = LabelKind.ID if match["s1"] or match["s2"] or match["s5"] else LabelKind.NUMBER
    label = Label(kind, normalize_marker_number(number))
    return LabelSpan(label, match.start(), match.end(), match["n1"] is not None, match["n5"] is not None)


def find_inline_source_labels(layout: Layout, labelled: LabelSpan, end: int) -> Iterator[tuple[int, LabelSpan]]:
    """Yield further entries inside an entry: bracketed labels that count on, with their offsets."""
    number = labelled.label.number
    for match in _RUN_ON.finditer(layout.data, labelled.body, end):
        if number is None or not layout.data[match.start() - 3 : match.start()].endswith(_BEFORE_RUN_ON):
            continue
        if layout.is_guarded(match.start()):
            continue
        kind = LabelKind.ID if match["s"] else LabelKind.NUMBER
        label = Label(kind, normalize_marker_number(match["n"]))
        if label.number == number + 1 and kind is labelled.label.kind:
            number += 1
            labeled = parse_source_label(layout, match.start(), end)
            if labeled is not None:
                yield match.start(), labeled


class EntrySpan(NamedTuple):
    """The byte range of an entry, and the offset after its label."""

    start: int
    end: int
    body: int


def parse_source_entry(layout: Layout, label: Label | None, at: EntrySpan, *, plain: bool = True) -> ListEntry:
    """Parse the entry in a byte range: its URL, and the rest as its title.

    Its URL is the one in angle brackets at the end, else the first web URL. Other links stay in the title; a link that
    could run a program becomes text.
    """
    links = [link for link in layout.links_within(at.body, at.end) if not link.image]
    if len(links) == 1 and links[0].bare and links[0].end == at.end and is_web_source_url(links[0].url):
        title = clean_source_title(layout.text(at.body, links[0].start))
        return ListEntry(label, title, links[0].url, at.start, at.end, at.body, plain)
    body = at.body
    url: str | None = None
    number = parse_linked_citation_label(layout, links[0]) if links and links[0].start == body else None
    if number is not None:
        # ``[1](https://…) Title``, or ``[1](#back) [Title](https://…)``: the number is the label.
        label, body, url = label or number, links[0].end, links[0].url
        links = links[1:]
    own = (
        _EntryAddress(body, body, url)
        if url is not None and is_web_source_url(url)
        else _find_source_entry_url(layout, links, body, at.end)
    )
    title = _extract_source_entry_title(layout, links, own, body, at.end)
    url = own.url if own is not None else _find_non_web_source(links, title)
    return ListEntry(label, clean_source_title(title), url, at.start, at.end, at.body, plain)


class _EntryAddress(NamedTuple):
    """The URL of an entry, its byte range, and the text shown instead."""

    start: int
    end: int
    url: str
    shown: str = ""


def _find_source_entry_url(layout: Layout, links: list[MarkdownLink], start: int, end: int) -> _EntryAddress | None:
    if links and links[-1].bare and links[-1].end == end and is_web_source_url(links[-1].url):
        return _EntryAddress(links[-1].start, end, links[-1].url)
    link = next((markdown_link for markdown_link in links if is_web_source_url(markdown_link.url)), None)
    before = layout.text(start, end if link is None else link.start)
    if (url_match := find_source_url(before)) is not None:
        first = start + len(before[: url_match[1]].encode("utf-8", "surrogateescape"))
        return _EntryAddress(first, first + len(url_match[0].encode("utf-8", "surrogateescape")), url_match[0], " ")
    return None if link is None else _EntryAddress(link.start, link.end, link.url, _source_link_text(layout, link))


def _extract_source_entry_title(
    layout: Layout, links: list[MarkdownLink], own: _EntryAddress | None, start: int, end: int
) -> str:
    """Return the text of an entry without its URL, with links that could run a program as text."""
    swaps = [] if own is None else [(own.start, own.end, own.shown)]
    swaps += [
        (link.start, link.end, f"{_source_link_text(layout, link)} {link.url}")
        for link in links
        if NO_PAGE.match(link.url) and (own is None or not own.start <= link.start < own.end)
    ]
    title, at = "", start
    for first, last, shown in sorted(swaps):
        title += layout.text(at, first)
        if title.rstrip()[-1:] in ":：":
            title = _ANNOUNCED.sub("", title)
        title += shown
        at = last
    return title + layout.text(at, end)


def _find_non_web_source(links: list[MarkdownLink], title: str) -> str | None:
    """Return the target of an entry that is not a web page: a file, a domain, a program."""
    link = next(
        (markdown_link.url for markdown_link in links if markdown_link.url and not markdown_link.url.startswith("#")),
        None,
    )
    if link is not None:
        return link
    match = _BARE.search(title)
    return match[0].rstrip(_TRAILING) if match else None


def has_source_url(layout: Layout, start: int, end: int) -> bool:
    """Return whether a byte range contains a link to another page or a URL."""
    if any(not link.image and not link.url.startswith("#") for link in layout.links_within(start, end)):
        return True
    text = layout.text(start, end)
    return _ADDRESS.search(text) is not None or _BARE.search(text) is not None


def is_web_source_url(url: str) -> bool:
    """Return whether a URL can be written as a link to another page."""
    return _ADDRESS.match(url) is not None


def parse_linked_citation_label(layout: Layout, link: MarkdownLink) -> Label | None:
    """Return the number that a link shows as its text; None if it shows anything else."""
    if link.image or link.bare or link.text_end - link.start > SHOWN_BYTES_MAX:
        return None
    match = _SHOWN.fullmatch(layout.data, link.start + 1, link.text_end)
    if match is None:
        return None
    return Label(LabelKind.ID if match[1] else LabelKind.NUMBER, normalize_marker_number(match[2]))


def clean_source_title(title: str) -> str:
    """Return a title on one line, without words that only introduce the URL."""
    if "\n" in title or "\r" in title:
        title = _ITEM.sub(" — ", title)
    if "<" in title:
        title = _BREAK.sub(" ", title)
    title = " ".join(title.split())
    title = title.strip(_EDGES)
    while any(pair in title for pair in _PAIRS):
        title = _EMPTY_PAIRS.sub("", title).strip(_EDGES)
    return title.replace("**", "", 1).strip(_EDGES) if title.count("**") % 2 else title


def _source_link_text(layout: Layout, link: MarkdownLink) -> str:
    """Return the text of a link, unless that is its own URL."""
    if link.bare:
        return ""
    text = layout.text(link.start + 1, link.text_end)
    return "" if _ADDRESS.fullmatch(text) else text


def find_source_url(text: str) -> tuple[str, int, int] | None:
    """Return the first URL in a text with its offset, without trailing punctuation."""
    match = _ADDRESS.search(text) if "://" in text else None
    if match is None:
        return None
    url = match[0].rstrip(_TRAILING)
    while url and url[-1] in ")]" and url.count(")") + url.count("]") > url.count("(") + url.count("["):
        url = url[:-1].rstrip(_TRAILING)
    return url, match.start(), match.start() + len(url)
