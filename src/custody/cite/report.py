"""A report with its citations: the text as it is saved, its sources, its audit, and how good it is in numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from custody.cite.audit import Audit
from custody.cite.codes import CitationCode
from custody.cite.contract import index_by_number
from custody.cite.draft_loop import Attempt
from custody.cite.drafts import ReportDraft, audit_draft, cited_sections, footnoted
from custody.cite.model import ResearchSource, SourceID
from custody.cite.results import SynthesisMetadata, quality_metrics
from custody.cite.rules import CiteRules


class CitationWarning(UserWarning):
    """A report did not pass its audit and is there all the same; ``report`` says what is wrong with it."""

    def __init__(self, report: "CitedReport") -> None:
        codes = ", ".join(dict.fromkeys(finding.code.value for finding in report.audit.findings))
        super().__init__(
            f"'{report.name}' does not keep the citation contract after {report.audit_failures} answer(s): {codes}"
        )
        self.report = report


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedReport:
    """A report; ``text`` is what is saved, ``draft`` what its writer gave, ``sources`` are in the order of its list.

    ``markers`` are what stands for each source in the text, empty where the text has none.

    It may have failed its audit: ``passed`` says so, and ``warning`` is there exactly then.
    """

    name: str
    text: str
    draft: str
    sources: tuple[ResearchSource, ...]
    markers: tuple[str, ...]
    audit: Audit
    attempts: tuple[Attempt, ...] = ()
    sections: Mapping[SourceID, tuple[str, ...]] = field(default_factory=dict, hash=False)
    synthesis_metadata: SynthesisMetadata = field(default_factory=SynthesisMetadata)

    @property
    def passed(self) -> bool:
        """Whether the audit found nothing."""
        return self.audit.passed

    @property
    def quality_metrics(self) -> Mapping[str, float]:
        """``citation_coverage``, ``orphaned_sources`` and ``audit_failures``."""
        return self.synthesis_metadata.quality_metrics

    @property
    def audit_failures(self) -> int:
        """How many answers failed, this one among them if it did."""
        return int(self.quality_metrics["audit_failures"])

    @property
    def warning(self) -> CitationWarning | None:
        """What to tell the reader of a report that did not pass."""
        return None if self.passed else CitationWarning(self)


def cited_report(
    text: str,
    sources: Sequence[ResearchSource],
    rules: CiteRules | None = None,
    *,
    name: str = "report",
    attempts: Sequence[Attempt] = (),
) -> CitedReport:
    """The report that a text with ``[Sx]`` markers makes; without ``attempts``, the text is the only one."""
    draft = ReportDraft.of(text.encode("utf-8", "surrogatepass"), index_by_number(sources))
    audit = audit_draft(draft, rules or CiteRules())
    made = footnoted(draft)
    failures = sum(not attempt.passed for attempt in attempts) if attempts else int(not audit.passed)
    metrics = quality_metrics(
        citation_coverage=audit.coverage.ratio,
        orphaned_sources=sum(finding.code is CitationCode.UNUSED for finding in audit.findings),
        audit_failures=failures,
    )
    return CitedReport(
        name=name,
        text=made.text.decode("utf-8", "surrogatepass"),
        draft=text,
        sources=made.sources,
        markers=made.markers,
        audit=audit,
        attempts=tuple(attempts),
        sections=cited_sections(draft, name),
        synthesis_metadata=SynthesisMetadata(quality_metrics=metrics),
    )
