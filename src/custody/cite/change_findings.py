"""What a change does to the citations of a text: the findings that it brings, not those that were there.

A report has to cite. Any other text may, and is looked at only if it does: it has markers and a list of sources.
Numbers in brackets without a list, and lists to which nothing points, are usual in other documents.
"""

from collections import Counter

from custody.cite.audit import audit_of
from custody.cite.codes import CitationCode, Finding
from custody.cite.document import LabelKind
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject, CheckFinding

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
