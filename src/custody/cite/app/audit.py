"""Audit the citations of files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from custody.attribution.app.context import open_attribution
from custody.cite.app.report_file import STDIN, load_citation_rules, read_cited_report
from custody.cite.audit import (
    Audit,
    Coverage,
    RecordFindings,
    audit_citations,
    find_new_citation_findings,
    find_unregistered_source_ids,
    skip_citation_record_checks,
)
from custody.cite.codes import CODES, Finding
from custody.cite.queries.registry import RegistryTables
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject
from custody.cite.wire import CiteAuditReport, CiteCoverage, CiteFile, CiteFinding, CitePlace, CiteRecords, SkippedCode
from custody.config import EffectiveRules
from custody.core.errors import InputError, StoreError
from custody.core.ids import CommitSha
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import digest_rule_tables
from custody.core.wire.sarif import SarifResult, SarifRule, encode_sarif
from custody.git import FileDiff
from custody.workspace.workspace import Workspace


def cite_audit(
    workspace: Workspace,
    names: Sequence[str],
    stdin: bytes = b"",
    *,
    coverage_min: float | None = None,
    session: str | None = None,
) -> CiteAuditReport:
    """Return the problems with the citations of these files, in their order.

    Lines with a recorded author, or all lines if ``session`` is passed, are also checked against records.
    """
    rules = load_citation_rules(workspace, coverage_min)
    reports = {name: AuditSubject.of(read_cited_report(workspace, name, stdin)) for name in names}
    record_findings = _gather_record_findings(workspace, reports, rules, session)
    audits = [(name, audit_citations(subject, rules, record_findings[name].found)) for name, subject in reports.items()]
    cited = sum(audit.coverage.cited for _, audit in audits)
    total = sum(audit.coverage.total for _, audit in audits)
    return CiteAuditReport(
        outcome="fine" if all(audit.passed for _, audit in audits) else "found",
        findings=[
            CiteFinding(finding.code.value, finding.line, finding.column, finding.message, name)
            for name, audit in audits
            for finding in audit.findings
        ],
        coverage=_to_cite_coverage(Coverage(cited, total, ())),
        coverage_min=rules.coverage_min,
        files=[_to_cite_file(name, audit, record_findings[name]) for name, audit in audits],
        rules_digest=format_digest(digest_rule_tables({"cite": rules})),
    )


REMEDIES: Mapping[str, str] = MappingProxyType({code.value: about.remedy for code, about in CODES.items()})
"""What to do about a finding, by the code that reports have."""


def _gather_record_findings(
    workspace: Workspace, reports: Mapping[str, AuditSubject], rules: CiteRules, session: str | None
) -> Mapping[str, RecordFindings]:
    """Return what records show about each report, or why they show nothing."""
    try:
        workspace.repository  # noqa: B018 - raises if there is none
        why = None if workspace.exists() else "nothing is recorded in this repository"
        if not workspace.spooled:
            why = "this repository belongs to another project"
    except InputError:
        why = "not in a git repository"
    if why is None:
        from custody.cite.app.records import (
            open_citation_evidence,  # attribution is slow to load, and many reports are outside a repository
        )

        with open_citation_evidence(workspace, session) as records:
            return {name: records.check_report(name, subject, rules) for name, subject in reports.items()}
    if session is not None:
        raise InputError(f"unknown session '{session}': {why}", hint="list sessions with 'custody log'")
    return dict.fromkeys(reports, skip_citation_record_checks(why))


def encode_citation_sarif(report: CiteAuditReport, version: str) -> bytes:
    """Return the findings of a report as SARIF."""
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


def _to_cite_file(name: str, audit: Audit, record_findings: RecordFindings) -> CiteFile:
    return CiteFile(
        file=name,
        findings=len(audit.findings),
        coverage=_to_cite_coverage(audit.coverage),
        uncited=[CitePlace(line, column) for line, column in audit.coverage.missing],
        markers=audit.markers,
        sources=audit.sources,
        records=CiteRecords(
            sessions=list(record_findings.sessions),
            lines=record_findings.lines,
            looked=[code.value for code in record_findings.checked],
            not_looked=[SkippedCode(code.value, why) for code, why in record_findings.skipped.items()],
        ),
    )


def _to_cite_coverage(coverage: Coverage) -> CiteCoverage:
    return CiteCoverage(coverage.cited, coverage.total, coverage.ratio)


# Audit the texts of a change: its documents and its messages.


class ChangeAudit:
    """Audit of a change's texts under the given rules."""

    def __init__(self, workspace: Workspace, effective: EffectiveRules) -> None:
        self._workspace = workspace
        self._effective = effective
        self._rules = effective.of(CiteRules)

    def audit_document(self, after: bytes, before: bytes | None, *, is_report: bool) -> tuple[Finding, ...]:
        """Return the findings about a document that it did not have ``before``; None means that it is new."""
        return find_new_citation_findings(after, before, self._rules, is_report=is_report)

    def audit_message(self, text: bytes) -> tuple[Finding, ...]:
        """Return the findings about a message, which may also cite ids of this store's registry."""
        return (
            *find_new_citation_findings(text, None, self._rules, is_report=False),
            *find_unregistered_source_ids(text, self._last_source),
        )

    def audit_by_records(
        self, documents: Iterable[tuple[FileDiff, bytes]], head: CommitSha | None
    ) -> Iterator[tuple[FileDiff, tuple[Finding, ...]]]:
        """Yield the findings from records about the lines that a change adds to its documents.

        Yield nothing if nothing is recorded. End early if the store or a file cannot be read: the attribution check
        reports that.
        """
        if not self._workspace.exists():
            return
        from custody.cite.app.records import ReportEvidence  # slow to load, and few changes have documents

        try:
            with open_attribution(self._workspace, "lineage", self._effective) as evidence:
                recording = ReportEvidence(evidence, head=head, believes_claims=False)
                for file, content in documents:
                    subject = AuditSubject.of(content)
                    recorded = recording.check_version(file.change.path, subject, self._rules)
                    findings = map(subject.locate_finding, recorded.found)
                    yield (
                        file,
                        tuple(
                            sorted(_filter_added_citation_findings(findings, file), key=lambda finding: finding.line)
                        ),
                    )
        except (StoreError, InputError):
            return

    @cached_property
    def _last_source(self) -> int:
        """Return the last number that the registry assigned; 0 if there is none or it cannot be read."""
        if not self._workspace.exists():
            return 0
        try:
            with self._workspace.reading() as store:
                return RegistryTables(store).catalog(store.own()).last()
        except StoreError:
            return 0  # another check of the gate reports a damaged store


def _filter_added_citation_findings(findings: Iterable[Finding], file: FileDiff) -> Iterator[Finding]:
    """Yield the findings in lines that the change adds."""
    added = [lines for hunk in file.hunks if (lines := hunk.new_lines) is not None]
    for finding in findings:
        if any(lines.first <= finding.line <= lines.last for lines in added):
            yield finding
