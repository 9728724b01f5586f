"""What ties commits to sessions: links from hooks and git calls, and claims of other tools about lines."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import TypeVar

from custody.attribution.app.answers import LineAnswer, ToolClaim
from custody.attribution.app.context import AttributionContext, FileVersion
from custody.attribution.carry import equal_blocks
from custody.attribution.engine import attribute
from custody.attribution.lineage import UNKNOWN
from custody.attribution.model import Grade, NoAttribution, Segment, Trace, TraceAttribution, TraceCandidate, TraceEntry
from custody.attribution.queries.traces import (
    facts_of_pull_request,
    hook_reports_of_commit,
    links_of_commit,
    traced_files_of_commits,
)
from custody.attribution.text import hash_of
from custody.core.errors import GitError
from custody.core.ids import AgentName, CommitSha, RecordRef, SessionId, content_hashes_match
from custody.core.paths import Lines, RepoPath
from custody.core.views import CommitLink, LinkOrigin, ObservedCommit, PullRequestFact, TracedFile, TracedRange, View
from custody.git import Commit
from custody.ledger.queries import was_open, work_trees_of
from custody.ledger.records import is_claim, recorded_only
from custody.store import EVERYTHING, ObservedView, Store

NS = 1_000_000_000

_ClaimRow = tuple[Trace, str | None, str | None, RecordRef, str, bool]


@dataclass(frozen=True, slots=True)
class _CommitLine:
    """Where a line stood in the commit that brought it."""

    commit: CommitSha
    path: RepoPath
    line: int


@dataclass(frozen=True, slots=True)
class ClaimedRange:
    """One line range that another tool says is an agent's."""

    file: TracedFile
    range: TracedRange
    record: RecordRef

    @property
    def trace(self) -> Trace:
        """The session that a claim about a commit names."""
        return Trace(f"{self.file.agent}:{self.file.session}", self.file.agent, self.file.session)

    @property
    def tool_claim(self) -> ToolClaim:
        """The claim as it stands beside an answer."""
        return ToolClaim(self.trace, self.model, self.file.producer, self.record)

    @property
    def model(self) -> str | None:
        """The model that is said to have written it."""
        return self.range.model or self.file.model

    @property
    def conversation(self) -> str | None:
        """Where the conversation is said to be."""
        return self.range.conversation or self.file.conversation

    def answering(self, answer: LineAnswer, finding: TraceAttribution) -> LineAnswer:
        """The answer that this claim gives where nothing else does."""
        return replace(answer, finding=finding, model=self.model, conversation=self.conversation, part=self.range.share)

    @property
    def claim_row(self) -> "_ClaimRow":
        """What weighs when several claim the same lines."""
        return self.trace, self.file.call, self.model, self.record, self.range.level, self.range.hash is not None


def attested_findings(
    evidence: AttributionContext, version: FileVersion, answers: Sequence[LineAnswer]
) -> list[LineAnswer]:
    """``answers`` with what is claimed of the commits that their lines come from."""
    claims = _claims(evidence, sorted({commit for answer in answers for commit in answer.trail if commit is not None}))
    if not claims:
        return list(answers)
    asked = _FileClaims(evidence, version, claims)
    return [claimed_answer for answer in answers for claimed_answer in asked.answered(answer)]


@dataclass(frozen=True, slots=True)
class CommitClaim:
    """Lines of a commit's file that are claimed, and what the claim says that answers for them."""

    path: RepoPath
    lines: Lines
    candidate: TraceCandidate
    model: str | None
    share: float


def attested_in(evidence: AttributionContext, commit: Commit) -> Iterator[CommitClaim]:
    """What is claimed of a commit's own lines: the answers for them where nothing else knows any."""
    parent = commit.parents[0] if commit.parents else None
    at_ns = None if commit.author.at is None else commit.author.at.seconds * NS
    for (_, path), claims in sorted(_claims(evidence, [commit.id]).items()):
        confirmed = [claim for claim in claims if _is_confirmed(evidence, claim)]
        texts = evidence.history.texts(commit.id, path) if any(claim.range.hash for claim in confirmed) else []
        chosen: dict[tuple[_ClaimRow, ...], int | None] = {}
        for lines, some in _stretches(confirmed):
            # Who of them answers depends on what they say, not on which of the lines they say it.
            said = tuple(claim.claim_row for claim in some)
            hashed = hash_of(texts[lines.first - 1 : lines.last])
            segment = Segment(path, lines, commit.id, parent, at_ns, hashed)
            if said not in chosen:
                found = _chosen(evidence, segment, some)
                chosen[said] = None if found is None else some.index(found[1])
            best = chosen[said]
            if best is not None:
                claim = some[best]
                yield CommitClaim(path, lines, _candidate(claim, segment), claim.model, claim.range.share)


def _stretches(claims: Sequence[ClaimedRange]) -> Iterator[tuple[Lines, list[ClaimedRange]]]:
    """Neighbouring lines of which the same is claimed, with the claims."""
    begin: dict[int, list[int]] = {}
    end: dict[int, list[int]] = {}
    for n, claim in enumerate(claims):
        assert claim.range.lines is not None, "only claims of lines were gathered"
        begin.setdefault(claim.range.lines.first, []).append(n)
        end.setdefault(claim.range.lines.last + 1, []).append(n)
    under_way: set[int] = set()
    for first, after in pairwise(sorted({*begin, *end})):
        under_way.difference_update(end.get(first, ()))
        under_way.update(begin.get(first, ()))
        if under_way:
            yield Lines(first, after - 1), [claims[n] for n in sorted(under_way)]


def _claims(
    evidence: AttributionContext, commits: Sequence[CommitSha]
) -> dict[tuple[CommitSha, RepoPath], list[ClaimedRange]]:
    """The claims about these commits, by commit and file, the latest record last."""
    if evidence.lineage.tables.first_traced_ns() is None:
        return {}
    found: dict[tuple[CommitSha, RepoPath], list[ClaimedRange]] = {}
    for seen in traced_files_of_commits(evidence.store, commits):
        file = seen.view
        if file.of_revision:
            claims = found.setdefault((CommitSha(str(file.revision)), file.path), [])
            claims.extend(ClaimedRange(file, said, seen.record.ref) for said in file.ranges if said.lines is not None)
    return found


def _is_confirmed(evidence: AttributionContext, claim: ClaimedRange) -> bool:
    """Whether the commit has the text that the claim gives the hash of; a claim without one has nothing to show."""
    if claim.range.hash is None or claim.range.lines is None:
        return True
    texts = evidence.history.texts(CommitSha(str(claim.file.revision)), claim.file.path)
    there = texts[claim.range.lines.first - 1 : claim.range.lines.last]
    hashed = hash_of(there)
    return content_hashes_match(hashed, claim.range.hash)


def _chosen(
    evidence: AttributionContext, segment: Segment, claims: Sequence[ClaimedRange]
) -> tuple[TraceAttribution, ClaimedRange] | None:
    """The claim that answers where several are about the same lines, and the answer."""
    candidates = {_candidate(claim, segment): claim for claim in claims}
    finding = attribute(segment, list(candidates), evidence.rules, rules_digest=evidence.digest)
    return (finding, candidates[finding.candidate]) if isinstance(finding, TraceAttribution) else None


def _candidate(claim: ClaimedRange, segment: Segment) -> TraceCandidate:
    confirmed = claim.range.hash is not None
    return TraceCandidate(
        trace=claim.trace,
        path=segment.path,
        at_ns=claim.file.at_ns,
        revision=None,
        entries=(TraceEntry(claim.range.level, segment.lines, segment.hash if confirmed else None),),
        linked=True,
        supports=len(segment.lines) if confirmed else 0,
        grade=Grade.CLAIMED,
        call=claim.file.call,
        records=(claim.record,),
        link_records=(claim.record,),
    )


class _FileClaims:
    """The claims about the commits of one file's lines."""

    def __init__(
        self,
        evidence: AttributionContext,
        version: FileVersion,
        claims: dict[tuple[CommitSha, RepoPath], list[ClaimedRange]],
    ) -> None:
        self._evidence = evidence
        self._version = version
        self._claims = claims

    def answered(self, answer: LineAnswer) -> Iterator[LineAnswer]:
        """The answer, or one for each stretch of it of which the same is claimed."""
        lines = answer.lines
        for claims, run in groupby(range(lines.first, lines.last + 1), key=self._of):
            numbers = list(run)
            stretch = Lines(numbers[0], numbers[-1])
            if not claims and stretch == lines:
                yield answer
                continue
            yield self._add_claims(self._narrowed(answer, stretch), claims)

    def _add_claims(self, answer: LineAnswer, claims: Sequence[ClaimedRange]) -> LineAnswer:
        segment = answer.finding.segment
        if claims and answer.origin == UNKNOWN and isinstance(answer.finding, NoAttribution):
            chosen = _chosen(self._evidence, segment, claims)
            if chosen is not None:
                finding, best = chosen
                answer = best.answering(answer, finding)
        return replace(answer, others=_others(answer, claims))

    def _of(self, number: int) -> tuple[ClaimedRange, ...]:
        """What is claimed of a line."""
        place = self._places.get(number)
        return () if place is None else self._by_place.get(place, ())

    @cached_property
    def _by_place(self) -> dict[_CommitLine, tuple[ClaimedRange, ...]]:
        """The claims about each place that a line of the version comes from."""
        wanted: dict[tuple[CommitSha, RepoPath], list[int]] = {}
        for place in self._places.values():
            wanted.setdefault((place.commit, place.path), []).append(place.line)
        found: dict[_CommitLine, tuple[ClaimedRange, ...]] = {}
        for (commit, path), numbers in wanted.items():
            numbers.sort()
            told = self._claims.get((commit, path), ())
            for claim in (claim for claim in told if _is_confirmed(self._evidence, claim)):
                assert claim.range.lines is not None, "only claims of lines were gathered"
                first, last = claim.range.lines.first, claim.range.lines.last
                for line in numbers[bisect_left(numbers, first) : bisect_right(numbers, last)]:
                    place = _CommitLine(commit, path, line)
                    found[place] = (*found.get(place, ()), claim)
        return found

    def _texts(self, commit: CommitSha, path: RepoPath) -> list[str]:
        return self._evidence.history.texts(commit, path)

    @cached_property
    def _places(self) -> dict[int, _CommitLine]:
        """Where each line of the version stood in the commit that brought it, as git finds out."""
        base, path = self._version.base, self._version.path
        if base is None:
            return {}
        committed = self._texts(base, path)
        if not committed:
            return {}
        found = self._blamed(base, path)
        if self._version.commit is not None:
            return found
        same = (pair for block in equal_blocks(committed, self._version.texts) for pair in block.pairs)
        return {new + 1: found[old + 1] for old, new in same if old + 1 in found}

    def _blamed(self, commit: CommitSha, path: RepoPath) -> dict[int, _CommitLine]:
        """The same for a committed version; nothing where git cannot tell, which is said in the answer."""
        found: dict[int, _CommitLine] = {}
        try:
            with self._evidence.repository.blame(commit, path) as entries:
                for entry in entries:
                    for n, number in enumerate(range(entry.lines.first, entry.lines.last + 1)):
                        found[number] = _CommitLine(entry.commit, entry.path, entry.origin.first + n)
        except GitError as error:
            # What was captured answers all the same.
            self._evidence.history.searched.limits.append(f"other tools' claims were not looked at: {error.message}")
            return {}
        return found

    def _narrowed(self, answer: LineAnswer, lines: Lines) -> LineAnswer:
        finding = answer.finding
        if lines == finding.segment.lines:
            return answer
        texts = self._version.texts[lines.first - 1 : lines.last]
        hashed = hash_of(texts)
        return replace(answer, finding=replace(finding, segment=replace(finding.segment, lines=lines, hash=hashed)))


def _others(answer: LineAnswer, claims: Sequence[ClaimedRange]) -> tuple[ToolClaim, ...]:
    """Who claims the lines beside whoever the answer names."""
    named = answer.finding.candidate.trace if isinstance(answer.finding, TraceAttribution) else None
    told = {claim.trace: claim.tool_claim for claim in claims if claim.trace != named}
    return tuple(told[trace] for trace in sorted(told, key=lambda trace: (trace.agent, trace.session)))


# Which sessions made which commit: what git's hooks, agents' own git calls and pull requests say.
# A link from git's hook is a view: git tells of a commit, and every session that edited one of its files since the
# parent commit, or that was still at work in that work tree, is linked with it. A rewritten commit inherits the links
# of the one that it replaced.
# Anybody can write a link, so one that was brought in afterwards links only what is a claim itself.


V = TypeVar("V", bound=View)

OPEN_NS_MAX = 24 * 3600 * NS
"""A session whose last event is older than this no longer counts as at work."""
REWRITES_MAX = 1_000
"""Commits that one commit may have been rewritten from."""

_NUMBER = re.compile(rb"(?:Merge pull request |\()#(\d{1,9})\b")


@dataclass(frozen=True, slots=True)
class SessionEdit:
    """That a session edited a file: when, and when the commit below was made (asked only where it matters).

    Where it ``is_claimed``, so may be what links it.
    """

    agent: AgentName
    session: SessionId
    at_ns: int
    parent_ns: Callable[[], int]
    is_claimed: bool = False

    def is_of(self, view: CommitLink | PullRequestFact) -> bool:
        """Whether a fact is this session's; another tool's file of links does not say whose its traces are."""
        named = view.agent == self.agent or getattr(view, "origin", None) is LinkOrigin.IMPORTED
        return named and view.session == self.session


class CommitLinkIndex:
    """Links between sessions and commits, as the store's records give them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._only = recorded_only(store)

    def shown_by(self, commit: Commit, worked: SessionEdit) -> tuple[RecordRef, ...]:
        """The records that say that the session made the commit; none when there is no link."""
        found = {
            *self._find_stated_links(commit.id, worked),
            *self._seen(commit.id, worked),
            *self._requested(commit, worked),
        }
        return tuple(sorted(found))

    def _find_stated_links(self, commit: CommitSha, worked: SessionEdit) -> Iterator[RecordRef]:
        for seen in self._counting(links_of_commit(self._store, commit), worked):
            view = seen.view
            # A link that was derived from content only proposes: content is paid for by its own signal.
            if worked.is_of(view) and view.origin is not LinkOrigin.CONTENT:
                yield seen.record.ref

    def _seen(self, commit: CommitSha, worked: SessionEdit) -> Iterator[RecordRef]:
        """Git's own hook saw the commit, or one that it was rewritten from, while the session was at work on it."""
        for ref, view in self._views(commit, worked):
            replaced = self._replaced(view, worked)
            if self._was_at_work(view, worked) or any(self._is_linked(old, worked) for old in replaced):
                yield ref

    def _is_linked(self, commit: CommitSha, worked: SessionEdit) -> bool:
        said = any(True for _ in self._find_stated_links(commit, worked))
        return said or any(self._was_at_work(view, worked) for _, view in self._views(commit, worked))

    def _replaced(self, view: ObservedCommit, worked: SessionEdit) -> Iterator[CommitSha]:
        """The commits that one came from, however often rewritten; each once, since records may go in circles."""
        waiting, known = [*view.replaced], set[CommitSha]()
        while waiting and len(known) < REWRITES_MAX:
            commit = waiting.pop()
            if commit not in known:
                known.add(commit)
                yield commit
                waiting.extend(old for _, older in self._views(commit, worked) for old in older.replaced)

    def _views(self, commit: CommitSha, worked: SessionEdit) -> Iterator[tuple[RecordRef, ObservedCommit]]:
        for seen in self._counting(hook_reports_of_commit(self._store, commit), worked):
            yield seen.record.ref, seen.view

    def _was_at_work(self, view: ObservedCommit, worked: SessionEdit) -> bool:
        return worked.parent_ns() < worked.at_ns <= view.at_ns or self._is_open(worked, view)

    def _is_open(self, worked: SessionEdit, made: ObservedCommit) -> bool:
        """Whether the session was still at work there: its last event less than a day before, and it had not ended."""
        only = EVERYTHING if worked.is_claimed else self._only
        if not was_open(self._store, worked.agent, worked.session, made.at_ns, OPEN_NS_MAX, only):
            return False
        trees = work_trees_of(self._store, worked.agent, worked.session, only)
        return made.worktree is None or not trees or made.worktree in trees

    def _requested(self, commit: Commit, worked: SessionEdit) -> Iterator[RecordRef]:
        """The commit's subject names a pull request that the session opened."""
        for number in {int(digits) for digits in _NUMBER.findall(commit.subject)}:
            for seen in self._counting(facts_of_pull_request(self._store, number), worked):
                if worked.is_of(seen.view):
                    yield seen.record.ref

    def _counting(self, found: Iterable[ObservedView[V]], worked: SessionEdit) -> Iterator[ObservedView[V]]:
        """What of this may link the session: a claim only what is itself no more."""
        return (seen for seen in found if worked.is_claimed or not is_claim(seen.record, self._only.chains))
