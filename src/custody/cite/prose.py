"""The sentences of a report's prose, with what stands in each: headings, tables, quotes, code and the list left out."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

import sentencex  # type: ignore[import-untyped]  # 1.0 has no stubs

from custody.cite.document import ListEntry
from custody.cite.markdown import readable
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject
from custody.cite.walk import CODE, HTML, NOTE, PARAGRAPH, QUOTE, ROW, TABLE, MarkdownBlock

# Which sentences carry evidence; this file is the only one that decides it.
# A sentence carries evidence if it has a number (digits, or a word for one), a name, a comparison or change, or a
# quotation. A name is a word with a capital that does not begin the sentence, an acronym, a title in 《》, or a Chinese
# word that ends an institution's name. A sentence that ends with a colon announces what follows, and a short one says
# too little: neither carries evidence.


_DIGIT_OR_QUOTE = re.compile('[0-9０-９“「『《"‘]')
_WORDS = frozenset(
    """dozen dozens hundred hundreds thousand thousands million millions billion billions trillion trillions percent
    half third quarter twice thrice january february march april june july august september october november december
    than more less fewer most least higher lower larger smaller greater faster slower better worse best worst highest
    lowest largest smallest fastest increase increases increased increasing decrease decreases decreased decreasing
    rise rises risen rising rose grow grows grew grown growing growth fell fall falls fallen falling decline declines
    declined declining double doubles doubled doubling triple tripled halved compared versus vs exceed exceeds exceeded
    outperform outperforms outperformed surpass surpasses surpassed drop drops dropped reduce reduces reduced reducing
    reduction""".split()
)
_NAME = re.compile(
    r"(?<=[\w,;:)”’'\"] )[A-Z][\w'’-]*[a-z]|\b[A-Z]{2,}|[a-z][A-Z]|^\W*[A-Z]\w+ [A-Z]\w|(?<=[\u4e00-\u9fff])[A-Za-z]{2}"
)
_CHINESE = re.compile(
    "百分之|[二三四五六七八九十百千万亿两][个名家项年月倍成万亿种次位人元]|一半|数[十百千万亿]"
    "|公司|集团|大学|学院|研究[院所]|研究中心|委员会|协会|学会|银行|法院|政府|国务院|部委|统计局|联盟|基金会|实验室"
    "|比|超过|[高低大小多少]于|优于|不及|增[长加]|下降|提[高升]|降低|上升|减少|扩大|缩小|最[大小高低多少快慢好早]|更[大小高低多少快慢好]|倍|领先|居首|首次|排名"
)
HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
"""One character of Chinese or Japanese."""


def carries_evidence(sentence: str, rules: CiteRules) -> bool:
    """Whether a sentence says something that should rest on a source.

    >>> [carries_evidence(text, CiteRules()) for text in ("The market grew by 12% in 2024.", "This matters a lot.")]
    [True, False]
    """
    text = sentence.rstrip()
    if text.endswith((":", "：")) or not is_long_enough(text, rules):
        return False
    if _DIGIT_OR_QUOTE.search(text) or _NAME.search(text):
        return True
    if not _WORDS.isdisjoint(text.lower().replace(",", " ").replace(".", " ").split()):
        return True
    return not text.isascii() and _CHINESE.search(text) is not None


def is_long_enough(text: str, rules: CiteRules) -> bool:
    """Whether a sentence has enough words, or characters where words are not set apart."""
    if text.count(" ") >= rules.sentence_words_min - 1 and len(text.split()) >= rules.sentence_words_min:
        return True
    return not text.isascii() and len(HAN.findall(text)) >= rules.sentence_signs_min


_NO_PROSE = QUOTE | TABLE | ROW | NOTE | CODE | HTML
_KANA = re.compile("[\u3040-\u30ff]")
_BOLD = (b"**", b"__")
_BOLD_LINE = re.compile(rb"(?:\*\*|__)[^*\n]{1,200}(?:\*\*|__)\s*[:\xef\xbc\x9a]*\s*")
_SIGNS = bytes.maketrans(b"*\n\r\t\x00", b"     ")
_WORD = b"\x1f"
"""White space that the splitter takes for a word: the stop in ``Inc [1].`` ends a sentence, not an abbreviation."""
_LABEL = re.compile(rb"\s*S?\d{1,3}\s*")
"""The words of a link that is no more than a source's number: they state as little as a marker."""
HAN_SHARE_MIN = 0.2
"""From this share of Chinese characters on, a paragraph is Chinese."""
APART = "\n\n"


class Sentence(NamedTuple):
    """One sentence without its markers: its text, the byte at which it begins, whether anything in it cites."""

    text: str
    at: int
    cited: bool


def sentences(subject: AuditSubject) -> list[Sentence]:
    """Every sentence of the prose, in the order of the text."""
    text, marks = _masked(subject)
    papers: dict[str, list[MarkdownBlock]] = {}
    for block in _prose(subject):
        if (words := text[block.start : block.end]).strip():
            papers.setdefault(language_of(words), []).append(block)
    found = [sentence for language, blocks in papers.items() for sentence in _split(language, text, blocks, marks)]
    if len(papers) > 1:
        found.sort(key=attrgetter("at"))
    return found


def sentences_with_uses(subject: AuditSubject) -> Iterator[tuple[Sentence, tuple[ListEntry, ...]]]:
    """Every sentence with the listed sources that its markers name; sentences without any are left out."""
    found = sentences(subject)
    starts = [sentence.at for sentence in found]
    blocks = list(_prose(subject))
    named: dict[int, dict[int, ListEntry]] = {}
    for use in subject.uses:
        at = bisect_right(starts, use.marker.start) - 1
        block = bisect_right(blocks, use.marker.start, key=lambda block: block.start) - 1
        if use.entry is None or at < 0 or block < 0 or not blocks[block].start <= starts[at] < blocks[block].end:
            continue
        if use.marker.start < blocks[block].end:
            named.setdefault(at, {})[id(use.entry)] = use.entry
    for at in sorted(named):
        yield found[at], tuple(named[at].values())


def _masked(subject: AuditSubject) -> tuple[bytes, list[int]]:
    """The report with a space for every byte of a marker, of code and of a link but its words; and what cites where.

    Every byte stays in its place, so that a sentence is found again in the report itself.
    """
    layout = subject.layout
    text = bytearray(layout.data if layout.broken is None else readable(layout.data)[0].encode())
    marks = [marker.start for marker in subject.markers]
    for start, end in layout.guarded:
        text[start:end] = b" " * (end - start)
    for link in layout.links:
        if not link.image and not link.bare:
            words = layout.data[link.start + 1 : link.text_end]
            shown = b" " * len(words) if _LABEL.fullmatch(words) else readable(words)[0].encode()
            text[link.start + 1 : link.text_end] = shown
    for marker in subject.markers:
        text[marker.start : marker.end] = b" " * (marker.end - marker.start)
        if text[marker.end : marker.end + 1] == b".":
            text[marker.end - 1 : marker.end] = _WORD
    marks += [start for start, _, _ in subject.links]
    return bytes(text).translate(_SIGNS), sorted(marks)


def _prose(subject: AuditSubject) -> Iterator[MarkdownBlock]:
    """Paragraphs and items outside the list that are neither a heading in bold nor quoted."""
    data = subject.layout.data
    for block in subject.layout.blocks:
        if block.kind != PARAGRAPH or block.inside & _NO_PROSE or subject.in_list(block.start):
            continue
        if data.startswith(_BOLD, block.start) and _BOLD_LINE.fullmatch(data, block.start, block.end):
            continue
        yield block


def language_of(text: bytes) -> str:
    """The language by whose rules a text is split into sentences: English, unless its characters say otherwise."""
    if text.isascii():
        return "en"
    characters = text.decode("utf-8", "replace")
    if _KANA.search(characters):
        return "ja"
    return "zh" if len(HAN.findall(characters)) > HAN_SHARE_MIN * len(characters) else "en"


def _split(language: str, text: bytes, blocks: Sequence[MarkdownBlock], marks: Sequence[int]) -> Iterator[Sentence]:
    """The sentences of one language; what cites before the first word of a sentence belongs to the one before it."""
    written = [text[block.start : block.end].decode("utf-8").rstrip() for block in blocks]
    pieces = _paragraphs(sentencex.segment(language, APART.join(written)), written)
    for block, segments in zip(
        blocks, pieces or [sentencex.segment(language, paragraph) for paragraph in written], strict=True
    ):
        yield from _of_paragraph(block, segments, marks)


def _paragraphs(segments: Sequence[str], written: Sequence[str]) -> list[list[str]] | None:
    """Segments by the paragraph that they make up; None if they do not make up these paragraphs.

    What stands between paragraphs is passed over, because the splitter sometimes drops it (sentencex 1.0.32).
    """
    left = iter(segments)
    made: list[list[str]] = []
    for paragraph in written:
        current: list[str] = []
        missing = len(paragraph)
        for segment in left:
            if words := segment.strip("\n"):
                current.append(words)
                missing -= len(words)
            if missing <= 0:
                break
        if missing:
            return None
        made.append(current)
    return made


def _of_paragraph(block: MarkdownBlock, segments: Sequence[str], marks: Sequence[int]) -> Iterator[Sentence]:
    at = block.start
    made: list[Sentence] = []
    for segment in segments:
        start, at = at, at + (len(segment) if segment.isascii() else len(segment.encode()))
        stripped = segment.lstrip()
        if not stripped:
            continue
        # White space is one byte each: it stands for masked bytes, or was a line end.
        begin = start + len(segment) - len(stripped)
        made.append(Sentence(stripped.replace(_WORD.decode(), " "), begin, cited=False))
    first = bisect_left(marks, block.start)
    for mark in marks[first : bisect_left(marks, block.end, first)]:
        # What cites stands before the next sentence's first word, so it belongs to the last that began before it.
        place = max(0, bisect_right(made, mark, key=attrgetter("at")) - 1)
        if made:
            made[place] = made[place]._replace(cited=True)
    yield from made
