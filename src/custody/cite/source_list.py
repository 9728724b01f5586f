"""The source list of a report.

The list is everything under a heading that names one (of any level, in bold, or a line of its own), every footnote
definition, and every link definition with a number as its name. Without such a heading it is the lines at the end
of the report that all start with a bracketed number and contain a URL. A heading without entries is not
a list, nor is a line with prose after its entries.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator

from custody.cite.document import Label, LabelKind, ListEntry, ListTrouble, Section, SourceListing, to_footnote_label
from custody.cite.entries import EntrySpan, clean_source_title, find_source_url, is_web_source_url, parse_source_entry
from custody.cite.list_entries import EntryList, parse_source_entries, parse_trailing_source_list
from custody.cite.markdown import Definition, Layout, render_source_link
from custody.cite.urls import compute_source_url_key
from custody.cite.walk import HEADING, NOTE, PARAGRAPH, RULE, MarkdownBlock
from custody.core.patterns import lazy_pattern

# Recognize headings of source lists; only this file has their names.


HEADING_CHARACTERS_MAX = 100

_NOUNS = frozenset(
    """sources source references reference refs bibliography footnotes endnotes notes citations literature works
    quellen quellenverzeichnis quellenangaben literaturverzeichnis literatur einzelnachweise fußnoten
    références bibliographie referencias fuentes bibliografía referências fontes bibliografia riferimenti fonti
    источники литература 출처 참고문헌""".split()
)
_BESIDE = frozenset(
    """key main primary secondary selected cited full complete all data research additional further external numbered
    official the used consulted with and of list table section url urls index summary inline notes links web online
    information appendix report our annotated footnote citation for this to""".split()
)
_CHINESE = lazy_pattern(
    "(?:主要|部分|关键|核心|重要|本文|本报告|报告|相关|数据|信息|资料|文献|参考|引用|引文|引证|注释|附注|脚注|尾注|来源|出处|出典"
    "|链接|列表|书目|清单|目录|说明|网址|网站|官方|外部|完整|全部|主な|一覧|および|参照|文献|附录|与|和|及|的|汇总|索引|序号|編號|參考|資料|來源|資訊)+"
)
_CHINESE_NOUN = lazy_pattern("参考|參考|来源|來源|引用|引文|文献|文獻|脚注|注释|附注|尾注|出处|出典|书目|参照")
_HAN = lazy_pattern("[\u3040-\u30ff\u4e00-\u9fff]")
_WORDS = lazy_pattern(r"[^\W\d_]+")
_ROMAN = lazy_pattern(r"[ivxl]{1,6}|[a-z]", re.IGNORECASE)
_LEADING = lazy_pattern(r"^[\s#*_]*第?[一二三四五六七八九十百]+[\s、.．:：章节部]+")


def is_source_list_heading(heading: str) -> bool:
    """Return whether a heading names a source list: every word is a name for sources or a usual addition.

    >>> list(map(is_source_list_heading, ("7. Key References & Sources:", "八、参考文献", "Sources of Funding")))
    [True, True, False]
    """
    if len(heading) > HEADING_CHARACTERS_MAX:
        return False
    words = _WORDS.findall(heading.casefold())
    if _NOUNS.isdisjoint(words) and (heading.isascii() or _CHINESE_NOUN.search(heading) is None):
        return False
    for word in _WORDS.findall(_LEADING.sub("", heading).casefold()):
        if _HAN.search(word):
            if _CHINESE.fullmatch(word) is None:
                return False
        elif word not in _NOUNS and word not in _BESIDE and _ROMAN.fullmatch(word) is None:
            return False
    return True


INVISIBLE = "link definitions render as nothing, so the list is empty"

NAME_BYTES_MAX = 120
"""Maximum length of a line that names a list."""

_NOTE_LABEL = lazy_pattern(rb"\[\^[^\]]*\]:[ \t]*")
_NUMBER_NAME = lazy_pattern(r"([Ss]?)0*([0-9]{1,9})")
_PSEUDO = lazy_pattern(r"\s*(?P<mark>\*\*|__|)(?P<name>[^*\n\[\]#|<>]{2,80}?)\s*[:：]?\s*(?P=mark)\s*[:：]?\s*")
_FIRST_LINE = lazy_pattern(rb"[^\r\n]*(?:\r\n?|\n|\Z)")


def find_source_listing(layout: Layout) -> SourceListing:
    """Return the listed sources of a report, in the order of the text."""
    gathered = EntryList()
    sections: list[Section] = []
    for section, part in _find_source_sections(layout):
        sections.append(section)
        gathered.add(part)
    gathered.add(_parse_footnote_definitions(layout))
    if not gathered.entries and not any(_source_label_from_definition(definition) for definition in layout.definitions):
        gathered.add(parse_trailing_source_list(layout))
    _add_link_definitions(layout, gathered, sections)
    entries = _drop_nested_source_entries(gathered.entries)
    if entries and not sections:
        sections.extend(_find_empty_source_heading(layout))
    troubles = sorted(gathered.troubles, key=lambda trouble: trouble.at)
    return SourceListing(tuple(entries), tuple(sections), tuple(sorted(set(gathered.cut))), tuple(troubles))


def _drop_nested_source_entries(entries: list[ListEntry]) -> list[ListEntry]:
    """Return the entries in the order of the text, without entries inside another."""
    kept_entries: list[ListEntry] = []
    for entry in sorted(entries, key=lambda entry: (entry.start, -entry.end)):
        if not kept_entries or entry.start >= kept_entries[-1].end:
            kept_entries.append(entry)
    return kept_entries


def _find_source_sections(layout: Layout) -> Iterator[tuple[Section, EntryList]]:
    """Yield the sections under a heading that names a list, if they have entries."""
    reached = -1
    headings = [block for block in layout.blocks if block.kind == HEADING and not block.inside]
    for at, block in enumerate(layout.blocks):
        if block.start < reached or block.inside:
            continue
        section: tuple[Section, EntryList] | None = None
        if block.kind == HEADING:
            if is_source_list_heading(_source_heading_text(layout, block)):
                section = _parse_source_section(layout, block, headings)
        elif block.kind == PARAGRAPH:
            section = _parse_sources_after_line(layout, at)
        if section is not None:
            reached = section[0].end
            yield section


def _source_heading_text(layout: Layout, block: MarkdownBlock) -> str:
    return layout.text(block.start, min(block.end, block.start + 4 * HEADING_CHARACTERS_MAX))


def _find_empty_source_heading(layout: Layout) -> Iterator[Section]:
    """Yield an empty section at the end that names a list: the place for a list if the sources are elsewhere."""
    last = next((block for block in reversed(layout.blocks) if not block.inside), None)
    if last is not None and last.kind == HEADING and is_source_list_heading(_source_heading_text(layout, last)):
        end = layout.trim_range_end(last.start, last.end)
        yield Section(last.start, end, end, last.number or 1)


def _parse_source_section(
    layout: Layout, heading: MarkdownBlock, headings: list[MarkdownBlock]
) -> tuple[Section, EntryList] | None:
    """Return the entries up to the next heading of this level, until the last part that has any."""
    level = heading.number or 1
    gathered = EntryList()
    reached = heading.end
    start = heading.end
    for following in headings[bisect_left(headings, heading.end, key=lambda block: block.start) :]:
        if _add_source_entries(layout, gathered, start, following.start):
            reached = following.start
        elif reached == heading.end and is_source_list_heading(_source_heading_text(layout, following)):
            return None  # the next heading belongs to the list
        start = following.start
        if (following.number or 1) <= level:
            break
    else:
        if _add_source_entries(layout, gathered, start, len(layout.data)):
            reached = len(layout.data)
    if reached == heading.end:
        return None
    others = _count_footnotes_and_definitions(layout, heading.end, reached)
    return Section(heading.start, heading.end, reached, level), gathered.drop_remarks(others)


def _add_source_entries(layout: Layout, gathered: EntryList, start: int, end: int) -> bool:
    part = parse_source_entries(layout, start, end)
    gathered.add(part)
    return bool(part.entries) or _count_footnotes_and_definitions(layout, start, end) > 0


def _count_footnotes_and_definitions(layout: Layout, start: int, end: int) -> int:
    """Return the number of footnotes and numbered link definitions in a byte range."""
    defined = sum(
        start <= definition.start < end and _source_label_from_definition(definition) is not None
        for definition in layout.definitions
    )
    return defined + sum(block.kind == NOTE for _, block in layout.blocks_within(start, end))


def _parse_sources_after_line(layout: Layout, at: int) -> tuple[Section, EntryList] | None:
    """Return the entries after a line that names a list: in its paragraph and in the following blocks."""
    block = layout.blocks[at]
    line_end = layout.data.find(b"\n", block.start, block.end)
    if (block.end if line_end < 0 else line_end) - block.start > NAME_BYTES_MAX:
        return None
    line = _FIRST_LINE.match(layout.data, block.start, block.end)
    name = None if line is None else _PSEUDO.fullmatch(layout.text(*line.span()))
    if line is None or name is None or not is_source_list_heading(name["name"]):
        return None
    gathered = parse_source_entries(layout, line.end(), block.end, paragraph=True)
    if layout.data[line.end() : block.end].strip() and not (gathered.entries and gathered.cut[0][0] == line.end()):
        return None
    reached = block.end
    for _, following in layout.blocks_within(block.end, len(layout.data)):
        if following.inside:
            continue
        part = parse_source_entries(layout, following.start, following.start + 1, before=gathered.last)
        if not part.entries and following.kind != NOTE:
            if following.kind == HEADING or following.kind == RULE:
                break
            return None  # prose follows, so the line does not name a list
        gathered.add(part)
        reached = layout.trim_range_end(following.start, following.end)
    listed = gathered.entries or reached > block.end
    others = _count_footnotes_and_definitions(layout, block.start, reached)
    return (Section(block.start, line.end(), reached), gathered.drop_remarks(others)) if listed else None


def _parse_footnote_definitions(layout: Layout) -> EntryList:
    """Return all footnote definitions."""
    gathered = EntryList()
    for at, block in enumerate(layout.blocks):
        if block.kind != NOTE:
            continue
        prefix = _NOTE_LABEL.match(layout.data, block.start, block.end)
        body = prefix.end() if prefix else block.start
        end = layout.trim_range_end(block.start, block.end)
        entry = parse_source_entry(
            layout,
            to_footnote_label(block.name),
            EntrySpan(block.start, end, min(body, end)),
            plain=layout.is_plain(at),
        )
        gathered.entries.append(entry)
        gathered.cut.append((block.start, end))
    return gathered


def _source_label_from_definition(definition: Definition) -> Label | None:
    match = _NUMBER_NAME.fullmatch(definition.label)
    return None if match is None else Label(LabelKind.ID if match[1] else LabelKind.NUMBER, match[2])


def _is_in_source_ranges(offset: int, ranges: list[tuple[int, int]]) -> bool:
    at = bisect_left(ranges, offset + 1, key=lambda bounds: bounds[0]) - 1
    return at >= 0 and offset < ranges[at][1]


def _add_link_definitions(layout: Layout, gathered: EntryList, sections: list[Section]) -> None:
    """Add link definitions named by numbers: sources of their own, or URLs of listed sources."""
    listed = {entry.label: at for at, entry in enumerate(gathered.entries)}
    unseen: list[Definition] = []
    taken = sorted(gathered.cut)
    for definition in layout.definitions:
        label = _source_label_from_definition(definition)
        if label is None or _is_in_source_ranges(definition.start, taken):
            continue
        end = layout.trim_range_end(definition.start, definition.end)
        gathered.cut.append((definition.start, end))
        at = listed.get(label)
        if at is None:
            entry = ListEntry(
                label, clean_source_title(definition.title), None, definition.start, end, definition.start
            )
            gathered.entries.append(_add_source_entry_url(entry, definition.url))
            unseen.append(definition)
        else:
            gathered.entries[at] = _add_source_entry_url(gathered.entries[at], definition.url)
    for section in sections:
        within = [definition for definition in unseen if section.heading_start <= definition.start < section.end]
        if within:
            gathered.troubles.append(ListTrouble(within[0].start, INVISIBLE))


def _add_source_entry_url(entry: ListEntry, url: str) -> ListEntry:
    """Return the entry with the URL defined for it; a URL that cannot be its own is added to the title."""
    if not url or (
        entry.url is not None and compute_source_url_key(entry.url) == compute_source_url_key(url) is not None
    ):
        return entry
    if entry.url is None and is_web_source_url(url):
        return entry._replace(url=url)
    shown = render_source_link(url).strip("<>")
    title = entry.title if shown in entry.title else clean_source_title(f"{entry.title} {shown}")
    if entry.url is None and (own := find_source_url(title)) is not None:
        return entry._replace(title=clean_source_title(f"{title[: own[1]]} {title[own[2] :]}"), url=own[0])
    return entry._replace(title=title, url=entry.url or url)
