"""What ``custody cite add``, ``list``, ``show``, ``merge`` and ``unmerge`` answer."""

from typing import Any, Literal

import msgspec

from custody.core.wire.report import Report

ReadingWord = Literal["verbatim", "excerpt", "summarised", "listed", "attempted", "never"]


class CiteSource(msgspec.Struct, frozen=True, kw_only=True):
    """One source as it is shown: with everything that it was merged with, and its other ids."""

    id: str
    canonical_key: str
    source_version: int
    title: str
    url: str | None
    author: str | None
    publisher: str | None
    date: str | None
    source_type: str | None
    credibility_score: float
    relevance_score: float
    metadata: dict[str, Any]
    aliases: list[str]
    reading: ReadingWord


class CiteAddress(msgspec.Struct, frozen=True, kw_only=True):
    """An address (or, without one, a key) of a source, under the id that it was registered as."""

    id: str
    spelling: str
    title: str


class CiteMerge(msgspec.Struct, frozen=True, kw_only=True):
    """Why an id or an address is part of a source; ``how`` is the key that merged it, or ``person``."""

    kept: str
    absorbed: str | None
    address: str | None
    how: Literal["new", "url", "text", "work", "person"]
    reason: str
    keys: list[str]
    who: str | None
    at: str


class CiteSuggestion(msgspec.Struct, frozen=True, kw_only=True):
    """A source that is perhaps the same."""

    id: str
    why: str


class ReadingReport(msgspec.Struct, frozen=True, kw_only=True):
    """That somebody read it, and how; ``call`` is the tool call that did, where one was captured."""

    reading: ReadingWord
    session: str | None
    call: str | None
    who: str | None
    at: str


class CiteSpan(msgspec.Struct, frozen=True):
    """Where a passage stands in its source."""

    first: int
    last: int


class CiteExcerpt(msgspec.Struct, frozen=True, kw_only=True):
    """A passage that was read; ``text`` is null once it was erased."""

    digest: str
    span: CiteSpan | None
    text: str | None


class CiteUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What rests on it."""

    finding_ids: list[str]
    cluster_ids: list[str]
    contradiction_ids: list[str]
    report_sections: list[str]


class CiteAddReport(Report, frozen=True, kw_only=True, tag="cite-add"):
    """A source with its id, whether it had one before, and which others are perhaps the same."""

    registry: str | None
    new: bool
    source: CiteSource
    suggestions: list[CiteSuggestion]


class CiteListReport(Report, frozen=True, kw_only=True, tag="cite-list"):
    """Every source of a registry by number; ``lost`` are ids of which nothing is left."""

    registry: str | None
    sources: list[CiteSource]
    lost: list[str]


class CiteShowReport(Report, frozen=True, kw_only=True, tag="cite-show"):
    """Everything about one source."""

    registry: str | None
    source: CiteSource
    addresses: list[CiteAddress]
    merges: list[CiteMerge]
    usage: CiteUsage
    readings: list[ReadingReport]
    excerpts: list[CiteExcerpt]
    suggestions: list[CiteSuggestion]


class CiteMergeReport(Report, frozen=True, kw_only=True, tag="cite-merge"):
    """What became of a merge or of its undoing: the sources that it was about, as they are now."""

    registry: str | None
    sources: list[CiteSource]
