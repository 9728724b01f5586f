"""Traces of other tools, which bring places and hashes but no text: asked only where no captured text answers.

A hash is checked against the commit's text at its place, then anywhere in that version. A trace that gives a hash and
is not confirmed has known content that is not there, and gets nothing. Places without a hash count only where they
contain the line: near them is not enough when lines can be told apart.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.commit_claims import ClaimedRange
from custody.attribution.app.context import AttributionContext, FileVersion
from custody.attribution.carry import align
from custody.attribution.engine import attribute
from custody.attribution.lineage import UNKNOWN
from custody.attribution.model import Grade, NoAttribution, Segment, Trace, TraceAttribution, TraceCandidate, TraceEntry
from custody.attribution.queries.traces import edits_of_file_by, links_of_commit, traced_files_apart
from custody.attribution.text import hash_of, keys_of
from custody.core.ids import CommitSha, ContentHash, content_hashes_match
from custody.core.paths import Lines
from custody.core.views import LinkOrigin, TracedFile, TracedRange
from custody.git import Ancestry

CONFIRMED_LINES_MAX = 20_000
"""A file with more lines is compared with hashes at their own place only."""


def traced_findings(
    evidence: AttributionContext, version: FileVersion, answers: Sequence[LineAnswer]
) -> list[LineAnswer]:
    """``answers`` with what traces of other tools say of lines that no captured text explains."""
    claims = list(_claims(evidence, version))
    if not claims:
        return list(answers)
    asked = _TraceClaims(evidence, version, claims)
    return [traced_answer for answer in answers for traced_answer in asked.answered(answer)]


def _claims(evidence: AttributionContext, version: FileVersion) -> Iterator[ClaimedRange]:
    for seen in traced_files_apart(evidence.store, version.path):
        if not _is_captured(evidence, seen.view):
            for range_ in seen.view.ranges:
                yield ClaimedRange(seen.view, range_, seen.record.ref)


def _is_captured(evidence: AttributionContext, file: TracedFile) -> bool:
    """Whether the call that a trace tells of was captured too: then its text says which lines are its, no place."""
    if file.within is None or file.call is None:
        return False
    return any(seen.view.call == file.call for seen in edits_of_file_by(evidence.store, file.within, file.path))


class _TraceClaims:
    """The claims about one file, and what of them a commit's text confirms."""

    def __init__(self, evidence: AttributionContext, version: FileVersion, claims: Sequence[ClaimedRange]) -> None:
        self._evidence = evidence
        self._version = version
        self._claims = claims
        self._keys = keys_of(version.texts)
        self._confirmed: dict[tuple[CommitSha | None, int], frozenset[int]] = {}

    def answered(self, answer: LineAnswer) -> Iterator[LineAnswer]:
        """The answer, or one per line of it that traces speak of."""
        if answer.origin != UNKNOWN or isinstance(answer.finding, TraceAttribution) or not answer.trail:
            yield answer
            return
        waiting: list[int] = []
        segment = answer.finding.segment
        for number in range(segment.lines.first, segment.lines.last + 1):
            found = self._line(segment, number, answer.trail[-1])
            if found is None:
                waiting.append(number)
                continue
            if waiting:
                yield replace(answer, finding=self._rest(segment, waiting, answer))
                waiting = []
            claim, attributed = found
            yield claim.answering(answer, attributed)
        if waiting:
            yield replace(answer, finding=self._rest(segment, waiting, answer))

    def _rest(self, segment: Segment, numbers: Sequence[int], answer: LineAnswer) -> NoAttribution:
        reason = answer.finding.reason if isinstance(answer.finding, NoAttribution) else ""
        return NoAttribution(self._narrowed(segment, Lines(numbers[0], numbers[-1])), reason)

    def _line(
        self, segment: Segment, number: int, commit: CommitSha | None
    ) -> tuple[ClaimedRange, TraceAttribution] | None:
        narrow = self._narrowed(segment, Lines(number, number))
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
        """What a claim says of one line, if it may say anything: with a hash only what the text confirms."""
        if claim.range.hash is not None:
            confirmed = number in self._confirmed_lines(claim, n, commit)
            return TraceEntry(claim.range.level, Lines(number, number), line_hash) if confirmed else None
        if claim.range.lines is not None and number in claim.range.lines:
            return TraceEntry(claim.range.level, claim.range.lines)
        return None

    def _confirmed_lines(self, claim: ClaimedRange, n: int, commit: CommitSha | None) -> frozenset[int]:
        """The lines of the file, as it is asked about, whose text in ``commit`` has the hash of the claim."""
        if (commit, n) not in self._confirmed:
            texts = self._version.texts if commit is None else self._evidence.history.texts(commit, self._version.path)
            block = _block(texts, claim.range)
            pairs = align(keys_of(block), self._keys) if block else []
            self._confirmed[(commit, n)] = frozenset(j + 1 for _, j in pairs)
        return self._confirmed[(commit, n)]

    def _candidate(self, claim: ClaimedRange, entry: TraceEntry, segment: Segment) -> TraceCandidate:
        file = claim.file
        links = [] if segment.commit is None else links_of_commit(self._evidence.store, segment.commit)
        linked = tuple(
            seen.record.ref
            for seen in links
            if seen.view.session == file.session and seen.view.origin is not LinkOrigin.CONTENT
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
        )

    def _precedes(self, file: TracedFile, segment: Segment) -> bool:
        below = segment.commit or segment.parent
        if file.revision is None or below is None or len(file.revision) not in (40, 64):
            return False
        pair = Ancestry(CommitSha(file.revision), below)
        return pair in self._evidence.repository.ancestries([pair])

    def _narrowed(self, segment: Segment, lines: Lines) -> Segment:
        texts = self._version.texts[lines.first - 1 : lines.last]
        hashed = hash_of(texts)
        return replace(segment, lines=lines, hash=hashed)


def _block(texts: Sequence[str], range_: TracedRange) -> Sequence[str]:
    """The lines of a version that have the hash of a range: at its place, else anywhere."""
    if range_.hash is None or range_.lines is None:
        return texts if range_.hash is not None and _has(texts, range_.hash) else ()
    there = texts[range_.lines.first - 1 : range_.lines.last]
    if _has(there, range_.hash):
        return there
    length = len(range_.lines)
    starts = range(max(0, len(texts) - length + 1)) if len(texts) <= CONFIRMED_LINES_MAX else range(0)
    return next((texts[at : at + length] for at in starts if _has(texts[at : at + length], range_.hash)), ())


def _has(texts: Sequence[str], wanted: ContentHash) -> bool:
    hashed = hash_of(texts)
    return content_hashes_match(hashed, wanted)
