"""What ``custody cite audit``, ``convert`` and ``export`` answer."""

from typing import Literal

import msgspec

from custody.core.wire.report import Report

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
