"""Levels of detail: what each shows, and that compression loses nothing."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.cite.catalog import ExcerptEvent, Stamp
from custody.cite.compression import (
    INDENT,
    KEY_SENTENCE_CHARACTERS_MAX,
    NO_TEXT,
    Level,
    RestorableSourceCompressor,
    Unrestorable,
    compress_source,
    select_key_sentences,
)
from custody.cite.model import ResearchSource, UnknownSource
from custody.cite.rules import CiteRules
from custody.cite.source_texts import APART, join_source_excerpts
from custody.core.errors import InputError

RULES = CiteRules()
TEXT = "Caches store answers. Snow fell. Shared caches store answers for many. It rained."
SOURCE = ResearchSource(title="Caching", url="https://example.org/c", source_id="S3", credibility_score=0.8)
CHARACTERS = st.characters(codec="utf-8") | st.sampled_from("\n\r\t\u2028\x1c\x00 \u202e.。S1–")
TEXTS = st.text(CHARACTERS, max_size=300)


def held(source: ResearchSource, text: str | None) -> Callable[[str], tuple[ResearchSource, str | None] | None]:
    return lambda source_id: (source, text) if source_id == source.source_id else None


def passage(text: str, digest: str = "") -> ExcerptEvent:
    return ExcerptEvent(stamp=Stamp(id="e", at_ns=1), number=3, digest=digest or text, text=text)


# Conformance: 003-046, 003-047, 003-048, 003-049
@pytest.mark.parametrize(
    ("level", "lines"),
    [
        (0, f"S3 – Caching (https://example.org/c)\n    {TEXT}\n"),
        (1, "S3 – Caching\n    Caches store answers.\n    Shared caches store answers for many.\n"),
        (2, "S3 – Caching (https://example.org/c) [credibility 0.80, relevance 0.50]\n"),
        (3, "S3\n"),
    ],
)
def test_each_level_shows_what_the_document_says(level: int, lines: str) -> None:
    made = RestorableSourceCompressor(held(SOURCE, TEXT), CiteRules(brief_sentences=2)).compress(SOURCE, TEXT, level)
    assert (made.lines, made.level, made.source_id) == (lines, Level(level), "S3")


def test_a_source_without_text_says_so() -> None:
    for level in (0, 1):
        made = compress_source(SOURCE, None, level, RULES)
        assert made.lines.endswith(f"\n{INDENT}{NO_TEXT}\n")
        assert not made.has_text


def test_there_are_four_levels_and_only_registered_sources_have_them() -> None:
    for level in (-1, 4):
        with pytest.raises(InputError, match=f"invalid level {level}"):
            compress_source(SOURCE, TEXT, level, RULES)
    with pytest.raises(InputError, match="without an id"):
        compress_source(replace(SOURCE, source_id=None), TEXT, 0, RULES)


# Conformance: 003-044
@given(TEXTS, st.sampled_from(Level), TEXTS)
def test_restoring_gives_exactly_the_old_level_0(text: str, level: Level, later: str) -> None:
    compressor = RestorableSourceCompressor(held(SOURCE, text + later))
    made = compressor.compress(SOURCE, text, level)
    assert compressor.restore(made) == compressor.compress(SOURCE, text, Level.FULL)
    assert compressor.restored_text("S3") == text + later


def test_erased_text_cannot_be_restored() -> None:
    made = compress_source(SOURCE, TEXT, 3, RULES)
    for other in (None, "", TEXT[:-1], "x" + TEXT):
        with pytest.raises(Unrestorable, match="text of S3 has changed since"):
            RestorableSourceCompressor(held(SOURCE, other)).restore(made)
    with pytest.raises(UnknownSource):
        RestorableSourceCompressor(lambda _: None).restore(made)
    nothing = compress_source(SOURCE, None, 2, RULES)
    assert RestorableSourceCompressor(held(SOURCE, TEXT)).restore(nothing).lines.endswith(f"{NO_TEXT}\n")


@given(TEXTS.filter(str.strip), TEXTS, st.sampled_from(Level))
def test_no_text_and_no_title_passes_for_another_source(title: str, text: str, level: Level) -> None:
    source = replace(SOURCE, title=title[:1000])
    lines = compress_source(source, text, level, RULES).lines
    assert lines.endswith("\n")
    first, *others = lines.removesuffix("\n").split("\n")
    assert first.startswith("S3")
    assert all(line.startswith(INDENT) or not line for line in others)
    assert lines.splitlines() == [first, *others], "only line ends end a line"
    assert all(sign.isprintable() or sign in "\n\u200c\u200d" for sign in lines)


# Conformance: 003-047
@given(TEXTS, st.integers(1, 5))
def test_key_sentences_are_few_short_and_of_the_text(text: str, most: int) -> None:
    rules = CiteRules(brief_sentences=most)
    made = select_key_sentences(text, rules)
    assert made == select_key_sentences(text, rules)
    assert len(made) <= most
    words = " ".join(text.split())
    for sentence in made:
        assert len(sentence) <= KEY_SENTENCE_CHARACTERS_MAX + 1
        assert sentence.removesuffix("…").strip() in words


def test_key_sentences_know_chinese_and_passages() -> None:
    chinese = "鲭鱼价格上涨。今天下雨。鲭鱼捕捞量下降。"
    assert select_key_sentences(chinese, CiteRules(brief_sentences=2)) == ["鲭鱼价格上涨。", "鲭鱼捕捞量下降。"]
    assert select_key_sentences(f"One here.{APART}Two there.", RULES) == ["One here.", "Two there."]


def test_a_long_sentence_is_cut_between_words() -> None:
    (sentence,) = select_key_sentences("word " * 100, RULES)
    assert sentence == f"{' '.join(['word'] * (KEY_SENTENCE_CHARACTERS_MAX // 5))}…"


@given(st.lists(TEXTS, max_size=5), TEXTS)
def test_earlier_text_stays_the_beginning(passages: list[str], later: str) -> None:
    source = replace(SOURCE, metadata={"snippet": "Some words."})
    before = join_source_excerpts(source, [passage(text) for text in passages]) or ""
    after = join_source_excerpts(source, [passage(text) for text in (*passages, later)]) or ""
    assert after.startswith(before)
    assert all(text in after for text in (*passages, later) if text.strip())


def test_a_text_is_the_snippet_and_every_passage_once() -> None:
    source = replace(SOURCE, metadata={"snippet": "A snippet."})
    passages = [passage("First part."), passage("part"), passage("Second."), passage("First part.", "again")]
    assert join_source_excerpts(source, passages) == f"A snippet.{APART}First part.{APART}Second."
    assert join_source_excerpts(SOURCE, []) is None
    erased = ExcerptEvent(stamp=Stamp(id="e", at_ns=1), number=3, digest="d", text=None)
    assert join_source_excerpts(SOURCE, [erased]) is None
