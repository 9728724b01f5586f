"""A source at four levels of detail, each made from the stored text, so that showing less loses nothing.

| level | shows |
|---|---|
| 0 | title, URL and the full stored text |
| 1 | title and key sentences |
| 2 | title, URL and scores |
| 3 | the id |

The first line starts with the source's id, and all other lines are indented, so that no text can pass for another
source.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from enum import IntEnum
from hashlib import sha256

import sentencex  # type: ignore[import-untyped]  # 1.0 has no stubs
from msgspec import Struct, field

from custody.cite.model import ResearchSource, SourceID, UnknownSource
from custody.cite.prose import detect_report_language
from custody.cite.rules import CiteRules
from custody.cite.source_texts import APART
from custody.cite.support import split_statement_terms
from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern

INDENT = "    "
NO_TEXT = "(no text stored)"
CUT = "…"
KEY_SENTENCE_CHARACTERS_MAX = 300
"""Maximum length of a key sentence; longer sentences are cut."""
_LEVELS = range(4)
_JOINERS = "\u200c\u200d"
"""Invisible characters that change words in some scripts; all others are removed."""
_PARAGRAPH = lazy_pattern(r"\n[ \t]*\n")


class Level(IntEnum):
    """The level of detail of a source."""

    FULL = 0
    KEY = 1
    LISTED = 2
    ID = 3


class Unrestorable(InputError):
    """The text has changed since it was compressed: a passage was erased, or it is another registry."""


class Compressed(Struct, frozen=True):
    """A source at one level: its lines, and the size and hash of its text."""

    source_id: SourceID
    level: Level
    lines: str
    text_signs: int | None
    """Length of the stored text in characters; None if there is none."""
    digest: str | None

    @property
    def has_text(self) -> bool:
        """Return whether the source has text."""
        return self.digest is not None


SourceLookup = Callable[[SourceID], tuple[ResearchSource, str | None] | None]
"""Returns a source and its stored text by id; None if it is not registered."""


class RestorableSourceCompressor(Struct, frozen=True):
    """Compression of sources to any level, and restoration of their full text."""

    known: SourceLookup
    rules: CiteRules = field(default_factory=CiteRules)

    def compress(self, source: ResearchSource, text: str | None, level: int) -> Compressed:
        """Return the source at a level from 0 to 3; equal inputs give equal bytes."""
        return compress_source(source, text, level, self.rules)

    def restore(self, compressed: Compressed) -> Compressed:
        """Return the source at level 0, with exactly the text that it had when it was compressed.

        Later passages are not included. Raise ``Unrestorable`` if the text is no longer stored.
        """
        source, text = self._held(compressed.source_id)
        if compressed.text_signs is None:
            return self.compress(source, None, Level.FULL)
        before = (text or "")[: compressed.text_signs]
        if hash_source_text(before) != compressed.digest:
            raise Unrestorable(
                f"the text of {compressed.source_id} has changed since it was compressed",
                hint="a passage was erased, merged or added; request the source by its id",
            )
        return self.compress(source, before, Level.FULL)

    def restored_text(self, source_id: SourceID) -> str | None:
        """Return the full stored text of a source; None if none is stored."""
        return self._held(source_id)[1]

    def _held(self, source_id: SourceID) -> tuple[ResearchSource, str | None]:
        known = self.known(source_id)
        if known is None:
            raise UnknownSource(source_id)
        return known


def compress_source(source: ResearchSource, text: str | None, level: int, rules: CiteRules) -> Compressed:
    """Return a source at a level."""
    if level not in _LEVELS:
        raise InputError(f"invalid level {level}", hint="levels are 0 (full text) to 3 (id only)")
    if source.source_id is None:
        raise InputError("cannot compress a source without an id", hint="register the source first")
    lines = "".join(f"{line}\n" for line in _LINES[Level(level)](source, text, rules))
    length = None if text is None else len(text)
    return Compressed(source.source_id, Level(level), lines, length, None if text is None else hash_source_text(text))


def hash_source_text(text: str) -> str:
    """Return the hash of a text that a compressed source stores."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def select_key_sentences(text: str, rules: CiteRules) -> list[str]:
    """Return the key sentences of a text, in its order.

    A sentence scores by how many of the text's sentences share its terms, averaged over its distinct terms. The earlier
    sentence wins a tie. Duplicates count once, and long sentences are cut.

    >>> text = "Caches store answers. Then it rained. Shared caches store answers for many. It stopped."
    >>> select_key_sentences(text, CiteRules(brief_sentences=2))
    ['Caches store answers.', 'Shared caches store answers for many.']
    """
    sentences = list(dict.fromkeys(_split_source_sentences(text)))
    terms = [frozenset(split_statement_terms(sentence)) for sentence in sentences]
    common = Counter(term for sentence_terms in terms for term in sentence_terms)
    weights = [
        sum(common[term] for term in sentence_terms) / len(sentence_terms) if sentence_terms else 0.0
        for sentence_terms in terms
    ]
    best = sorted(range(len(sentences)), key=lambda at: (-weights[at], at))[: rules.brief_sentences]
    return [_truncate_source_sentence(sentences[at], KEY_SENTENCE_CHARACTERS_MAX) for at in sorted(best)]


def _render_full_source(source: ResearchSource, text: str | None, _rules: CiteRules) -> Iterator[str]:
    yield f"{source.source_id} – {_source_title_with_url(source)}"
    yield from _indent_source_text(NO_TEXT if text is None else text)


def _render_key_sentences(source: ResearchSource, text: str | None, rules: CiteRules) -> Iterator[str]:
    yield f"{source.source_id} – {_source_title_or_url(source)}"
    for sentence in [NO_TEXT] if text is None else select_key_sentences(text, rules):
        yield from _indent_source_text(sentence)


def _render_source_listing(source: ResearchSource, _text: str | None, _rules: CiteRules) -> Iterator[str]:
    scores = f"credibility {source.credibility_score:.2f}, relevance {source.relevance_score:.2f}"
    yield f"{source.source_id} – {_source_title_with_url(source)} [{scores}]"


def _render_source_id(source: ResearchSource, _text: str | None, _rules: CiteRules) -> Iterator[str]:
    yield str(source.source_id)


_LINES = {
    Level.FULL: _render_full_source,
    Level.KEY: _render_key_sentences,
    Level.LISTED: _render_source_listing,
    Level.ID: _render_source_id,
}


def _source_title_with_url(source: ResearchSource) -> str:
    return (
        f"{_source_title_or_url(source)} ({_flatten_source_line(source.url)})"
        if source.url is not None and source.title
        else _source_title_or_url(source)
    )


def _source_title_or_url(source: ResearchSource) -> str:
    return _flatten_source_line(source.title) or _flatten_source_line(source.url or "")


def _flatten_source_line(text: str) -> str:
    return _sanitize_source_line(" ".join(text.split()))


def _indent_source_text(text: str) -> Iterator[str]:
    yield from (f"{INDENT}{_sanitize_source_line(line)}".rstrip() for line in text.splitlines())


def _sanitize_source_line(line: str) -> str:
    """Return a line without control characters, direction changes and invisible characters."""
    if line.isprintable():
        return line
    return "".join(map(_sanitize_source_character, line))


def _sanitize_source_character(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    return " " if character.isspace() else "\ufffd"


def _split_source_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of all paragraphs, split by the rules of their language."""
    for passage in text.split(APART):
        for paragraph in _PARAGRAPH.split(passage):
            # The splitter needs valid UTF-8, so lone surrogates are replaced.
            line = " ".join(paragraph.split()).encode("utf-8", "replace")
            yield from (
                sentence.strip()
                for sentence in sentencex.segment(detect_report_language(line), line.decode())
                if sentence.strip()
            )


def _truncate_source_sentence(sentence: str, characters: int) -> str:
    if len(sentence) <= characters:
        return sentence
    whole_words = sentence[:characters].rpartition(" ")[0]
    return f"{whole_words or sentence[:characters]}{CUT}"
