"""Blame for a client that ran git blame itself: steps 3 to 8 of document 000 over the store alone, without git.

Which commit came before which is not known here, so the signal of an ancestor revision never counts. A trace that
names a file by the end of its path counts only when no trace that may have written the lines names the file itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from custody.attribution.answer_merge import AttributionRun, merge_findings
from custody.attribution.app.proposals import Proposal, Proposals
from custody.attribution.engine import attribute
from custody.attribution.model import AttributionFinding, Segment, TraceAttribution
from custody.attribution.paths import could_name
from custody.attribution.rules import AttributeRules
from custody.core.ids import RecordRef, SessionId
from custody.core.lines import Lines
from custody.core.views import TracedFile
from custody.core.wire.rules_digest import rules_digest
from custody.ledger.queries.prompts import first_prompt
from custody.store import Store
from custody.workspace.rules_in_force import load_rules
from custody.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class SegmentOrigin:
    """Who wrote neighboring lines: the best finding, the trace as a tool reported it, and the first prompt."""

    lines: Lines
    finding: AttributionFinding
    trace: TracedFile | None = None
    prompt: str | None = None


def blame_segments(workspace: Workspace, segments: Iterable[Segment], *, with_prompt: bool) -> list[SegmentOrigin]:
    """Who wrote the segments of one file, neighbors with the same trace and tier as one."""
    rules = replace(load_rules(workspace)[0].of(AttributeRules), profile="document")
    digest = rules_digest({"attribute": rules})
    ordered = sorted(segments, key=lambda segment: segment.lines)
    with workspace.reading() as store, store.reading():
        asking = _SegmentQuery(store, rules)
        findings = [
            attribute(
                segment,
                [proposal.candidate(segment, (), precedes=False) for proposal in asking.of(segment)],
                rules,
                rules_digest=digest,
            )
            for segment in ordered
        ]
        return [asking.origin(answer, with_prompt=with_prompt) for answer in merge_findings(findings)]


class _SegmentQuery:
    """Asks a store about one file."""

    def __init__(self, store: Store, rules: AttributeRules) -> None:
        self._store = store
        self._proposals = Proposals(store, rules)
        self._by: dict[RecordRef, Proposal] = {}

    def of(self, segment: Segment) -> list[Proposal]:
        """What may have written a segment and touches its file."""
        proposals = [proposal for proposal in self._proposals.of(segment) if could_name(proposal.path, segment.path)]
        exact = [proposal for proposal in proposals if proposal.path == segment.path]
        for proposal in proposals:
            self._by[proposal.record] = proposal
        return exact or proposals

    def origin(self, answer: AttributionRun, *, with_prompt: bool) -> SegmentOrigin:
        """An answer with its trace."""
        best = _best(answer.findings)
        if not isinstance(best, TraceAttribution):
            return SegmentOrigin(answer.lines, best)
        view = self._by[best.candidate.records[0]].view
        trace = view if isinstance(view, TracedFile) else None
        url = None if trace is None else trace.conversation
        return SegmentOrigin(answer.lines, best, trace, self._prompt(best, url) if with_prompt else None)

    def _prompt(self, found: TraceAttribution, url: str | None) -> str | None:
        """The first prompt: in the trace's own session, or in the conversation that it names."""
        trace = found.candidate.trace
        for session in (trace.session, None if url is None else SessionId(url)):
            seen = None if session is None else first_prompt(self._store, trace.agent, session)
            if seen is not None:
                return seen.view.text.content
        return None


def _best(findings: Sequence[AttributionFinding]) -> AttributionFinding:
    """Of findings with the same trace and tier, the one that shows most."""
    return max(findings, key=lambda finding: finding.evidence.score if isinstance(finding, TraceAttribution) else 0.0)
