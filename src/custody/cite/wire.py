"""The JSON shapes of citations: audits, contexts, link checks, the registry."""

from typing import Any, Literal

import msgspec

from custody.core.errors import InputError
from custody.core.wire.report import Report

# Reports of ``custody cite audit``, ``convert`` and ``export``.


TargetName = Literal["footnotes", "sources", "markers"]


class ReportFinding(msgspec.Struct, frozen=True):
    """A finding of an audit, with its position in the text as the writer returned it."""

    code: str
    line: int
    column: int
    message: str


class CiteFinding(ReportFinding, frozen=True):
    """A problem with the citations of a file; columns count characters."""

    file: str


class CiteCoverage(msgspec.Struct, frozen=True):
    """How many of the sentences with evidence are cited."""

    cited: int
    total: int
    ratio: float


class CitePlace(msgspec.Struct, frozen=True):
    """A line and a column, both from 1."""

    line: int
    column: int


class SkippedCode(msgspec.Struct, frozen=True):
    """A code that was not checked, and why."""

    code: str
    why: str


class CiteRecords(msgspec.Struct, frozen=True, kw_only=True):
    """The checks against records: the sessions, the number of lines checked, and the codes.

    A code in ``looked`` without a finding passed. A code in ``not_looked`` was not checked.
    """

    sessions: list[str]
    lines: int
    looked: list[str]
    not_looked: list[SkippedCode]


class CiteFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file: its coverage, its uncited sentences with evidence, and its counts."""

    file: str
    findings: int
    coverage: CiteCoverage
    uncited: list[CitePlace]
    markers: int
    sources: int
    records: CiteRecords


class CiteAuditReport(Report, frozen=True, kw_only=True, tag="cite-audit"):
    """The findings about some files; ``coverage`` is that of all files together."""

    findings: list[CiteFinding]
    coverage: CiteCoverage
    coverage_min: float
    files: list[CiteFile]
    rules_digest: str


class UnchangedMarker(msgspec.Struct, frozen=True):
    """A marker that was not converted because its source is not listed."""

    line: int
    column: int
    marker: str


class CiteConvertReport(Report, frozen=True, kw_only=True, tag="cite-convert"):
    """A conversion and its target; ``written`` is false if an in-place conversion changed nothing."""

    file: str
    to: TargetName
    path: str
    written: bool
    changes: int
    markers: int
    sources: int
    left: list[UnchangedMarker]


class CslDate(msgspec.Struct, frozen=True):
    """A date in CSL."""

    parts: list[list[int]] = msgspec.field(name="date-parts")


class CslSource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item of CSL-JSON."""

    id: str
    type: Literal["webpage", "article", "document"]
    title: str
    url: str | None = msgspec.field(name="URL", default=None)
    doi: str | None = msgspec.field(name="DOI", default=None)
    issued: CslDate | None = None


def encode_csl_sources(items: list[CslSource]) -> bytes:
    """Return CSL-JSON with one item per line, so that two exports can be compared."""
    lines = b",\n".join(msgspec.json.encode(item) for item in items)
    return b"[\n" + lines + b"\n]\n" if items else b"[]\n"


# Reports of ``custody cite context``, ``near`` and ``search``.


class SourceRankReport(msgspec.Struct, frozen=True, kw_only=True):
    """The rank of a source: the weighted sum of these parts, each from 0 to 1."""

    value: float
    objective: float
    access: float
    use: float
    score: float


class ContextSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source of a context: its level from 0 (full text) to 3 (id only); null if it did not fit."""

    id: str
    level: int | None
    has_text: bool
    standing: SourceRankReport


class CiteContextReport(Report, frozen=True, kw_only=True, tag="cite-context"):
    """A context; ``tokens`` never exceeds ``budget``, ``full_tokens`` is the size of all texts in full."""

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
    """The full stored text of a source; null if none is stored."""

    registry: str | None
    id: str
    title: str
    url: str | None
    text: str | None
    digest: str | None


class CiteNearPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two sources, or a file and a source, with nearly the same text."""

    one: str
    other: str
    nearness: float


class CiteNearReport(Report, frozen=True, kw_only=True, tag="cite-near"):
    """Near copies, the nearest first; ``without_text`` could not be compared."""

    registry: str | None
    way: str
    least: float
    compared: int
    pairs: list[CiteNearPair]
    without_text: list[str]


class CiteHit(msgspec.Struct, frozen=True, kw_only=True):
    """A search result with its similarity to the question, from 0 to 1."""

    id: str
    title: str
    url: str | None
    likeness: float


class CiteSearchReport(Report, frozen=True, kw_only=True, tag="cite-search"):
    """Search results, the most similar first."""

    registry: str | None
    question: str
    searched: int
    hits: list[CiteHit]


# Reports of ``custody cite check-links``.


VerdictWord = Literal["alive", "moved", "gone", "blocked", "unreachable"]


class CiteLink(msgspec.Struct, frozen=True, kw_only=True):
    """A URL, the request for it, and what is known about it.

    ``asks`` is null if the URL is not requested, for the reason in ``why``. ``looked`` is whether it was requested in
    this run. ``verdict`` is null if it was never checked. ``failures`` counts failures that are far enough apart.
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
    """The results of a link check; without ``network`` it is a dry run.

    ``offline`` means that no server answered, so no failure was counted. ``stopped`` means that the run was
    interrupted. ``fresh`` counts the URLs that ``--stale`` left out.
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


# Reports of ``custody cite add``, ``list``, ``show``, ``merge`` and ``unmerge``.


ReadingWord = Literal["verbatim", "excerpt", "summarised", "listed", "attempted", "never"]


class CiteSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source, combined with all sources merged into it, and its other ids."""

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
    """A URL of a source (or its key if it has none), with the id it was registered under."""

    id: str
    spelling: str
    title: str


class CiteMerge(msgspec.Struct, frozen=True, kw_only=True):
    """Why an id or a URL is part of a source; ``how`` is the key that merged it, or ``person``."""

    kept: str
    absorbed: str | None
    address: str | None
    how: Literal["new", "url", "text", "work", "person"]
    reason: str
    keys: list[str]
    who: str | None
    at: str


class CiteSuggestion(msgspec.Struct, frozen=True, kw_only=True):
    """A source that is possibly the same."""

    id: str
    why: str


class ReadingReport(msgspec.Struct, frozen=True, kw_only=True):
    """A reading of a source; ``call`` is the tool call, if it was recorded."""

    reading: ReadingWord
    session: str | None
    call: str | None
    who: str | None
    at: str


class CiteSpan(msgspec.Struct, frozen=True):
    """The position of a passage in its source."""

    first: int
    last: int


class CiteExcerpt(msgspec.Struct, frozen=True, kw_only=True):
    """A passage that was read; ``text`` is null if it was erased."""

    digest: str
    span: CiteSpan | None
    text: str | None


class CiteUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The artifacts that use a source."""

    finding_ids: list[str]
    cluster_ids: list[str]
    contradiction_ids: list[str]
    report_sections: list[str]


class CiteAddReport(Report, frozen=True, kw_only=True, tag="cite-add"):
    """A registered source, whether its id is new, and sources that are possibly the same."""

    registry: str | None
    new: bool
    source: CiteSource
    suggestions: list[CiteSuggestion]


class CiteListReport(Report, frozen=True, kw_only=True, tag="cite-list"):
    """All sources of a registry by number; ``lost`` are the ids of erased sources."""

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
    """The sources of a merge or unmerge, as they are now."""

    registry: str | None
    sources: list[CiteSource]


# The metrics of a saved report, and reports of ``custody cite report`` and ``custody cite contract``.


BESIDE_BYTES_MAX = 16 * 1024 * 1024


class ReportSource(msgspec.Struct, frozen=True, kw_only=True):
    """A source of a report: its marker in the text, its id in the registry, its title and URL."""

    marker: str | None
    id: str | None
    title: str
    url: str | None


class SavedReportInfo(msgspec.Struct, frozen=True, kw_only=True, tag_field="beside", tag="citations"):
    """The metrics of a saved report; ``digest`` is the digest of the report they belong to."""

    version: Literal[1] = 1
    name: str
    digest: str
    passed: bool
    quality_metrics: dict[str, float]
    findings: list[ReportFinding]
    answers: list[str]
    sources: list[ReportSource]


class CiteReportReport(Report, frozen=True, kw_only=True, tag="cite-report"):
    """A saved report with its sources; metrics are included if they were saved for exactly these bytes."""

    file: str
    digest: str
    text: str
    sources: list[ReportSource]
    beside: Literal["there", "missing", "of another text"]
    passed: bool | None
    quality_metrics: dict[str, float] | None
    findings: list[ReportFinding]


class CiteContractReport(Report, frozen=True, kw_only=True, tag="cite-contract"):
    """The citation contract for some sources, or the instructions for agents that gather findings."""

    kind: Literal["contract", "context"]
    text: str
    sources: list[ReportSource]


def encode_citation_metrics(value: SavedReportInfo) -> bytes:
    """Encode metrics as readable JSON, the same bytes for the same value."""
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"


def decode_citation_metrics(data: bytes) -> SavedReportInfo:
    """Decode metrics, or raise ``InputError``."""
    if len(data) > BESIDE_BYTES_MAX:
        raise InputError(f"the saved metrics are larger than {BESIDE_BYTES_MAX:,} bytes")
    try:
        return msgspec.json.decode(data, type=SavedReportInfo)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"cannot read the saved metrics: {error}") from error
