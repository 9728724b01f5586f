"""Gather the entries of a list from the blocks of a stretch: items, lines of a paragraph, rows of a table."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from custody.cite.document import Label, LabelKind, ListEntry, ListTrouble
from custody.cite.entries import YEARS, EntrySpan, LabelSpan, glued_labels, has_address, label_at, read_entry
from custody.cite.markdown import Layout
from custody.cite.walk import CODE, ITEM, PARAGRAPH, ROW, RULE, TABLE, MarkdownBlock

GLUED = "entries run together in one paragraph when rendered"
IN_CODE = "the list stands in code"

_LINE = re.compile(rb"[^\r\n]+(?:\r\n?|\n|\Z)")
_HARD_BREAK = re.compile(rb"(?:[ ]{2,}|\\|<br\s*/?>[ \t]*)(?:\r\n?|\n)?\Z", re.IGNORECASE)
_ITEM = re.compile(rb"[ \t]*(?:([0-9]{1,9})[.)]|[-*+])(?:[ \t]+|(?=[\r\n])|\Z)")
_TASK = re.compile(rb"\[[ xX]\][ \t]+")
_CELL = re.compile(rb"[ \t]*\|?((?:\\\||[^|\r\n])*)\|?")
_NUMBER = re.compile(rb"[ \t*]*([Ss]?)([0-9]{1,9})[ \t*.]*")


@dataclass(slots=True)
class EntryList:
    """What was found so far."""

    entries: list[ListEntry] = field(default_factory=list)
    cut: list[tuple[int, int]] = field(default_factory=list)
    troubles: list[ListTrouble] = field(default_factory=list)
    before: Label | None = None

    @property
    def last(self) -> Label | None:
        """The label of the last entry, or of the one before all of these."""
        return self.entries[-1].label if self.entries else self.before

    def add(self, other: "EntryList") -> None:
        """Take over what ``other`` holds."""
        self.entries.extend(other.entries)
        self.cut.extend(other.cut)
        self.troubles.extend(other.troubles)

    def settled(self, others: int) -> "EntryList":
        """Without lines that only hold an address, where at least as many entries have a label: those are remarks.

        ``others`` counts the labelled ones that are gathered elsewhere: footnotes and link definitions.
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
        """Take one entry, which takes up its own bytes."""
        self.entries.append(entry)
        self.cut.append((entry.start, entry.end))


@dataclass(frozen=True, slots=True)
class _NumberedItem:
    """An item whose number is the list's: which entry it became, the number as written, and as rendered."""

    at: int
    written: int
    rendered: int


def gather(layout: Layout, start: int, end: int, *, paragraph: bool = False, before: Label | None = None) -> EntryList:
    """The entries of a stretch until a rule after them.

    ``paragraph`` says that all of it are lines of one; ``before`` is the label of the entry before it, if there is one.
    """
    gathered = EntryList(before=before)
    if paragraph:
        _lines(layout, start, end, gathered)
        return gathered
    numbered: list[_NumberedItem] = []
    for at, block in layout.blocks_within(start, end):
        if block.inside:
            continue
        if block.kind == RULE and gathered.entries:
            break
        if block.kind == ITEM:
            _item(layout, at, gathered, numbered)
        elif block.kind == PARAGRAPH:
            _lines(layout, block.start, block.end, gathered)
        elif block.kind == TABLE:
            _table(layout, block, gathered)
        elif block.kind == CODE:
            _code(layout, block, gathered)
    _number(gathered, numbered)
    return gathered


def trailing(layout: Layout) -> EntryList:
    """The run of blocks at the end of a report that are nothing but lines with a bracketed number and an address."""
    gathered = EntryList()
    for block in reversed([block for block in layout.blocks if not block.inside]):
        if block.kind == RULE:
            continue
        if block.kind == CODE and not gathered.entries:
            _code(layout, block, gathered, several=True)
            break
        part = EntryList()
        if block.kind == ITEM:
            part = gather(layout, block.start, block.start + 1)
        elif block.kind == PARAGRAPH and _all_bracketed(layout, block):
            part = gather(layout, block.start, block.end)
        if not part.entries or not all(entry.label and entry.url for entry in part.entries):
            break
        if block.number is not None:
            break  # an ordered list at the end of a text says nothing of sources
        gathered.add(part)
    return gathered


def _all_bracketed(layout: Layout, block: MarkdownBlock) -> bool:
    first = label_at(layout, block.start, block.end)
    return first is not None and first.bracketed


def _item(layout: Layout, at: int, gathered: EntryList, numbered: list[_NumberedItem]) -> None:
    block = layout.blocks[at]
    prefix = _ITEM.match(layout.data, block.start, block.end)
    end = layout.trimmed(block.start, block.end)
    if prefix is None:
        return
    body = min(prefix.end(), end)
    if task := _TASK.match(layout.data, body, end):
        body = task.end()
    labelled = _item_label(layout, label_at(layout, body, end), ordered=prefix[1] is not None)
    plain = layout.is_plain(at)
    if labelled is not None:
        _several(layout, labelled, EntrySpan(block.start, end, labelled.body), gathered, plain=plain)
        return
    if prefix[1] is not None and block.number is not None:
        numbered.append(_NumberedItem(len(gathered.entries), int(prefix[1]), block.number))
        label = Label(LabelKind.NUMBER, str(block.number))
        gathered.keep(read_entry(layout, label, EntrySpan(block.start, end, body), plain=plain))
    elif has_address(layout, body, end):
        gathered.keep(read_entry(layout, None, EntrySpan(block.start, end, body), plain=plain))


def _item_label(layout: Layout, labelled: LabelSpan | None, *, ordered: bool) -> LabelSpan | None:
    """A label that an item shows itself; where the list counts already, only one in plain brackets."""
    if ordered and labelled is not None and b"]" not in layout.data[labelled.start : labelled.body]:
        return None
    if labelled is None or (labelled.label.kind is LabelKind.ID and not ordered):
        return labelled
    if not labelled.bracketed and (ordered or not labelled.escaped):
        return None
    return None if int(labelled.label.name) in YEARS else labelled


def _several(layout: Layout, labelled: LabelSpan, at: EntrySpan, gathered: EntryList, *, plain: bool) -> None:
    """An entry, and those that run on in it."""
    begins = [(at.start, labelled), *glued_labels(layout, labelled, at.end)]
    ends = [start for start, _ in begins[1:]] + [at.end]
    for (start, label_span), end in zip(begins, ends, strict=True):
        stop = layout.trimmed(start, end)
        gathered.keep(
            read_entry(layout, label_span.label, EntrySpan(start, stop, min(label_span.body, stop)), plain=plain)
        )
    if len(begins) > 1:
        gathered.troubles.append(ListTrouble(begins[1][0], GLUED))


def _lines(layout: Layout, start: int, end: int, gathered: EntryList) -> None:
    """Entries in the lines of a paragraph: each begins with a label, or holds an address of its own."""
    begins: list[tuple[int, LabelSpan | None]] = []
    previous = None if gathered.last is None else gathered.last.number
    for line in _LINE.finditer(layout.data, start, end):
        labelled = _line_label(label_at(layout, *line.span()), previous)
        if labelled is not None:
            previous = labelled.label.number
            begins.append((line.start(), labelled))
        elif (not begins or begins[-1][1] is None) and has_address(layout, *line.span()):
            begins.append((line.start(), None))
    if not any(labelled is None or layout.data[labelled.body : end].strip() for _, labelled in begins):
        return  # a number alone is a marker, not a list
    ends = [at for at, _ in begins[1:]] + [end]
    for (at, labelled), stop in zip(begins, ends, strict=True):
        stop = layout.trimmed(at, stop)
        if labelled is None:
            gathered.keep(read_entry(layout, None, EntrySpan(at, stop, at)))
        else:
            _several(layout, labelled, EntrySpan(at, stop, min(labelled.body, stop)), gathered, plain=True)
    _glued(layout, [at for at, _ in begins], gathered)


def _line_label(labelled: LabelSpan | None, previous: int | None) -> LabelSpan | None:
    """Without brackets a number at the beginning of a line is a label only if it counts on."""
    if labelled is None or labelled.label.kind is LabelKind.ID:
        return labelled
    number = int(labelled.label.name)
    if labelled.bracketed or labelled.escaped:
        return None if number in YEARS and previous != number - 1 else labelled
    return labelled if number == (1 if previous is None else previous + 1) else None


def _glued(layout: Layout, begins: list[int], gathered: EntryList) -> None:
    """Two entries of one paragraph show as two lines only if a hard break stands between them."""
    for first, second in pairwise(begins):
        if _HARD_BREAK.search(layout.data, max(first, second - 16), second) is None:
            gathered.troubles.append(ListTrouble(second, GLUED))
            return


def _table(layout: Layout, table: MarkdownBlock, gathered: EntryList) -> None:
    """Rows whose first cell is a number; the table is taken out as a whole."""
    found = False
    for _, row in layout.blocks_within(table.start, table.end):
        if row.kind != ROW:
            continue
        end = layout.trimmed(row.start, row.end)
        cell = _CELL.match(layout.data, row.start, end)
        label = None if cell is None else _cell_label(layout, *cell.span(1))
        if cell is None or label is None or cell.end() >= end:
            continue
        entry = read_entry(layout, label, EntrySpan(row.start, end, cell.end()))
        title = " — ".join(part.strip() for part in entry.title.split("|") if part.strip())
        gathered.entries.append(entry._replace(title=title))
        found = True
    if found:
        gathered.cut.append((table.start, layout.trimmed(table.start, table.end)))


def _cell_label(layout: Layout, start: int, end: int) -> Label | None:
    plain = _NUMBER.fullmatch(layout.data, start, end)
    if plain is not None:
        return Label(LabelKind.ID if plain[1] else LabelKind.NUMBER, str(int(plain[2])))
    labelled = label_at(layout, start, end)
    return labelled.label if labelled is not None and not layout.data[labelled.body : end].strip() else None


def _code(layout: Layout, block: MarkdownBlock, gathered: EntryList, *, several: bool = False) -> None:
    """A list in code shows as code; what it lists is listed all the same. ``several``: one line alone is no list."""
    found = EntryList()
    for line in _LINE.finditer(layout.data, block.start, block.end):
        labelled = label_at(layout, *line.span())
        if labelled is not None and labelled.bracketed and has_address(layout, *line.span()):
            stop = layout.trimmed(*line.span())
            found.keep(read_entry(layout, labelled.label, EntrySpan(line.start(), stop, labelled.body)))
    if len(found.entries) > several:
        found.troubles.append(ListTrouble(block.start, IN_CODE))
        gathered.add(found)


def _number(gathered: EntryList, numbered: list[_NumberedItem]) -> None:
    """Give items the numbers that are written, where these count upwards; else those that are rendered."""
    for one_list in _lists(numbered):
        if all(first.written < second.written for first, second in pairwise(one_list)):
            for numbered_item in one_list:
                label = Label(LabelKind.NUMBER, str(numbered_item.written))
                gathered.entries[numbered_item.at] = gathered.entries[numbered_item.at]._replace(label=label)


def _lists(numbered: list[_NumberedItem]) -> Iterator[list[_NumberedItem]]:
    """Items by the list that they are of: a list renders its numbers one after the other."""
    current: list[_NumberedItem] = []
    for item in numbered:
        if current and item.rendered != current[-1].rendered + 1:
            yield current
            current = []
        current.append(item)
    if current:
        yield current
