"""The sentences of a report's prose, without headings, tables, quotes, code and the source list."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

import sentencex  # type: ignore[import-untyped]  # 1.0 has no stubs

from custody.cite.document import ListEntry
from custody.cite.markdown import decode_markdown
from custody.cite.subject import AuditSubject
from custody.cite.walk import CODE, HTML, NOTE, PARAGRAPH, QUOTE, ROW, TABLE, MarkdownBlock
from custody.core.patterns import lazy_pattern

# Decide which sentences have evidence; only this file does that.
# A sentence has evidence if it contains a number (digits or words), a name, a comparison or change, or a
# quotation. A name is a capitalized word that does not start the sentence, an acronym, a title in 《》, or a Chinese
# word that ends an institution's name. A sentence that ends with a colon introduces what follows, and a short one
# has too little content: neither has evidence.


_DIGIT_OR_QUOTE = lazy_pattern('[0-9０-９“「『《"‘]')
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
_NAME = lazy_pattern(
    r"(?<=[\w,;:)”’'\"] )[A-Z][\w'’-]*[a-z]|\b[A-Z]{2,}|[a-z][A-Z]|^\W*[A-Z]\w+ [A-Z]\w|(?<=[\u4e00-\u9fff])[A-Za-z]{2}"
)
_CHINESE = lazy_pattern(
    "百分之|[二三四五六七八九十百千万亿两][个名家项年月倍成万亿种次位人元]|一半|数[十百千万亿]"
    "|公司|集团|大学|学院|研究[院所]|研究中心|委员会|协会|学会|银行|法院|政府|国务院|部委|统计局|联盟|基金会|实验室"
    "|比|超过|[高低大小多少]于|优于|不及|增[长加]|下降|提[高升]|降低|上升|减少|扩大|缩小|最[大小高低多少快慢好早]|更[大小高低多少快慢好]|倍|领先|居首|首次|排名"
)
SENTENCE_WORDS_MIN = 4
"""Minimum words of a sentence with evidence, unless it is cited."""
SENTENCE_CHARACTERS_MIN = 8
"""The same for Chinese and Japanese, in characters."""
HAN = lazy_pattern("[\u3040-\u30ff\u3400-\u9fff]")
"""One Chinese or Japanese character."""


def is_citable_sentence(sentence: str) -> bool:
    """Return whether a sentence needs a source.

    >>> [is_citable_sentence(text) for text in ("The market grew by 12% in 2024.", "This matters a lot.")]
    [True, False]
    """
    text = sentence.rstrip()
    if text.endswith((":", "：")) or not _is_sentence_long_enough(text):
        return False
    if _DIGIT_OR_QUOTE.search(text) or _NAME.search(text):
        return True
    if not _WORDS.isdisjoint(text.lower().replace(",", " ").replace(".", " ").split()):
        return True
    return not text.isascii() and _CHINESE.search(text) is not None


def _is_sentence_long_enough(text: str) -> bool:
    """Return whether a sentence has enough words, or characters in scripts without spaces."""
    if text.count(" ") >= SENTENCE_WORDS_MIN - 1 and len(text.split()) >= SENTENCE_WORDS_MIN:
        return True
    return not text.isascii() and len(HAN.findall(text)) >= SENTENCE_CHARACTERS_MIN


_NO_PROSE = QUOTE | TABLE | ROW | NOTE | CODE | HTML
_KANA = lazy_pattern("[\u3040-\u30ff]")
_BOLD = (b"**", b"__")
_BOLD_LINE = lazy_pattern(rb"(?:\*\*|__)[^*\n]{1,200}(?:\*\*|__)\s*[:\xef\xbc\x9a]*\s*")
_WHITESPACE = bytes.maketrans(b"*\n\r\t\x00", b"     ")
_WORD = b"\x1f"
"""White space that the splitter treats as a word, so that the period in ``Inc [1].`` ends a sentence."""
_LABEL = lazy_pattern(rb"\s*S?\d{1,3}\s*")
"""The text of a link that is only a source number, which states as little as a marker."""
HAN_SHARE_MIN = 0.2
"""Minimum share of Chinese characters in a Chinese paragraph."""
APART = "\n\n"


class Sentence(NamedTuple):
    """A sentence without its markers: its text, its offset, and whether it cites."""

    text: str
    at: int
    cited: bool


def split_report_sentences(subject: AuditSubject) -> list[Sentence]:
    """Return the sentences of the prose, in the order of the text."""
    text, marks = _mask_citation_markers(subject)
    papers: dict[str, list[MarkdownBlock]] = {}
    for block in _find_prose_blocks(subject):
        if (paragraph := text[block.start : block.end]).strip():
            papers.setdefault(detect_report_language(paragraph), []).append(block)
    all_sentences = [
        sentence
        for language, blocks in papers.items()
        for sentence in _split_prose_sentences(language, text, blocks, marks)
    ]
    if len(papers) > 1:
        all_sentences.sort(key=attrgetter("at"))
    return all_sentences


def pair_sentences_with_sources(subject: AuditSubject) -> Iterator[tuple[Sentence, tuple[ListEntry, ...]]]:
    """Yield the sentences with the listed sources that they cite; sentences without any are left out."""
    report_sentences = split_report_sentences(subject)
    starts = [sentence.at for sentence in report_sentences]
    blocks = list(_find_prose_blocks(subject))
    named: dict[int, dict[int, ListEntry]] = {}
    for use in subject.uses:
        at = bisect_right(starts, use.marker.start) - 1
        block = bisect_right(blocks, use.marker.start, key=lambda block: block.start) - 1
        if use.entry is None or at < 0 or block < 0 or not blocks[block].start <= starts[at] < blocks[block].end:
            continue
        if use.marker.start < blocks[block].end:
            named.setdefault(at, {})[id(use.entry)] = use.entry
    for at in sorted(named):
        yield report_sentences[at], tuple(named[at].values())


def _mask_citation_markers(subject: AuditSubject) -> tuple[bytes, list[int]]:
    """Return the report with spaces instead of markers, code and link targets, and the offsets of citations.

    Offsets stay, so that positions in the masked text are positions in the report.
    """
    layout = subject.layout
    text = bytearray(layout.data if layout.broken is None else decode_markdown(layout.data)[0].encode())
    marks = [marker.start for marker in subject.markers]
    for start, end in layout.guarded:
        text[start:end] = b" " * (end - start)
    for link in layout.links:
        if not link.image and not link.bare:
            label = layout.data[link.start + 1 : link.text_end]
            shown = b" " * len(label) if _LABEL.fullmatch(label) else decode_markdown(label)[0].encode()
            text[link.start + 1 : link.text_end] = shown
    for marker in subject.markers:
        text[marker.start : marker.end] = b" " * (marker.end - marker.start)
        if text[marker.end : marker.end + 1] == b".":
            text[marker.end - 1 : marker.end] = _WORD
    marks += [start for start, _, _ in subject.links]
    return bytes(text).translate(_WHITESPACE), sorted(marks)


def _find_prose_blocks(subject: AuditSubject) -> Iterator[MarkdownBlock]:
    """Yield the paragraphs and items outside the list that are neither bold headings nor quotes."""
    data = subject.layout.data
    for block in subject.layout.blocks:
        if block.kind != PARAGRAPH or block.inside & _NO_PROSE or subject.is_in_list(block.start):
            continue
        if data.startswith(_BOLD, block.start) and _BOLD_LINE.fullmatch(data, block.start, block.end):
            continue
        yield block


def detect_report_language(text: bytes) -> str:
    """Return the language for splitting a text into sentences: English, unless its characters show another."""
    if text.isascii():
        return "en"
    characters = text.decode("utf-8", "replace")
    if _KANA.search(characters):
        return "ja"
    return "zh" if len(HAN.findall(characters)) > HAN_SHARE_MIN * len(characters) else "en"


def _split_prose_sentences(
    language: str, text: bytes, blocks: Sequence[MarkdownBlock], marks: Sequence[int]
) -> Iterator[Sentence]:
    """Yield the sentences of one language; a citation before the first word belongs to the previous sentence."""
    written = [text[block.start : block.end].decode("utf-8").rstrip() for block in blocks]
    pieces = _group_prose_segments(sentencex.segment(language, APART.join(written)), written)
    for block, segments in zip(
        blocks, pieces or [sentencex.segment(language, paragraph) for paragraph in written], strict=True
    ):
        yield from _sentences_from_paragraph(block, segments, marks)


def _group_prose_segments(segments: Sequence[str], written: Sequence[str]) -> list[list[str]] | None:
    """Return the segments of each paragraph; None if they do not match the paragraphs.

    White space between paragraphs is ignored, because the splitter sometimes drops it (sentencex 1.0.32).
    """
    remaining = iter(segments)
    groups: list[list[str]] = []
    for paragraph in written:
        current: list[str] = []
        missing = len(paragraph)
        for segment in remaining:
            if text := segment.strip("\n"):
                current.append(text)
                missing -= len(text)
            if missing <= 0:
                break
        if missing:
            return None
        groups.append(current)
    return groups


def _sentences_from_paragraph(
    block: MarkdownBlock, segments: Sequence[str], marks: Sequence[int]
) -> Iterator[Sentence]:
    at = block.start
    sentences: list[Sentence] = []
    for segment in segments:
        start, at = at, at + (len(segment) if segment.isascii() else len(segment.encode()))
        stripped = segment.lstrip()
        if not stripped:
            continue
        # White space has one byte per character: it replaces masked bytes or line ends.
        begin = start + len(segment) - len(stripped)
        sentences.append(Sentence(stripped.replace(_WORD.decode(), " "), begin, cited=False))
    first = bisect_left(marks, block.start)
    for mark in marks[first : bisect_left(marks, block.end, first)]:
        # A citation comes before the first word of the next sentence, so it belongs to the last one that started.
        place = max(0, bisect_right(sentences, mark, key=attrgetter("at")) - 1)
        if sentences:
            sentences[place] = sentences[place]._replace(cited=True)
    yield from sentences
