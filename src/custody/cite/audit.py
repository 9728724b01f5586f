"""Say what is wrong with a report's citations. Nothing is changed: the audit never adds a citation to pass itself."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from custody.cite import checks as listed
from custody.cite import checks as numbering
from custody.cite import checks as pointing
from custody.cite import checks as shape
from custody.cite.codes import CitationCode, Finding
from custody.cite.document import LabelKind, TextPlace
from custody.cite.prose import carries_evidence, sentences
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding

# How much of what a report says is cited: cited sentences among those that carry evidence.


@dataclass(frozen=True, slots=True)
class Coverage:
    """So many of so many sentences are cited; ``missing`` are the places of the others.

    What is cited carries evidence: its author thought so.
    """

    cited: int
    total: int
    missing: tuple[TextPlace, ...]

    @property
    def ratio(self) -> float:
        """The share that is cited; 1 where there is nothing to cite.

        >>> Coverage(3, 4, (TextPlace(7, 1),)).ratio, Coverage(0, 0, ()).ratio
        (0.75, 1.0)
        """
        return self.cited / self.total if self.total else 1.0


def coverage_of(subject: AuditSubject, rules: CiteRules) -> Coverage:
    """The coverage of a report."""
    cited = 0
    missing: list[int] = []
    for sentence in sentences(subject):
        if sentence.cited:
            cited += 1
        elif carries_evidence(sentence.text, rules):
            missing.append(sentence.at)
    places = tuple(subject.layout.place(at) for at in missing)
    return Coverage(cited, cited + len(missing), places)


AuditCheck = Callable[[AuditSubject, CiteRules], Iterable[CheckFinding]]

CHECKS: MappingProxyType[CitationCode, AuditCheck] = MappingProxyType(
    {
        CitationCode.NONE: pointing.cites_nothing,
        CitationCode.UNKNOWN: pointing.without_source,
        CitationCode.UNUSED: listed.never_cited,
        CitationCode.GAP: numbering.gaps,
        CitationCode.ORDER: numbering.out_of_order,
        CitationCode.TWICE: listed.listed_twice,
        CitationCode.CLASH: listed.same_label,
        CitationCode.DOMAIN: listed.bare_domain,
        CitationCode.SCHEME: listed.no_page,
        CitationCode.EMPTY: listed.says_nothing,
        CitationCode.LIST: shape.list_does_not_show,
        CitationCode.RANGE: pointing.backwards,
        CitationCode.CIRCLE: shape.in_a_circle,
        CitationCode.TEXT: shape.no_text,
    }
)
"""Every check by the code that it gives; coverage and support are looked at beside them."""

_ORDER = {code: at for at, code in enumerate(CitationCode)}


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit says of one report; it passes if there is no finding."""

    findings: tuple[Finding, ...]
    coverage: Coverage
    markers: int
    sources: int

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def audit_of(subject: AuditSubject, rules: CiteRules, more: Iterable[CheckFinding] = ()) -> Audit:
    """Run every check on a report; findings in the order of the text, with ``more`` that other checks found."""
    coverage = coverage_of(subject, rules)
    check_findings = [finding for check in CHECKS.values() for finding in check(subject, rules)]
    check_findings += [*_uncovered(subject, coverage, rules), *more]
    check_findings.sort(key=lambda check_finding: (check_finding.at, _ORDER[check_finding.code], check_finding.message))
    findings = tuple(map(subject.placed, check_findings))
    return Audit(findings, coverage, len(subject.markers), len(subject.listing.entries))


def _uncovered(subject: AuditSubject, coverage: Coverage, rules: CiteRules) -> Iterable[CheckFinding]:
    if coverage.ratio < rules.coverage_min:
        share = f"{coverage.cited} of {coverage.total} sentences with evidence are cited"
        yield CheckFinding(CitationCode.COVERAGE, 0, f"{share}: {coverage.ratio:.2f}, below {rules.coverage_min:g}")


# What a change does to the citations of a text: the findings that it brings, not those that were there.
# A report has to cite. Any other text may, and is looked at only if it does: it has markers and a list of sources.
# Numbers in brackets without a list, and lists to which nothing points, are usual in other documents.


OF_THE_WHOLE = frozenset((CitationCode.NONE, CitationCode.COVERAGE))
"""These are of a report as a whole: who changes one has to leave it well cited."""


def find_new_findings(after: bytes, before: bytes | None, rules: CiteRules, *, is_report: bool) -> tuple[Finding, ...]:
    """The findings about ``after`` that were not there ``before``; None: it is new."""
    findings = _findings(after, rules, is_report=is_report)
    if before is None or not findings:
        return findings
    known = Counter(
        (integrity_finding.code, integrity_finding.message)
        for integrity_finding in _findings(before, rules, is_report=is_report)
    )
    new = []
    for finding in findings:
        if finding.code not in OF_THE_WHOLE and known[finding.code, finding.message] > 0:
            known[finding.code, finding.message] -= 1
        else:
            new.append(finding)
    return tuple(new)


def unregistered(message: bytes, last: int) -> tuple[Finding, ...]:
    """The ids in a text without a list that a registry with ``last`` sources never gave; none if it has no source."""
    subject = AuditSubject.of(message)
    if subject.listing.entries or not last:
        return ()
    return tuple(
        subject.placed(
            CheckFinding(CitationCode.UNKNOWN, use.marker.start, f"[{use.label}] is no source of the registry")
        )
        for use in subject.uses
        if use.label.kind is LabelKind.ID and not 1 <= (use.label.number or 0) <= last
    )


def _findings(data: bytes, rules: CiteRules, *, is_report: bool) -> tuple[Finding, ...]:
    subject = AuditSubject.of(data)
    if is_report:
        return audit_of(subject, rules).findings
    if not subject.markers or not subject.listing.entries:
        return ()
    return tuple(finding for finding in audit_of(subject, rules).findings if finding.code not in OF_THE_WHOLE)


# What records add to an audit, and what they could not say.


READING_CODES = (CitationCode.UNREAD, CitationCode.LATE, CitationCode.SUMMARY)
"""What is told from how sources were read."""
RECORD_CODES = (
    *READING_CODES,
    CitationCode.SUPPORT,
    CitationCode.NOFILE,
    CitationCode.NOSYMBOL,
    CitationCode.NOISSUE,
    CitationCode.NOPACKAGE,
)
"""What is looked for only where there are records."""


@dataclass(frozen=True, slots=True)
class RecordFindings:
    """What records say of one report: findings, whose lines were judged, and why something was not looked for."""

    found: tuple[CheckFinding, ...] = ()
    sessions: tuple[str, ...] = ()
    lines: int = 0
    not_looked: Mapping[CitationCode, str] = field(default_factory=dict)

    @property
    def looked(self) -> list[CitationCode]:
        """What was looked for."""
        return [code for code in RECORD_CODES if code not in self.not_looked]


def nothing_recorded(why: str) -> RecordFindings:
    """That nothing was looked for, and why."""
    return RecordFindings(not_looked=dict.fromkeys(RECORD_CODES, why))
