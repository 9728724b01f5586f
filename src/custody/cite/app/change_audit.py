"""Audit the texts that a change brings: its documents, its messages, and what records say of its documents."""

from collections.abc import Iterable, Iterator
from functools import cached_property

from custody.attribution.app.context import open_attribution
from custody.cite.app.source_numbers import last_source_number
from custody.cite.change_findings import find_new_findings, unregistered
from custody.cite.codes import Finding
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject
from custody.config import EffectiveRules
from custody.core.errors import InputError, StoreError
from custody.core.ids import CommitSha
from custody.git import FileDiff
from custody.workspace.workspace import Workspace


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
