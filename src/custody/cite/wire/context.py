"""What ``custody cite context``, ``near`` and ``search`` answer."""

import msgspec

from custody.core.wire.report import Report


class SourceRankReport(msgspec.Struct, frozen=True, kw_only=True):
    """How much a source matters now: the weighted sum of these parts, each from 0 to 1."""

    value: float
    objective: float
    access: float
    use: float
    score: float


class ContextSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source of a context: its level from 0, everything, to 3, the id; null if it did not fit."""

    id: str
    level: int | None
    has_text: bool
    standing: SourceRankReport


class CiteContextReport(Report, frozen=True, kw_only=True, tag="cite-context"):
    """A context, and how it came about; ``tokens`` is never above ``budget``, ``full_tokens`` is all texts whole."""

    registry: str | None
    context: str
    budget: int
    tokens: int
    full_tokens: int
    objectives: list[str]
    sources: list[ContextSource]
    left_out: list[str]
    without_text: list[str]
    rules_digest: str


class CiteTextReport(Report, frozen=True, kw_only=True, tag="cite-text"):
    """The whole text that is known of a source; null when no passage of it was kept."""

    registry: str | None
    id: str
    title: str
    url: str | None
    text: str | None
    digest: str | None


class CiteNearPair(msgspec.Struct, frozen=True, kw_only=True):
    """A source (or the file that was asked about) and another of which one is nearly a copy of the other."""

    one: str
    other: str
    nearness: float


class CiteNearReport(Report, frozen=True, kw_only=True, tag="cite-near"):
    """Near copies, the nearest first; of ``without_text`` nothing can be said."""

    registry: str | None
    way: str
    least: float
    compared: int
    pairs: list[CiteNearPair]
    without_text: list[str]


class CiteHit(msgspec.Struct, frozen=True, kw_only=True):
    """A source that was found, and how like the question it is, from 0 to 1."""

    id: str
    title: str
    url: str | None
    likeness: float


class CiteSearchReport(Report, frozen=True, kw_only=True, tag="cite-search"):
    """The sources most like a question, the likest first."""

    registry: str | None
    question: str
    searched: int
    hits: list[CiteHit]
