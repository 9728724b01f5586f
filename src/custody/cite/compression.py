"""A source at four levels of detail, each made anew from the kept text: showing less of it loses nothing.

| level | shows |
|---|---|
| 0 | title, URL and the whole text that is known |
| 1 | title and key sentences |
| 2 | title, URL and scores |
| 3 | the id |

What is shown begins with the source's id at the beginning of a line, and every other line of it is indented, so that no
text can pass for another source.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256

import sentencex  # type: ignore[import-untyped]  # 1.0 has no stubs

from custody.cite.model import ResearchSource, SourceID, UnknownSource
from custody.cite.prose import language_of
from custody.cite.rules import CiteRules
from custody.cite.source_texts import APART
from custody.cite.support import terms_of
from custody.core.errors import InputError

INDENT = "    "
NO_TEXT = "(no passage of it was kept)"
CUT = "…"
KEY_SENTENCE_CHARACTERS_MAX = 300
"""A longer key sentence is cut: level 1 shows what a text is about, not all that one sentence says."""
_LEVELS = range(4)
_JOINERS = "\u200c\u200d"
"""Without them words of some scripts read differently; other signs that nobody sees are not passed on."""
_PARAGRAPH = re.compile(r"\n[ \t]*\n")


class Level(IntEnum):
    """How much of a source is shown."""

    FULL = 0
    KEY = 1
    LISTED = 2
    ID = 3


class Unrestorable(InputError):
    """What was compressed is not what the registry holds now: a passage was erased, or another registry is asked."""


@dataclass(frozen=True, slots=True)
class Compressed:
    """A source at one level: the lines that show it, and the size and hash of the text that they were made from."""

    source_id: SourceID
    level: Level
    lines: str
    text_signs: int | None
    """Length of the known text in characters; None when none was known."""
    digest: str | None

    @property
    def has_text(self) -> bool:
        """Whether there is anything beyond title and URL to show."""
        return self.digest is not None


SourceLookup = Callable[[SourceID], tuple[ResearchSource, str | None] | None]
"""What a registry holds under an id: the source and its kept text; None when nobody registered it."""


@dataclass(frozen=True, slots=True)
class RestorableSourceCompressor:
    """Shows sources at any level, and gives back the text of one that was shown at less."""

    known: SourceLookup
    rules: CiteRules = field(default_factory=CiteRules)

    def compress(self, source: ResearchSource, text: str | None, level: int) -> Compressed:
        """The source at a level from 0 to 3; the same source, text, level and rules give the same bytes."""
        return compress(source, text, level, self.rules)

    def restore(self, compressed: Compressed) -> Compressed:
        """The same source at level 0, with exactly the text that it had when it was compressed.

        Passages that were kept since are not part of it. An ``Unrestorable`` if the text is not there any more.
        """
        source, text = self._held(compressed.source_id)
        if compressed.text_signs is None:
            return self.compress(source, None, Level.FULL)
        before = (text or "")[: compressed.text_signs]
        if digest_of(before) != compressed.digest:
            raise Unrestorable(
                f"the text of {compressed.source_id} is not the one that was compressed",
                hint="a passage of it was erased, merged or added in between; ask for it by its id",
            )
        return self.compress(source, before, Level.FULL)

    def restored_text(self, source_id: SourceID) -> str | None:
        """The whole text that is known of a source now, to the byte; None when no passage of it was kept."""
        return self._held(source_id)[1]

    def _held(self, source_id: SourceID) -> tuple[ResearchSource, str | None]:
        found = self.known(source_id)
        if found is None:
            raise UnknownSource(source_id)
        return found


def compress(source: ResearchSource, text: str | None, level: int, rules: CiteRules) -> Compressed:
    """One source at one level."""
    if level not in _LEVELS:
        raise InputError(f"there is no level {level}", hint="levels go from 0, everything, to 3, the id")
    if source.source_id is None:
        raise InputError("a source without an id cannot be compressed", hint="register it first")
    lines = "".join(f"{line}\n" for line in _LINES[Level(level)](source, text, rules))
    signs = None if text is None else len(text)
    return Compressed(source.source_id, Level(level), lines, signs, None if text is None else digest_of(text))


def digest_of(text: str) -> str:
    """The hash that a compressed source keeps of its text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def key_sentences(text: str, rules: CiteRules) -> list[str]:
    """The sentences that stand for a text, in its order.

    A sentence counts by how many of the text's sentences have its terms too, on average over its different terms; of
    equals, and where no sentence has any term, the earlier one leads. What is said twice counts once, and a long
    sentence is cut.

    >>> said = "Caches store answers. Nobody came. Shared caches store answers for many. It rained."
    >>> key_sentences(said, CiteRules(brief_sentences=2))
    ['Caches store answers.', 'Shared caches store answers for many.']
    """
    sentences = list(dict.fromkeys(_sentences(text)))
    terms = [frozenset(terms_of(sentence)) for sentence in sentences]
    common = Counter(term for sentence_terms in terms for term in sentence_terms)
    weights = [
        sum(common[term] for term in sentence_terms) / len(sentence_terms) if sentence_terms else 0.0
        for sentence_terms in terms
    ]
    best = sorted(range(len(sentences)), key=lambda at: (-weights[at], at))[: rules.brief_sentences]
    return [_cut(sentences[at], KEY_SENTENCE_CHARACTERS_MAX) for at in sorted(best)]


def _full(source: ResearchSource, text: str | None, _rules: CiteRules) -> Iterator[str]:
    yield f"{source.source_id} – {_addressed(source)}"
    yield from _indented(NO_TEXT if text is None else text)


def _key(source: ResearchSource, text: str | None, rules: CiteRules) -> Iterator[str]:
    yield f"{source.source_id} – {_title(source)}"
    for sentence in [NO_TEXT] if text is None else key_sentences(text, rules):
        yield from _indented(sentence)


def _listed(source: ResearchSource, _text: str | None, _rules: CiteRules) -> Iterator[str]:
    scores = f"credibility {source.credibility_score:.2f}, relevance {source.relevance_score:.2f}"
    yield f"{source.source_id} – {_addressed(source)} [{scores}]"


def _id(source: ResearchSource, _text: str | None, _rules: CiteRules) -> Iterator[str]:
    yield str(source.source_id)


_LINES = {Level.FULL: _full, Level.KEY: _key, Level.LISTED: _listed, Level.ID: _id}


def _addressed(source: ResearchSource) -> str:
    return f"{_title(source)} ({_line(source.url)})" if source.url is not None and source.title else _title(source)


def _title(source: ResearchSource) -> str:
    return _line(source.title) or _line(source.url or "")


def _line(text: str) -> str:
    return _visible(" ".join(text.split()))


def _indented(text: str) -> Iterator[str]:
    yield from (f"{INDENT}{_visible(line)}".rstrip() for line in text.splitlines())


def _visible(line: str) -> str:
    """The line with nothing in it that moves a cursor, turns the direction of writing or hides from a reader."""
    if line.isprintable():
        return line
    return "".join(_shown(sign) for sign in line)


def _shown(sign: str) -> str:
    if sign.isprintable() or sign in _JOINERS:
        return sign
    return " " if sign.isspace() else "\ufffd"


def _sentences(text: str) -> Iterator[str]:
    """The sentences of every paragraph, as the splitter for its language finds them."""
    for passage in text.split(APART):
        for paragraph in _PARAGRAPH.split(passage):
            # The splitter reads UTF-8, in which half of a pair has no place.
            words = " ".join(paragraph.split()).encode("utf-8", "replace")
            yield from (
                sentence.strip()
                for sentence in sentencex.segment(language_of(words), words.decode())
                if sentence.strip()
            )


def _cut(sentence: str, signs: int) -> str:
    if len(sentence) <= signs:
        return sentence
    whole = sentence[:signs].rpartition(" ")[0]
    return f"{whole or sentence[:signs]}{CUT}"
