"""Match traces of other tools, which have line ranges and hashes but no text, with lines without captured evidence.

A hash is compared with the commit's text at its range, then anywhere in that version. A range with a hash that matches
nowhere does not count. A range without a hash counts only for the lines inside it, not for lines near it.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.commit_claims import ClaimedRange
from custody.attribution.app.context import AttributionContext, FileVersion
from custody.attribution.carry import align_carried_items
from custody.attribution.engine import attribute
from custody.attribution.lineage import UNKNOWN
from custody.attribution.model import Grade, NoAttribution, Segment, Trace, TraceAttribution, TraceCandidate, TraceEntry
from custody.attribution.queries.traces import (
    find_candidate_edits_by_session,
    find_commit_session_links,
    find_traced_files_by_path,
)
from custody.attribution.text import hash_segment_lines
from custody.core.ids import CommitSha, ContentHash, content_hashes_match
from custody.core.paths import Lines
from custody.core.views import LinkOrigin, TracedFile, TracedRange
from custody.git import Ancestry

CONFIRMED_LINES_MAX = 20_000
"""Maximum lines of a file that is searched for hashes; in a longer one they are compared at their range only."""


def add_trace_claims(
    evidence: AttributionContext, version: FileVersion, answers: Sequence[LineAnswer]
) -> list[LineAnswer]:
    """Return ``answers`` with the claims of other tools' traces about lines without captured evidence."""
    claims = list(_read_trace_claims(evidence, version))
    if not claims:
        return list(answers)
    trace_claims = _TraceClaims(evidence, version, claims)
    return [part for answer in answers for part in trace_claims.split_answer_by_claims(answer)]


def _read_trace_claims(evidence: AttributionContext, version: FileVersion) -> Iterator[ClaimedRange]:
    for traced in find_traced_files_by_path(evidence.store, version.path):
        if not _is_trace_call_captured(evidence, traced.view):
            for range_ in traced.view.ranges:
                yield ClaimedRange(traced.view, range_, traced.record.ref)


def _is_trace_call_captured(evidence: AttributionContext, file: TracedFile) -> bool:
    """Return whether the trace's call was captured too: then its text decides instead of the trace's ranges."""
    if file.within is None or file.call is None:
        return False
    edits = find_candidate_edits_by_session(evidence.store, file.within, file.path)
    return any(edit.view.call == file.call for edit in edits)


class _TraceClaims:
    """The claims about one file, checked against the text of commits."""

    def __init__(self, evidence: AttributionContext, version: FileVersion, claims: Sequence[ClaimedRange]) -> None:
        self._evidence = evidence
        self._version = version
        self._claims = claims
        self._keys = evidence.lineage.make_keys(version.texts)
        self._confirmed: dict[tuple[CommitSha | None, int], frozenset[int]] = {}
        self._preceding: dict[CommitSha, frozenset[str]] = {}

    def split_answer_by_claims(self, answer: LineAnswer) -> Iterator[LineAnswer]:
        """Yield the answer, with an answer of its own for each line that a trace claims."""
        if answer.origin != UNKNOWN or isinstance(answer.finding, TraceAttribution) or not answer.trail:
            yield answer
            return
        unclaimed: list[int] = []
        segment = answer.finding.segment
        for number in range(segment.lines.first, segment.lines.last + 1):
            match = self._line(segment, number, answer.trail[-1])
            if match is None:
                unclaimed.append(number)
                continue
            if unclaimed:
                yield replace(answer, finding=self._leave_unattributed(segment, unclaimed, answer))
                unclaimed = []
            claim, finding = match
            yield claim.to_line_answer(answer, finding)
        if unclaimed:
            yield replace(answer, finding=self._leave_unattributed(segment, unclaimed, answer))

    def _leave_unattributed(self, segment: Segment, numbers: Sequence[int], answer: LineAnswer) -> NoAttribution:
        reason = answer.finding.reason if isinstance(answer.finding, NoAttribution) else ""
        return NoAttribution(self._narrow_segment(segment, Lines(numbers[0], numbers[-1])), reason)

    def _line(
        self, segment: Segment, number: int, commit: CommitSha | None
    ) -> tuple[ClaimedRange, TraceAttribution] | None:
        narrow = self._narrow_segment(segment, Lines(number, number))
        entries = {n: self._entry(claim, n, number, commit, narrow.hash) for n, claim in enumerate(self._claims)}
        candidates = {n: self._candidate(self._claims[n], entry, narrow) for n, entry in entries.items() if entry}
        if not candidates:
            return None
        rules, digest = self._evidence.rules, self._evidence.digest
        finding = attribute(narrow, list(candidates.values()), rules, rules_digest=digest)
        if not isinstance(finding, TraceAttribution):
            return None
        best = next(n for n, candidate in candidates.items() if candidate == finding.candidate)
        return self._claims[best], finding

    def _entry(
        self, claim: ClaimedRange, n: int, number: int, commit: CommitSha | None, line_hash: ContentHash
    ) -> TraceEntry | None:
        """Return the claim's entry for one line; None if it does not cover the line or the text refutes its hash."""
        if claim.range.hash is not None:
            confirmed = number in self._confirmed_lines(claim, n, commit)
            return TraceEntry(claim.range.level, Lines(number, number), line_hash) if confirmed else None
        if claim.range.lines is not None and number in claim.range.lines:
            return TraceEntry(claim.range.level, claim.range.lines)
        return None

    def _confirmed_lines(self, claim: ClaimedRange, n: int, commit: CommitSha | None) -> frozenset[int]:
        """Return the lines of the version with text in ``commit`` that has the hash of the claim."""
        if (commit, n) not in self._confirmed:
            texts = self._version.texts if commit is None else self._evidence.history.texts(commit, self._version.path)
            block = _find_lines_by_range_hash(texts, claim.range)
            pairs = align_carried_items(self._evidence.lineage.make_keys(block), self._keys) if block else []
            self._confirmed[(commit, n)] = frozenset(j + 1 for _, j in pairs)
        return self._confirmed[(commit, n)]

    def _candidate(self, claim: ClaimedRange, entry: TraceEntry, segment: Segment) -> TraceCandidate:
        file = claim.file
        links = [] if segment.commit is None else find_commit_session_links(self._evidence.store, segment.commit)
        linked = tuple(
            link.record.ref
            for link in links
            if link.view.session == file.session and link.view.origin is not LinkOrigin.CONTENT
        )
        return TraceCandidate(
            trace=Trace(file.session, file.agent, file.session),
            path=segment.path,
            at_ns=file.at_ns,
            revision=file.revision,
            entries=(entry,),
            linked=bool(linked),
            precedes=self._precedes(file, segment),
            supports=int(entry.hash is not None),
            grade=Grade.CLAIMED,
            records=(claim.record,),
            link_records=linked,
            named=file.path,
        )

    def _precedes(self, file: TracedFile, segment: Segment) -> bool:
        below = segment.commit or segment.parent
        return file.revision is not None and below is not None and file.revision in self._preceding_revisions(below)

    def _preceding_revisions(self, below: CommitSha) -> frozenset[str]:
        """Return the revisions of all claims that are ancestors of a commit, asked for at once."""
        if below not in self._preceding:
            revisions = {claim.file.revision for claim in self._claims if claim.file.revision is not None}
            pairs = [Ancestry(CommitSha(name), below) for name in revisions if len(name) in (40, 64)]
            older = self._evidence.repository.ancestries(pairs) if pairs else frozenset()
            self._preceding[below] = frozenset(pair.ancestor for pair in older)
        return self._preceding[below]

    def _narrow_segment(self, segment: Segment, lines: Lines) -> Segment:
        texts = self._version.texts[lines.first - 1 : lines.last]
        hashed = hash_segment_lines(texts)
        return replace(segment, lines=lines, hash=hashed)


def _find_lines_by_range_hash(texts: Sequence[str], range_: TracedRange) -> Sequence[str]:
    """Return the lines of a version with the hash of a range: at its own lines, else anywhere."""
    if range_.hash is None or range_.lines is None:
        return texts if range_.hash is not None and _has_claimed_hash(texts, range_.hash) else ()
    claimed = texts[range_.lines.first - 1 : range_.lines.last]
    if _has_claimed_hash(claimed, range_.hash):
        return claimed
    length = len(range_.lines)
    starts = range(max(0, len(texts) - length + 1)) if len(texts) <= CONFIRMED_LINES_MAX else range(0)
    return next(
        (texts[at : at + length] for at in starts if _has_claimed_hash(texts[at : at + length], range_.hash)), ()
    )


def _has_claimed_hash(texts: Sequence[str], claimed: ContentHash) -> bool:
    return content_hashes_match(hash_segment_lines(texts), claimed)
