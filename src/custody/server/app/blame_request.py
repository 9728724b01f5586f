"""Document 000 for a client that ran git blame itself: its steps 3 to 8 over the store alone, without git.

Which commit came before which is not known here, so the signal of an ancestor revision is never seen; and a trace that
names a file by the end of its path only counts when no trace that may have written the lines names the file itself.
"""

from collections.abc import Sequence

from custody.attribution.answer_merge import Merged, merged
from custody.attribution.app.blame_document import TABLE, document_rules
from custody.attribution.app.proposals import Proposal, Proposals
from custody.attribution.engine import attribute
from custody.attribution.model import Attributed, Finding, Segment
from custody.attribution.paths import could_name
from custody.attribution.rules import AttributeRules
from custody.capture.claims.traces import moment
from custody.core.errors import InputError
from custody.core.ids import CommitSha, ContentHash, RecordRef, SessionId
from custody.core.lines import Lines
from custody.core.paths import RepoPath
from custody.core.views import Prompt, TracedFile
from custody.core.wire.rules_digest import rules_digest
from custody.core.wire.time import checked_ns, ns_from
from custody.server.wire.service import BlameAnswer, BlameAsked, BlamedSegment, SegmentBlamed
from custody.store import Store
from custody.workspace.workspace import Desk

_NS = 1_000_000_000
_NO_HASH = ContentHash("")
"""Matches nothing."""


def blame_asked(desk: Desk, asked: BlameAsked, *, with_text: bool) -> BlameAnswer:
    """Which trace wrote each segment, neighbours with the same trace and tier as one; texts only ``with_text``."""
    path = RepoPath.of(asked.file_path)
    rules = document_rules(desk)
    digest = rules_digest({TABLE: rules})
    segments = sorted((_segment(path, one) for one in asked.blame_data), key=lambda one: one.lines)
    with desk.reading() as store, store.db.reading():
        asking = _Asking(store, rules)
        findings = [
            attribute(
                segment,
                [p.candidate(segment, (), precedes=False) for p in asking.of(segment)],
                rules,
                rules_digest=digest,
            )
            for segment in segments
        ]
        return BlameAnswer(
            file_path=asked.file_path, attributions=[asking.told(one, with_text=with_text) for one in merged(findings)]
        )


def _segment(path: RepoPath, said: BlamedSegment) -> Segment:
    if said.end_line < said.start_line:
        raise InputError(f"lines {said.start_line} to {said.end_line} are no stretch")
    return Segment(
        path,
        Lines(said.start_line, said.end_line),
        None if said.commit_sha is None else CommitSha(said.commit_sha),
        None if said.parent_sha is None else CommitSha(said.parent_sha),
        _at_ns(said.timestamp),
        _NO_HASH if said.content_hash is None else ContentHash(said.content_hash.lower()),
    )


def _at_ns(said: str | int | float | None) -> int | None:
    """When a commit was authored: RFC 3339, or seconds since 1970."""
    if said is None:
        return None
    if isinstance(said, str):
        return ns_from(moment(said))
    return checked_ns(int(said * _NS))


class _Asking:
    """Asks a store about one file."""

    def __init__(self, store: Store, rules: AttributeRules) -> None:
        self._store = store
        self._proposals = Proposals(store, rules)
        self._by: dict[RecordRef, Proposal] = {}

    def of(self, segment: Segment) -> list[Proposal]:
        """What may have written a segment and touches its file."""
        found = [one for one in self._proposals.of(segment) if could_name(one.path, segment.path)]
        exact = [one for one in found if one.path == segment.path]
        for one in found:
            self._by[one.record] = one
        return exact or found

    def told(self, one: Merged, *, with_text: bool) -> SegmentBlamed:
        """An answer in the document's names."""
        best = _best(one.findings)
        if not isinstance(best, Attributed):
            return _nobody(one.lines, best.reason)
        view = self._by[best.candidate.records[0]].view
        traced = view if isinstance(view, TracedFile) else None
        url = None if traced is None else traced.conversation
        return SegmentBlamed(
            start_line=one.lines.first,
            end_line=one.lines.last,
            tier=best.tier,
            confidence=best.confidence,
            trace_id=best.candidate.trace.id,
            agent=best.candidate.trace.agent,
            model_id=None if traced is None else traced.model,
            conversation_url=url,
            conversation_content=self._asked(best, url) if with_text else None,
            grade=best.candidate.grade.value,
            signals=[signal.name for signal in best.evidence.signals],
            reason=None,
        )

    def _asked(self, found: Attributed, url: str | None) -> str | None:
        """The first thing that was asked: in the trace's own session, or in the conversation that it names."""
        trace = found.candidate.trace
        for session in (trace.session, None if url is None else SessionId(url)):
            seen = None if session is None else self._store.first_prompt(trace.agent, session)
            if seen is not None and isinstance(seen.view, Prompt):
                return seen.view.text.content
        return None


def _best(findings: Sequence[Finding]) -> Finding:
    """Of findings with the same trace and tier, the one that shows most."""
    return max(findings, key=lambda one: one.evidence.score if isinstance(one, Attributed) else 0.0)


def _nobody(lines: Lines, why: str) -> SegmentBlamed:
    return SegmentBlamed(
        start_line=lines.first,
        end_line=lines.last,
        tier=None,
        confidence=0.0,
        trace_id=None,
        agent=None,
        model_id=None,
        conversation_url=None,
        conversation_content=None,
        grade=None,
        signals=[],
        reason=why,
    )
