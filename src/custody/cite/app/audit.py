"""Audit the citations of files: read them, look at each, report all."""

from collections.abc import Mapping, Sequence

from custody.cite.app.report_file import STDIN, read_report, rules_for
from custody.cite.audit import Audit, audit_of
from custody.cite.codes import CODES
from custody.cite.coverage import Coverage
from custody.cite.record_findings import RecordFindings, nothing_recorded
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject
from custody.cite.wire.audit import (
    CiteAuditReport,
    CiteCoverage,
    CiteFile,
    CiteFinding,
    CitePlace,
    CiteRecords,
    SkippedCode,
)
from custody.core.errors import InputError
from custody.core.wire.body import digest_text
from custody.core.wire.rules_digest import rules_digest
from custody.core.wire.sarif import SarifResult, SarifRule, encode_sarif
from custody.workspace.workspace import Workspace


def cite_audit(
    workspace: Workspace,
    names: Sequence[str],
    stdin: bytes = b"",
    *,
    coverage_min: float | None = None,
    session: str | None = None,
) -> CiteAuditReport:
    """What is wrong with the citations of these files, in their order; nothing in them changes.

    Where records tell who wrote them, or ``session`` is named, what those tell is looked at too.
    """
    rules = rules_for(workspace, coverage_min)
    reports = {name: AuditSubject.of(read_report(workspace, name, stdin)) for name in names}
    record_findings = _find_in_records(workspace, reports, rules, session)
    audits = [(name, audit_of(subject, rules, record_findings[name].found)) for name, subject in reports.items()]
    cited = sum(audit.coverage.cited for _, audit in audits)
    total = sum(audit.coverage.total for _, audit in audits)
    return CiteAuditReport(
        outcome="fine" if all(audit.passed for _, audit in audits) else "found",
        findings=[
            CiteFinding(finding.code.value, finding.line, finding.column, finding.message, name)
            for name, audit in audits
            for finding in audit.findings
        ],
        coverage=_coverage(Coverage(cited, total, ())),
        coverage_min=rules.coverage_min,
        files=[_file(name, audit, record_findings[name]) for name, audit in audits],
        rules_digest=digest_text(rules_digest({"cite": rules})),
    )


def _find_in_records(
    workspace: Workspace, reports: Mapping[str, AuditSubject], rules: CiteRules, session: str | None
) -> Mapping[str, RecordFindings]:
    """What records say of each report, or why they say nothing."""
    try:
        workspace.repository  # noqa: B018 - only whether there is one
        why = None if workspace.exists() else "nothing was recorded here"
        if not workspace.spooled:
            why = "the repository here is another project's"
    except InputError:
        why = "there is no repository here"
    if why is None:
        from custody.cite.app.records import (
            open_report_evidence,  # attribution is large, and many reports lie elsewhere
        )

        with open_report_evidence(workspace, session) as records:
            return {name: records.look(name, subject, rules) for name, subject in reports.items()}
    if session is not None:
        raise InputError(f"no session is named '{session}': {why}", hint="'custody log' lists the sessions")
    return dict.fromkeys(reports, nothing_recorded(why))


def audit_sarif(report: CiteAuditReport, version: str) -> bytes:
    """The findings of a report as SARIF."""
    rules = [SarifRule(code.value, about.name, about.meaning, about.remedy) for code, about in CODES.items()]
    results = [
        SarifResult(
            finding.code,
            finding.message,
            "stdin" if finding.file == STDIN else finding.file,
            finding.line,
            finding.column,
        )
        for finding in report.findings
    ]
    return encode_sarif(version, rules, results)


def remedy_of(code: str) -> str:
    """What to do about a finding with this code."""
    return next(about.remedy for citation_code, about in CODES.items() if citation_code.value == code)


def _file(name: str, audit: Audit, told: RecordFindings) -> CiteFile:
    return CiteFile(
        file=name,
        findings=len(audit.findings),
        coverage=_coverage(audit.coverage),
        uncited=[CitePlace(line, column) for line, column in audit.coverage.missing],
        markers=audit.markers,
        sources=audit.sources,
        records=CiteRecords(
            sessions=list(told.sessions),
            lines=told.lines,
            looked=[code.value for code in told.looked],
            not_looked=[SkippedCode(code.value, why) for code, why in told.not_looked.items()],
        ),
    )


def _coverage(coverage: Coverage) -> CiteCoverage:
    return CiteCoverage(coverage.cited, coverage.total, coverage.ratio)
