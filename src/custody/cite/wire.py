"""The JSON of citations: audits, contexts, link checks, the registry.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""

from typing import Any, Literal

import msgspec

from custody.core.errors import InputError
from custody.core.wire.report import Report

# What ``custody cite audit``, ``convert`` and ``export`` answer.


TargetName = Literal["footnotes", "sources", "markers"]


class ReportFinding(msgspec.Struct, frozen=True):
    """One thing that the audit found, at its place in the text as its writer gave it."""

    code: str
    line: int
    column: int
    message: str


class CiteFinding(ReportFinding, frozen=True):
    """One thing that is wrong with a report's citations, at its place; columns count characters."""

    file: str


class CiteCoverage(msgspec.Struct, frozen=True):
    """So many of the sentences that carry evidence are cited."""

    cited: int
    total: int
    ratio: float


class CitePlace(msgspec.Struct, frozen=True):
    """A line and a column, both from 1."""

    line: int
    column: int


class SkippedCode(msgspec.Struct, frozen=True):
    """A code that was not looked for, and why."""

    code: str
    why: str


class CiteRecords(msgspec.Struct, frozen=True, kw_only=True):
    """What records said of a file: how many of its lines were judged, of which sessions, and for which codes.

    A code that was looked for and is not among the findings was not found; one under ``not_looked`` nobody looked for.
    """

    sessions: list[str]
    lines: int
    looked: list[str]
    not_looked: list[SkippedCode]


class CiteFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file: its coverage, the places of sentences with evidence that are not cited, what it has of the rest."""

    file: str
    findings: int
    coverage: CiteCoverage
    uncited: list[CitePlace]
    markers: int
    sources: int
    records: CiteRecords


class CiteAuditReport(Report, frozen=True, kw_only=True, tag="cite-audit"):
    """What is wrong with the citations of some files; coverage is that of all of them together."""

    findings: list[CiteFinding]
    coverage: CiteCoverage
    coverage_min: float
    files: list[CiteFile]
    rules_digest: str


class UnchangedMarker(msgspec.Struct, frozen=True):
    """A marker that was left as it is because its source is not listed."""

    line: int
    column: int
    marker: str


class CiteConvertReport(Report, frozen=True, kw_only=True, tag="cite-convert"):
    """What was rewritten, and where to; nothing is written where nothing changed in place."""

    file: str
    to: TargetName
    path: str
    written: bool
    changes: int
    markers: int
    sources: int
    left: list[UnchangedMarker]


class CslDate(msgspec.Struct, frozen=True):
    """A date as CSL writes it."""

    parts: list[list[int]] = msgspec.field(name="date-parts")


class CslSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item of CSL-JSON."""

    id: str
    type: Literal["webpage", "article", "document"]
    title: str
    url: str | None = msgspec.field(name="URL", default=None)
    doi: str | None = msgspec.field(name="DOI", default=None)
    issued: CslDate | None = None


def encode_csl(items: list[CslSource]) -> bytes:
    """CSL-JSON, one item a line, so that two exports can be compared."""
    lines = b",\n".join(msgspec.json.encode(item) for item in items)
    return b"[\n" + lines + b"\n]\n" if items else b"[]\n"


# What ``custody cite context``, ``near`` and ``search`` answer.


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


# What ``custody cite check-links`` answers.


VerdictWord = Literal["alive", "moved", "gone", "blocked", "unreachable"]


class CiteLink(msgspec.Struct, frozen=True, kw_only=True):
    """One address: whose it is, what is asked of the web for it, and what is known of it.

    ``asks`` is null where the address is not asked, for the reason in ``why``; ``looked`` says whether it was asked
    this time. ``verdict`` is null where nobody ever looked. ``failures`` counts those with time between them.
    """

    id: str | None
    address: str
    asks: str | None
    looked: bool
    verdict: VerdictWord | None
    why: str
    status: int | None
    location: str | None
    failures: int
    at: str | None


class CiteLinksReport(Report, frozen=True, kw_only=True, tag="cite-check-links"):
    """How addresses answer. ``network`` is whether anything was asked; without it, ``asks`` says what would be.

    ``offline`` means that no server answered at all, so that no failure was counted; ``stopped`` that somebody broke
    it off, so that some addresses were not asked. ``fresh`` counts those that ``--stale`` left out.
    """

    network: bool
    file: str | None
    registry: str | None
    links: list[CiteLink]
    no_address: list[str]
    fresh: int
    gone_after: int
    offline: bool
    stopped: bool


# What ``custody cite add``, ``list``, ``show``, ``merge`` and ``unmerge`` answer.


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


# What is kept beside a saved report, and what ``custody cite report`` and ``custody cite contract`` answer.


BESIDE_BYTES_MAX = 16 * 1024 * 1024


class ReportSource(msgspec.Struct, frozen=True, kw_only=True):
    """One source of a report: the marker that stands for it in the text, its id in the registry, what it is."""

    marker: str | None
    id: str | None
    title: str
    url: str | None


class SavedReportInfo(msgspec.Struct, frozen=True, kw_only=True, tag_field="beside", tag="citations"):
    """What is known of a saved report; ``digest`` is that of the report's bytes, so that the two are not mixed up."""

    version: Literal[1] = 1
    name: str
    digest: str
    passed: bool
    quality_metrics: dict[str, float]
    findings: list[ReportFinding]
    answers: list[str]
    sources: list[ReportSource]


class CiteReportReport(Report, frozen=True, kw_only=True, tag="cite-report"):
    """A saved report with its sources; the metrics are there if they were saved beside it and are of these bytes."""

    file: str
    digest: str
    text: str
    sources: list[ReportSource]
    beside: Literal["there", "missing", "of another text"]
    passed: bool | None
    quality_metrics: dict[str, float] | None
    findings: list[ReportFinding]


class CiteContractReport(Report, frozen=True, kw_only=True, tag="cite-contract"):
    """The citation contract for some sources of the registry, or what those who gather are told of them."""

    kind: Literal["contract", "context"]
    text: str
    sources: list[ReportSource]


def encode_beside(value: SavedReportInfo) -> bytes:
    """The same bytes for the same value, a line for each field, so that people can read it too."""
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"


def decode_beside(data: bytes) -> SavedReportInfo:
    """Read it again, or say that it is none."""
    if len(data) > BESIDE_BYTES_MAX:
        raise InputError(f"what is kept beside the report has more than {BESIDE_BYTES_MAX:,} bytes")
    try:
        return msgspec.json.decode(data, type=SavedReportInfo)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"what is kept beside the report cannot be read: {error}") from error
