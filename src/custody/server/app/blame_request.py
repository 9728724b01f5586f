"""Blame as document 000 asks a service for it: the request's segments in, an answer in the document's names out."""

from custody.attribution import Segment, TraceAttribution
from custody.attribution.app.blame_request import SegmentOrigin, blame_segments
from custody.capture.claims.traces import moment
from custody.core.errors import InputError
from custody.core.ids import CommitSha, ContentHash
from custody.core.lines import Lines
from custody.core.paths import RepoPath
from custody.core.wire.time import checked_ns, ns_from
from custody.server.wire.service import BlameAnswer, BlameBody, BlamedSegment, SegmentAnswer
from custody.workspace.workspace import Workspace

_NS = 1_000_000_000
_NO_HASH = ContentHash("")
"""Matches nothing."""


def answer_blame(workspace: Workspace, asked: BlameBody, *, with_text: bool) -> BlameAnswer:
    """Which trace wrote each segment, neighbours with the same trace and tier as one; texts only ``with_text``."""
    path = RepoPath.of(asked.file_path)
    segments = (_segment(path, segment) for segment in asked.blame_data)
    origins = blame_segments(workspace, segments, with_prompt=with_text)
    return BlameAnswer(file_path=asked.file_path, attributions=[_report_segment(origin) for origin in origins])


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


def _report_segment(origin: SegmentOrigin) -> SegmentAnswer:
    """An answer in the document's names."""
    finding, trace = origin.finding, origin.trace
    if not isinstance(finding, TraceAttribution):
        return _nobody(origin.lines, finding.reason)
    return SegmentAnswer(
        start_line=origin.lines.first,
        end_line=origin.lines.last,
        tier=finding.tier,
        confidence=finding.confidence,
        trace_id=finding.candidate.trace.id,
        agent=finding.candidate.trace.agent,
        model_id=None if trace is None else trace.model,
        conversation_url=None if trace is None else trace.conversation,
        conversation_content=origin.prompt,
        grade=finding.candidate.grade.value,
        signals=[signal.name for signal in finding.evidence.signals],
        reason=None,
    )


def _nobody(lines: Lines, why: str) -> SegmentAnswer:
    return SegmentAnswer(
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
