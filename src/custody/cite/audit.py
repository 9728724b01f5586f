"""The audit of a report's citations. It changes nothing, and never adds a citation."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct, field

from custody.cite import checks as listed
from custody.cite import checks as numbering
from custody.cite import checks as pointing
from custody.cite import checks as shape
from custody.cite.codes import CitationCode, Finding
from custody.cite.document import LabelKind, TextPlace
from custody.cite.prose import is_citable_sentence, split_report_sentences
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding

# Coverage: the cited sentences among those that need evidence.


class Coverage(Struct, frozen=True):
    """How many of the sentences with evidence are cited; ``missing`` are the positions of the others.

    A cited sentence always counts as one with evidence.
    """

    cited: int
    total: int
    missing: tuple[TextPlace, ...]

    @property
    def ratio(self) -> float:
        """Return the cited share; 1 if there is nothing to cite.

        >>> Coverage(3, 4, (TextPlace(7, 1),)).ratio, Coverage(0, 0, ()).ratio
        (0.75, 1.0)
        """
        return self.cited / self.total if self.total else 1.0


def measure_citation_coverage(subject: AuditSubject) -> Coverage:
    """Return the coverage of a report."""
    cited = 0
    missing: list[int] = []
    for sentence in split_report_sentences(subject):
        if sentence.cited:
            cited += 1
        elif is_citable_sentence(sentence.text):
            missing.append(sentence.at)
    places = tuple(subject.layout.place(at) for at in missing)
    return Coverage(cited, cited + len(missing), places)


AuditCheck = Callable[[AuditSubject, CiteRules], Iterable[CheckFinding]]

CHECKS: MappingProxyType[CitationCode, AuditCheck] = MappingProxyType(
    {
        CitationCode.NONE: pointing.find_missing_citations,
        CitationCode.UNKNOWN: pointing.find_unlisted_markers,
        CitationCode.UNUSED: listed.find_uncited_sources,
        CitationCode.GAP: numbering.find_number_gaps,
        CitationCode.ORDER: numbering.find_unordered_sources,
        CitationCode.TWICE: listed.find_duplicate_sources,
        CitationCode.CLASH: listed.find_label_clashes,
        CitationCode.DOMAIN: listed.find_bare_domains,
        CitationCode.SCHEME: listed.find_non_page_urls,
        CitationCode.EMPTY: listed.find_empty_sources,
        CitationCode.LIST: shape.find_source_list_problems,
        CitationCode.RANGE: pointing.find_backward_ranges,
        CitationCode.CIRCLE: shape.find_footnote_cycles,
        CitationCode.TEXT: shape.find_invalid_bytes,
    }
)
"""All checks by code, except coverage and support."""

_ORDER = {code: at for at, code in enumerate(CitationCode)}


class Audit(Struct, frozen=True):
    """The audit of one report; it passes without findings."""

    findings: tuple[Finding, ...]
    coverage: Coverage
    markers: int
    sources: int

    @property
    def passed(self) -> bool:
        """Return whether it has no findings."""
        return not self.findings


def audit_citations(subject: AuditSubject, rules: CiteRules, more: Iterable[CheckFinding] = ()) -> Audit:
    """Run all checks on a report; findings are in the order of the text, including ``more`` from other checks."""
    coverage = measure_citation_coverage(subject)
    check_findings = [finding for check in CHECKS.values() for finding in check(subject, rules)]
    check_findings += [*_check_citation_coverage(subject, coverage, rules), *more]
    check_findings.sort(key=lambda check_finding: (check_finding.at, _ORDER[check_finding.code], check_finding.message))
    findings = tuple(map(subject.locate_finding, check_findings))
    return Audit(findings, coverage, len(subject.markers), len(subject.listing.entries))


def _check_citation_coverage(subject: AuditSubject, coverage: Coverage, rules: CiteRules) -> Iterable[CheckFinding]:
    if coverage.ratio < rules.coverage_min:
        share = f"{coverage.cited} of {coverage.total} sentences with evidence are cited"
        yield CheckFinding(CitationCode.COVERAGE, 0, f"{share}: {coverage.ratio:.2f}, below {rules.coverage_min:g}")


# The findings that a change adds to a text. A report must cite. Any other text is checked only if it has both markers
# and a source list, because bracketed numbers without a list, and uncited lists, are common in other documents.


OF_THE_WHOLE = frozenset((CitationCode.NONE, CitationCode.COVERAGE))
"""Codes about a report as a whole; a change must leave the report without them."""


def find_new_citation_findings(
    after: bytes, before: bytes | None, rules: CiteRules, *, is_report: bool
) -> tuple[Finding, ...]:
    """Return the findings about ``after`` that ``before`` does not have; None means a new text."""
    findings = _audit_document_citations(after, rules, is_report=is_report)
    if before is None or not findings:
        return findings
    known = Counter(
        (integrity_finding.code, integrity_finding.message)
        for integrity_finding in _audit_document_citations(before, rules, is_report=is_report)
    )
    new = []
    for finding in findings:
        if finding.code not in OF_THE_WHOLE and known[finding.code, finding.message] > 0:
            known[finding.code, finding.message] -= 1
        else:
            new.append(finding)
    return tuple(new)


def find_unregistered_source_ids(message: bytes, last: int) -> tuple[Finding, ...]:
    """Return the ids in a text without a list that the registry, with ids up to ``last``, never assigned."""
    subject = AuditSubject.of(message)
    if subject.listing.entries or not last:
        return ()
    return tuple(
        subject.locate_finding(
            CheckFinding(CitationCode.UNKNOWN, use.marker.start, f"[{use.label}] is not in the registry")
        )
        for use in subject.uses
        if use.label.kind is LabelKind.ID and not 1 <= (use.label.number or 0) <= last
    )


def _audit_document_citations(data: bytes, rules: CiteRules, *, is_report: bool) -> tuple[Finding, ...]:
    subject = AuditSubject.of(data)
    if is_report:
        return audit_citations(subject, rules).findings
    if not subject.markers or not subject.listing.entries:
        return ()
    return tuple(finding for finding in audit_citations(subject, rules).findings if finding.code not in OF_THE_WHOLE)


# Findings from records.


READING_CODES = (CitationCode.UNREAD, CitationCode.LATE, CitationCode.SUMMARY)
"""Codes that need recorded readings."""
RECORD_CODES = (
    *READING_CODES,
    CitationCode.SUPPORT,
    CitationCode.NOFILE,
    CitationCode.NOSYMBOL,
    CitationCode.NOISSUE,
    CitationCode.NOPACKAGE,
)
"""Codes that need records."""


class RecordFindings(Struct, frozen=True):
    """The findings from records about one report, the sessions and lines checked, and the skipped codes."""

    found: tuple[CheckFinding, ...] = ()
    sessions: tuple[str, ...] = ()
    lines: int = 0
    skipped: Mapping[CitationCode, str] = field(default_factory=dict)

    @property
    def checked(self) -> list[CitationCode]:
        """Return the codes that were checked."""
        return [code for code in RECORD_CODES if code not in self.skipped]


def skip_citation_record_checks(why: str) -> RecordFindings:
    """Return findings where all codes are skipped for one reason."""
    return RecordFindings(skipped=dict.fromkeys(RECORD_CODES, why))
