"""Audit the citations of files: read them, look at each, report all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from custody.attribution.app.context import open_attribution
from custody.cite.app.report_file import STDIN, read_report, rules_for
from custody.cite.app.source_numbers import last_source_number
from custody.cite.audit import (
    Audit,
    Coverage,
    RecordFindings,
    audit_of,
    find_new_findings,
    nothing_recorded,
    unregistered,
)
from custody.cite.codes import CODES, Finding
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject
from custody.cite.wire import CiteAuditReport, CiteCoverage, CiteFile, CiteFinding, CitePlace, CiteRecords, SkippedCode
from custody.config import EffectiveRules
from custody.core.errors import InputError, StoreError
from custody.core.ids import CommitSha
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import rules_digest
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


# Audit the texts that a change brings: its documents, its messages, and what records say of its documents.


class ChangeAudit:
    """Audit of a change's texts by the rules that are passed in."""

    def __init__(self, workspace: Workspace, effective: EffectiveRules) -> None:
        self._workspace = workspace
        self._effective = effective
        self._rules = effective.of(CiteRules)

    def audit_document(self, after: bytes, before: bytes | None, *, is_report: bool) -> tuple[Finding, ...]:
        """Return the findings about a document that it did not have ``before``; None means that it is new."""
        return find_new_findings(after, before, self._rules, is_report=is_report)

    def audit_message(self, text: bytes) -> tuple[Finding, ...]:
        """Return the findings about a message, which may also cite ids of this store's registry."""
        return (*find_new_findings(text, None, self._rules, is_report=False), *unregistered(text, self._last_source))

    def audit_by_records(
        self, documents: Iterable[tuple[FileDiff, bytes]], head: CommitSha | None
    ) -> Iterator[tuple[FileDiff, tuple[Finding, ...]]]:
        """Yield what records say of the lines that a change adds to its documents; nothing where nothing was recorded.

        It ends early where the store or a file cannot be read: the check of attribution reports that.
        """
        if not self._workspace.exists():
            return
        from custody.cite.app.records import ReportEvidence  # it loads much, and few changes have documents

        try:
            with open_attribution(self._workspace, "lineage", self._effective) as evidence:
                recording = ReportEvidence(evidence, head=head, believes_claims=False)
                for file, content in documents:
                    subject = AuditSubject.of(content)
                    recorded = recording.look_at(file.change.path, subject, self._rules)
                    findings = map(subject.placed, recorded.found)
                    yield file, tuple(sorted(_added(findings, file), key=lambda finding: finding.line))
        except (StoreError, InputError):
            return

    @cached_property
    def _last_source(self) -> int:
        """The last id that this store's registry gave; 0 where there is none, or none can be read."""
        if not self._workspace.exists():
            return 0
        try:
            with self._workspace.reading() as store:
                return last_source_number(store)
        except StoreError:
            return 0  # the gate reports on the store elsewhere


def _added(findings: Iterable[Finding], file: FileDiff) -> Iterator[Finding]:
    """The findings in lines that the change adds."""
    added = [lines for hunk in file.hunks if (lines := hunk.new_lines) is not None]
    for finding in findings:
        if any(lines.first <= finding.line <= lines.last for lines in added):
            yield finding
