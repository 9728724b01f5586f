"""Audit the citations of files: read them, look at each, report all."""

from collections.abc import Sequence

from custody.app.cite_files import STDIN, read_report, rules_for
from custody.app.desk import Desk
from custody.cite.audit import Audit, audit
from custody.cite.codes import CODES
from custody.cite.coverage import Coverage
from custody.wire.bodies import digest_text
from custody.wire.cite import CiteAuditReport, CiteCoverage, CiteFile, CiteFinding, CitePlace
from custody.wire.rules import rules_digest
from custody.wire.sarif import SarifResult, SarifRule, encode_sarif


def cite_audit(
    desk: Desk, names: Sequence[str], stdin: bytes = b"", *, coverage_min: float | None = None
) -> CiteAuditReport:
    """What is wrong with the citations of these files, in their order; nothing in them changes."""
    rules = rules_for(desk, coverage_min)
    audits = [(name, audit(read_report(desk, name, stdin), rules)) for name in dict.fromkeys(names)]
    cited = sum(one.coverage.cited for _, one in audits)
    total = sum(one.coverage.total for _, one in audits)
    return CiteAuditReport(
        outcome="fine" if all(one.passed for _, one in audits) else "found",
        findings=[
            CiteFinding(found.code.value, found.line, found.column, found.message, name)
            for name, one in audits
            for found in one.findings
        ],
        coverage=_coverage(Coverage(cited, total, ())),
        coverage_min=rules.coverage_min,
        files=[_file(name, one) for name, one in audits],
        rules_digest=digest_text(rules_digest({"cite": rules})),
    )


def audit_sarif(report: CiteAuditReport, version: str) -> bytes:
    """The findings of a report as SARIF."""
    rules = [SarifRule(code.value, about.name, about.meaning, about.remedy) for code, about in CODES.items()]
    results = [
        SarifResult(one.code, one.message, "stdin" if one.file == STDIN else one.file, one.line, one.column)
        for one in report.findings
    ]
    return encode_sarif(version, rules, results)


def remedy_of(code: str) -> str:
    """What to do about a finding with this code."""
    return next(about.remedy for one, about in CODES.items() if one.value == code)


def _file(name: str, one: Audit) -> CiteFile:
    return CiteFile(
        file=name,
        findings=len(one.findings),
        coverage=_coverage(one.coverage),
        uncited=[CitePlace(line, column) for line, column in one.coverage.missing],
        markers=one.markers,
        sources=one.sources,
    )


def _coverage(coverage: Coverage) -> CiteCoverage:
    return CiteCoverage(coverage.cited, coverage.total, coverage.ratio)
