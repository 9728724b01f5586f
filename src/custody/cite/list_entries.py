"""The entries of a source list in a byte range: list items, lines of a paragraph, table rows."""

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct, field

from custody.cite.document import Label, LabelKind, ListEntry, ListTrouble
from custody.cite.entries import (
    YEARS,
    EntrySpan,
    LabelSpan,
    find_inline_source_labels,
    has_source_url,
    parse_source_entry,
    parse_source_label,
)
from custody.cite.markdown import Layout
from custody.cite.walk import CODE, ITEM, PARAGRAPH, ROW, RULE, TABLE, MarkdownBlock
from custody.core.patterns import lazy_pattern

GLUED = "entries run together in one paragraph when rendered"
IN_CODE = "the list is inside code"

_LINE = lazy_pattern(rb"[^\r\n]+(?:\r\n?|\n|\Z)")
_HARD_BREAK = lazy_pattern(rb"(?:[ ]{2,}|\\|<br\s*/?>[ \t]*)(?:\r\n?|\n)?\Z", re.IGNORECASE)
_ITEM = lazy_pattern(rb"[ \t]*(?:([0-9]{1,9})[.)]|[-*+])(?:[ \t]+|(?=[\r\n])|\Z)")
_TASK = lazy_pattern(rb"\[[ xX]\][ \t]+")
_CELL = lazy_pattern(rb"[ \t]*\|?((?:\\\||[^|\r\n])*)\|?")
_NUMBER = lazy_pattern(rb"[ \t*]*([Ss]?)([0-9]{1,9})[ \t*.]*")


class EntryList(Struct):
    """The entries collected so far."""

    entries: list[ListEntry] = field(default_factory=list)
    cut: list[tuple[int, int]] = field(default_factory=list)
    troubles: list[ListTrouble] = field(default_factory=list)
    before: Label | None = None

    @property
    def last(self) -> Label | None:
        """Return the label of the last entry, or of the entry before all of them."""
        return self.entries[-1].label if self.entries else self.before

    def add(self, other: "EntryList") -> None:
        """Add everything from ``other``."""
        self.entries.extend(other.entries)
        self.cut.extend(other.cut)
        self.troubles.extend(other.troubles)

    def drop_remarks(self, others: int) -> "EntryList":
        """Drop lines with only a URL if at least as many entries have a label: such lines are remarks.

        ``others`` counts labeled entries collected elsewhere: footnotes and link definitions.
        """
        bare = [entry for entry in self.entries if entry.label is None]
        if not bare or len(bare) > len(self.entries) - len(bare) + others:
            return self
        gone = {(entry.start, entry.end) for entry in bare}
        return EntryList(
            [entry for entry in self.entries if entry.label is not None],
            [cut for cut in self.cut if cut not in gone],
            [trouble for trouble in self.troubles if not any(start <= trouble.at < end for start, end in gone)],
        )

    def keep(self, entry: ListEntry) -> None:
        """Add an entry with its byte range."""
        self.entries.append(entry)
        self.cut.append((entry.start, entry.end))


class _NumberedItem(Struct, frozen=True):
    """A numbered list item: the index of its entry, its number as written, and as rendered."""

    at: int
    written: int
    rendered: int


def parse_source_entries(
    layout: Layout, start: int, end: int, *, paragraph: bool = False, before: Label | None = None
) -> EntryList:
    """Return the entries in a byte range, up to a thematic break after them.

    ``paragraph`` means that the range is one paragraph; ``before`` is the label of the entry before it, if any.
    """
    gathered = EntryList(before=before)
    if paragraph:
        _parse_source_lines(layout, start, end, gathered)
        return gathered
    numbered: list[_NumberedItem] = []
    for at, block in layout.blocks_within(start, end):
        if block.inside:
            continue
        if block.kind == RULE and gathered.entries:
            break
        if block.kind == ITEM:
            _parse_source_item(layout, at, gathered, numbered)
        elif block.kind == PARAGRAPH:
            _parse_source_lines(layout, block.start, block.end, gathered)
        elif block.kind == TABLE:
            _parse_source_table(layout, block, gathered)
        elif block.kind == CODE:
            _parse_source_code_block(layout, block, gathered)
    _number_source_items(gathered, numbered)
    return gathered


def parse_trailing_source_list(layout: Layout) -> EntryList:
    """Return the blocks at the end of a report that consist of lines with a bracketed number and a URL."""
    gathered = EntryList()
    for block in reversed([block for block in layout.blocks if not block.inside]):
        if block.kind == RULE:
            continue
        if block.kind == CODE and not gathered.entries:
            _parse_source_code_block(layout, block, gathered, several=True)
            break
        part = EntryList()
        if block.kind == ITEM:
            part = parse_source_entries(layout, block.start, block.start + 1)
        elif block.kind == PARAGRAPH and _is_bracketed_source_block(layout, block):
            part = parse_source_entries(layout, block.start, block.end)
        if not part.entries or not all(entry.label and entry.url for entry in part.entries):
            break
        if block.number is not None:
            break  # an ordered list at the end of a text need not list sources
        gathered.add(part)
    return gathered


def _is_bracketed_source_block(layout: Layout, block: MarkdownBlock) -> bool:
    first = parse_source_label(layout, block.start, block.end)
    return first is not None and first.bracketed


def _parse_source_item(layout: Layout, at: int, gathered: EntryList, numbered: list[_NumberedItem]) -> None:
    block = layout.blocks[at]
    prefix = _ITEM.match(layout.data, block.start, block.end)
    end = layout.trim_range_end(block.start, block.end)
    if prefix is None:
        return
    body = min(prefix.end(), end)
    if task := _TASK.match(layout.data, body, end):
        body = task.end()
    labelled = _source_item_label(layout, parse_source_label(layout, body, end), ordered=prefix[1] is not None)
    plain = layout.is_plain(at)
    if labelled is not None:
        _parse_run_on_sources(layout, labelled, EntrySpan(block.start, end, labelled.body), gathered, plain=plain)
        return
    if prefix[1] is not None and block.number is not None:
        numbered.append(_NumberedItem(len(gathered.entries), int(prefix[1]), block.number))
        label = Label(LabelKind.NUMBER, str(block.number))
        gathered.keep(parse_source_entry(layout, label, EntrySpan(block.start, end, body), plain=plain))
    elif has_source_url(layout, body, end):
        gathered.keep(parse_source_entry(layout, None, EntrySpan(block.start, end, body), plain=plain))


def _source_item_label(layout: Layout, labelled: LabelSpan | None, *, ordered: bool) -> LabelSpan | None:
    """Return the label that an item itself shows; in a numbered list, only a plain bracketed label."""
    if ordered and labelled is not None and b"]" not in layout.data[labelled.start : labelled.body]:
        return None
    if labelled is None or (labelled.label.kind is LabelKind.ID and not ordered):
        return labelled
    if not labelled.bracketed and (ordered or not labelled.escaped):
        return None
    return None if int(labelled.label.name) in YEARS else labelled


def _parse_run_on_sources(
    layout: Layout, labelled: LabelSpan, at: EntrySpan, gathered: EntryList, *, plain: bool
) -> None:
    """Add an entry, and further entries inside it."""
    begins = [(at.start, labelled), *find_inline_source_labels(layout, labelled, at.end)]
    ends = [start for start, _ in begins[1:]] + [at.end]
    for (start, label_span), end in zip(begins, ends, strict=True):
        stop = layout.trim_range_end(start, end)
        gathered.keep(
            parse_source_entry(
                layout, label_span.label, EntrySpan(start, stop, min(label_span.body, stop)), plain=plain
            )
        )
    if len(begins) > 1:
        gathered.troubles.append(ListTrouble(begins[1][0], GLUED))


def _parse_source_lines(layout: Layout, start: int, end: int, gathered: EntryList) -> None:
    """Add the entries in the lines of a paragraph: each starts with a label or has a URL."""
    begins: list[tuple[int, LabelSpan | None]] = []
    previous = None if gathered.last is None else gathered.last.number
    for line in _LINE.finditer(layout.data, start, end):
        labelled = _source_line_label(parse_source_label(layout, *line.span()), previous)
        if labelled is not None:
            previous = labelled.label.number
            begins.append((line.start(), labelled))
        elif (not begins or begins[-1][1] is None) and has_source_url(layout, *line.span()):
            begins.append((line.start(), None))
    if not any(labelled is None or layout.data[labelled.body : end].strip() for _, labelled in begins):
        return  # a number alone is a marker, not a list
    ends = [at for at, _ in begins[1:]] + [end]
    for (at, labelled), stop in zip(begins, ends, strict=True):
        stop = layout.trim_range_end(at, stop)
        if labelled is None:
            gathered.keep(parse_source_entry(layout, None, EntrySpan(at, stop, at)))
        else:
            _parse_run_on_sources(layout, labelled, EntrySpan(at, stop, min(labelled.body, stop)), gathered, plain=True)
    _note_missing_source_breaks(layout, [at for at, _ in begins], gathered)


def _source_line_label(labelled: LabelSpan | None, previous: int | None) -> LabelSpan | None:
    """Return whether a number at the start of a line, without brackets, is a label: only if it counts on."""
    if labelled is None or labelled.label.kind is LabelKind.ID:
        return labelled
    number = int(labelled.label.name)
    if labelled.bracketed or labelled.escaped:
        return None if number in YEARS and previous != number - 1 else labelled
    return labelled if number == (1 if previous is None else previous + 1) else None


def _note_missing_source_breaks(layout: Layout, begins: list[int], gathered: EntryList) -> None:
    """Record a problem if entries of a paragraph run together, because no hard break separates them."""
    for first, second in pairwise(begins):
        if _HARD_BREAK.search(layout.data, max(first, second - 16), second) is None:
            gathered.troubles.append(ListTrouble(second, GLUED))
            return


def _parse_source_table(layout: Layout, table: MarkdownBlock, gathered: EntryList) -> None:
    """Add rows with a number in the first cell; the whole table is replaced."""
    has_rows = False
    for _, row in layout.blocks_within(table.start, table.end):
        if row.kind != ROW:
            continue
        end = layout.trim_range_end(row.start, row.end)
        cell = _CELL.match(layout.data, row.start, end)
        label = None if cell is None else _source_cell_label(layout, *cell.span(1))
        if cell is None or label is None or cell.end() >= end:
            continue
        entry = parse_source_entry(layout, label, EntrySpan(row.start, end, cell.end()))
        title = " — ".join(part.strip() for part in entry.title.split("|") if part.strip())
        gathered.entries.append(entry._replace(title=title))
        has_rows = True
    if has_rows:
        gathered.cut.append((table.start, layout.trim_range_end(table.start, table.end)))


def _source_cell_label(layout: Layout, start: int, end: int) -> Label | None:
    plain = _NUMBER.fullmatch(layout.data, start, end)
    if plain is not None:
        return Label(LabelKind.ID if plain[1] else LabelKind.NUMBER, str(int(plain[2])))
    labelled = parse_source_label(layout, start, end)
    return labelled.label if labelled is not None and not layout.data[labelled.body : end].strip() else None


def _parse_source_code_block(
    layout: Layout, block: MarkdownBlock, gathered: EntryList, *, several: bool = False
) -> None:
    """Add the entries of a list inside code, with a problem; ``several`` means that one line is not a list."""
    listed = EntryList()
    for line in _LINE.finditer(layout.data, block.start, block.end):
        labelled = parse_source_label(layout, *line.span())
        if labelled is not None and labelled.bracketed and has_source_url(layout, *line.span()):
            stop = layout.trim_range_end(*line.span())
            listed.keep(parse_source_entry(layout, labelled.label, EntrySpan(line.start(), stop, labelled.body)))
    if len(listed.entries) > several:
        listed.troubles.append(ListTrouble(block.start, IN_CODE))
        gathered.add(listed)


def _number_source_items(gathered: EntryList, numbered: list[_NumberedItem]) -> None:
    """Use the numbers as written if they ascend, else as rendered."""
    for one_list in _group_source_items(numbered):
        if all(first.written < second.written for first, second in pairwise(one_list)):
            for numbered_item in one_list:
                label = Label(LabelKind.NUMBER, str(numbered_item.written))
                gathered.entries[numbered_item.at] = gathered.entries[numbered_item.at]._replace(label=label)


def _group_source_items(numbered: list[_NumberedItem]) -> Iterator[list[_NumberedItem]]:
    """Group items by list, because a list renders consecutive numbers."""
    current: list[_NumberedItem] = []
    for item in numbered:
        if current and item.rendered != current[-1].rendered + 1:
            yield current
            current = []
        current.append(item)
    if current:
        yield current
