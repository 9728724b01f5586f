"""Say what is wrong with a report's citations. Nothing is changed: the audit never adds a citation to pass itself."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import MappingProxyType

from custody.cite.checks import list_checks as listed
from custody.cite.checks import marker_checks as pointing
from custody.cite.checks import numbering, shape
from custody.cite.codes import CitationCode, Finding
from custody.cite.coverage import Coverage, coverage_of
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding

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
