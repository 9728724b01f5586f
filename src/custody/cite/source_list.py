"""Find the list of sources in a report.

The list is what stands under a heading that names one (of any level, in bold, or a line of its own), every footnote
definition, and every link definition whose name is a number. Without such a heading it is the run of lines at the end
of the report that all begin with a number in brackets and hold an address. A heading under which nothing is listed
announces no list, and neither does a line after whose entries prose goes on.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator

from custody.cite.document import Label, LabelKind, ListEntry, ListTrouble, Section, SourceListing, note_label
from custody.cite.entries import EntrySpan, address_in, is_web, read_entry, tidy
from custody.cite.list_entries import EntryList, gather, trailing
from custody.cite.markdown import Definition, Layout, address
from custody.cite.urls import url_key
from custody.cite.walk import HEADING, NOTE, PARAGRAPH, RULE, MarkdownBlock

# Which headings announce a list of sources; this file is the only one that knows their names.


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
_CHINESE = re.compile(
    "(?:主要|部分|关键|核心|重要|本文|本报告|报告|相关|数据|信息|资料|文献|参考|引用|引文|引证|注释|附注|脚注|尾注|来源|出处|出典"
    "|链接|列表|书目|清单|目录|说明|网址|网站|官方|外部|完整|全部|主な|一覧|および|参照|文献|附录|与|和|及|的|汇总|索引|序号|編號|參考|資料|來源|資訊)+"
)
_CHINESE_NOUN = re.compile("参考|參考|来源|來源|引用|引文|文献|文獻|脚注|注释|附注|尾注|出处|出典|书目|参照")
_HAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")
_WORDS = re.compile(r"[^\W\d_]+")
_ROMAN = re.compile(r"[ivxl]{1,6}|[a-z]", re.IGNORECASE)
_LEADING = re.compile(r"^[\s#*_]*第?[一二三四五六七八九十百]+[\s、.．:：章节部]+")


def names_a_list(heading: str) -> bool:
    """Whether a heading says that sources follow: every word is a name for them, or may stand beside one.

    >>> names_a_list("7. Key References & Sources:"), names_a_list("八、参考文献"), names_a_list("Sources of Funding")
    (True, True, False)
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


INVISIBLE = "link definitions show nothing, so the list is empty when rendered"

NAME_BYTES_MAX = 120
"""A longer line is no name."""

_NOTE_LABEL = re.compile(rb"\[\^[^\]]*\]:[ \t]*")
_NUMBER_NAME = re.compile(r"([Ss]?)0*([0-9]{1,9})")
_PSEUDO = re.compile(r"\s*(?P<mark>\*\*|__|)(?P<name>[^*\n\[\]#|<>]{2,80}?)\s*[:：]?\s*(?P=mark)\s*[:：]?\s*")
_FIRST_LINE = re.compile(rb"[^\r\n]*(?:\r\n?|\n|\Z)")


def find_listing(layout: Layout) -> SourceListing:
    """Every source that a report lists, in the order of the text."""
    gathered = EntryList()
    sections: list[Section] = []
    for section, part in _announced(layout):
        sections.append(section)
        gathered.add(part)
    gathered.add(_notes(layout))
    if not gathered.entries and not any(_number_label(definition) for definition in layout.definitions):
        gathered.add(trailing(layout))
    _add_definitions(layout, gathered, sections)
    entries = _outermost(gathered.entries)
    if entries and not sections:
        sections.extend(_announced_in_vain(layout))
    troubles = sorted(gathered.troubles, key=lambda trouble: trouble.at)
    return SourceListing(tuple(entries), tuple(sections), tuple(sorted(set(gathered.cut))), tuple(troubles))


def _outermost(entries: list[ListEntry]) -> list[ListEntry]:
    """The entries in the order of the text, without those that stand inside another one."""
    made: list[ListEntry] = []
    for entry in sorted(entries, key=lambda entry: (entry.start, -entry.end)):
        if not made or entry.start >= made[-1].end:
            made.append(entry)
    return made


def _announced(layout: Layout) -> Iterator[tuple[Section, EntryList]]:
    """Sections under a heading that names a list, if anything is listed there."""
    reached = -1
    headings = [block for block in layout.blocks if block.kind == HEADING and not block.inside]
    for at, block in enumerate(layout.blocks):
        if block.start < reached or block.inside:
            continue
        found: tuple[Section, EntryList] | None = None
        if block.kind == HEADING:
            if names_a_list(_heading_text(layout, block)):
                found = _under_heading(layout, block, headings)
        elif block.kind == PARAGRAPH:
            found = _under_line(layout, at)
        if found is not None:
            reached = found[0].end
            yield found


def _heading_text(layout: Layout, block: MarkdownBlock) -> str:
    return layout.text(block.start, min(block.end, block.start + 4 * HEADING_CHARACTERS_MAX))


def _announced_in_vain(layout: Layout) -> Iterator[Section]:
    """A heading at the very end that names a list: where one belongs, if the sources stand elsewhere."""
    last = next((block for block in reversed(layout.blocks) if not block.inside), None)
    if last is not None and last.kind == HEADING and names_a_list(_heading_text(layout, last)):
        end = layout.trimmed(last.start, last.end)
        yield Section(last.start, end, end, last.number or 1)


def _under_heading(
    layout: Layout, heading: MarkdownBlock, headings: list[MarkdownBlock]
) -> tuple[Section, EntryList] | None:
    """What is listed until the next heading of this level, up to the last part in which anything is."""
    level = heading.number or 1
    gathered = EntryList()
    reached = heading.end
    start = heading.end
    for following in headings[bisect_left(headings, heading.end, key=lambda block: block.start) :]:
        if _take(layout, gathered, start, following.start):
            reached = following.start
        elif reached == heading.end and names_a_list(_heading_text(layout, following)):
            return None  # the next heading is the list's own
        start = following.start
        if (following.number or 1) <= level:
            break
    else:
        if _take(layout, gathered, start, len(layout.data)):
            reached = len(layout.data)
    if reached == heading.end:
        return None
    others = _others_within(layout, heading.end, reached)
    return Section(heading.start, heading.end, reached, level), gathered.settled(others)


def _take(layout: Layout, gathered: EntryList, start: int, end: int) -> bool:
    part = gather(layout, start, end)
    gathered.add(part)
    return bool(part.entries) or _others_within(layout, start, end) > 0


def _others_within(layout: Layout, start: int, end: int) -> int:
    """How many footnotes and numbered link definitions stand in a stretch."""
    defined = sum(
        start <= definition.start < end and _number_label(definition) is not None for definition in layout.definitions
    )
    return defined + sum(block.kind == NOTE for _, block in layout.blocks_within(start, end))


def _under_line(layout: Layout, at: int) -> tuple[Section, EntryList] | None:
    """What is listed after a line that names a list: in the rest of its paragraph, and in the blocks that follow."""
    block = layout.blocks[at]
    line_end = layout.data.find(b"\n", block.start, block.end)
    if (block.end if line_end < 0 else line_end) - block.start > NAME_BYTES_MAX:
        return None
    line = _FIRST_LINE.match(layout.data, block.start, block.end)
    name = None if line is None else _PSEUDO.fullmatch(layout.text(*line.span()))
    if line is None or name is None or not names_a_list(name["name"]):
        return None
    gathered = gather(layout, line.end(), block.end, paragraph=True)
    if layout.data[line.end() : block.end].strip() and not (gathered.entries and gathered.cut[0][0] == line.end()):
        return None
    reached = block.end
    for _, following in layout.blocks_within(block.end, len(layout.data)):
        if following.inside:
            continue
        part = gather(layout, following.start, following.start + 1, before=gathered.last)
        if not part.entries and following.kind != NOTE:
            if following.kind == HEADING or following.kind == RULE:
                break
            return None  # prose goes on: the line was one of its own
        gathered.add(part)
        reached = layout.trimmed(following.start, following.end)
    listed = gathered.entries or reached > block.end
    others = _others_within(layout, block.start, reached)
    return (Section(block.start, line.end(), reached), gathered.settled(others)) if listed else None


def _notes(layout: Layout) -> EntryList:
    """Every footnote definition, wherever it stands."""
    gathered = EntryList()
    for at, block in enumerate(layout.blocks):
        if block.kind != NOTE:
            continue
        prefix = _NOTE_LABEL.match(layout.data, block.start, block.end)
        body = prefix.end() if prefix else block.start
        end = layout.trimmed(block.start, block.end)
        entry = read_entry(
            layout, note_label(block.name), EntrySpan(block.start, end, min(body, end)), plain=layout.is_plain(at)
        )
        gathered.entries.append(entry)
        gathered.cut.append((block.start, end))
    return gathered


def _number_label(definition: Definition) -> Label | None:
    match = _NUMBER_NAME.fullmatch(definition.label)
    return None if match is None else Label(LabelKind.ID if match[1] else LabelKind.NUMBER, match[2])


def _is_within(offset: int, ranges: list[tuple[int, int]]) -> bool:
    at = bisect_left(ranges, offset + 1, key=lambda bounds: bounds[0]) - 1
    return at >= 0 and offset < ranges[at][1]


def _add_definitions(layout: Layout, gathered: EntryList, sections: list[Section]) -> None:
    """Link definitions whose names are numbers: sources of their own, or the addresses of listed ones."""
    listed = {entry.label: at for at, entry in enumerate(gathered.entries)}
    unseen: list[Definition] = []
    taken = sorted(gathered.cut)
    for definition in layout.definitions:
        label = _number_label(definition)
        if label is None or _is_within(definition.start, taken):
            continue
        end = layout.trimmed(definition.start, definition.end)
        gathered.cut.append((definition.start, end))
        at = listed.get(label)
        if at is None:
            entry = ListEntry(label, tidy(definition.title), None, definition.start, end, definition.start)
            gathered.entries.append(_with_address(entry, definition.url))
            unseen.append(definition)
        else:
            gathered.entries[at] = _with_address(gathered.entries[at], definition.url)
    for section in sections:
        within = [definition for definition in unseen if section.heading_start <= definition.start < section.end]
        if within:
            gathered.troubles.append(ListTrouble(within[0].start, INVISIBLE))


def _with_address(entry: ListEntry, url: str) -> ListEntry:
    """The entry with an address that is defined for it; one that cannot be its own is said in its title."""
    if not url or (entry.url is not None and url_key(entry.url) == url_key(url) is not None):
        return entry
    if entry.url is None and is_web(url):
        return entry._replace(url=url)
    said = address(url).strip("<>")
    title = entry.title if said in entry.title else tidy(f"{entry.title} {said}")
    if entry.url is None and (own := address_in(title)) is not None:
        return entry._replace(title=tidy(f"{title[: own[1]]} {title[own[2] :]}"), url=own[0])
    return entry._replace(title=title, url=entry.url or url)
