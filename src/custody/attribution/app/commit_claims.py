"""Connect commits with sessions: links from hooks and git calls, and other tools' claims about lines."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution.app.answers import LineAnswer, ToolClaim
from custody.attribution.app.context import AttributionContext, FileVersion
from custody.attribution.carry import find_carried_blocks
from custody.attribution.engine import attribute
from custody.attribution.lineage import UNKNOWN
from custody.attribution.model import (
    Grade,
    NoAttribution,
    RecordedPlace,
    Segment,
    Trace,
    TraceAttribution,
    TraceCandidate,
    TraceEntry,
)
from custody.attribution.queries.traces import (
    find_commit_hook_reports,
    find_commit_session_links,
    find_pull_request_session_facts,
    find_traced_files_of_commits,
)
from custody.attribution.text import hash_segment_lines
from custody.core.errors import GitError
from custody.core.ids import AgentName, CommitSha, RecordRef, SessionId, StoreId, content_hashes_match
from custody.core.paths import Lines, RepoPath
from custody.core.patterns import lazy_pattern
from custody.core.views import CommitLink, LinkOrigin, ObservedCommit, PullRequestFact, TracedFile, TracedRange, View
from custody.core.wire.claims import CLAIM_KINDS, IMPORT_EVENT, ChainRatings, is_claim_record
from custody.git import Commit
from custody.ledger.queries import list_session_work_trees, was_session_open
from custody.store import EVERYTHING, ObservedView, RecordFilter, Store

NS = 1_000_000_000

_ClaimRow = tuple[Trace, str | None, str | None, RecordRef, str, bool]


class _CommitLine(Struct, frozen=True):
    """The position of a line in the commit that added it."""

    commit: CommitSha
    path: RepoPath
    line: int


class ClaimedRange(Struct, frozen=True):
    """One line range that another tool attributes to an agent."""

    file: TracedFile
    range: TracedRange
    record: RecordRef

    @property
    def trace(self) -> Trace:
        """The claimed session."""
        return Trace(f"{self.file.agent}:{self.file.session}", self.file.agent, self.file.session)

    @property
    def tool_claim(self) -> ToolClaim:
        """The claim in the form that answers hold."""
        return ToolClaim(self.trace, self.model, self.file.producer, self.record)

    @property
    def model(self) -> str | None:
        """The claimed model."""
        return self.range.model or self.file.model

    @property
    def conversation(self) -> str | None:
        """The claimed URL of the conversation."""
        return self.range.conversation or self.file.conversation

    def to_line_answer(self, answer: LineAnswer, finding: TraceAttribution) -> LineAnswer:
        """Return ``answer`` with this claim as its finding."""
        return replace(answer, finding=finding, model=self.model, conversation=self.conversation, part=self.range.share)

    @property
    def claim_row(self) -> "_ClaimRow":
        """The values that decide among several claims about the same lines."""
        return self.trace, self.file.call, self.model, self.record, self.range.level, self.range.hash is not None


def add_commit_claims(
    evidence: AttributionContext, version: FileVersion, answers: Sequence[LineAnswer]
) -> list[LineAnswer]:
    """Return ``answers`` with the claims about the commits that their lines come from."""
    claims = _read_commit_claims(
        evidence, sorted({commit for answer in answers for commit in answer.trail if commit is not None})
    )
    if not claims:
        return list(answers)
    file_claims = _FileClaims(evidence, version, claims)
    return [part for answer in answers for part in file_claims.split_answer_by_claims(answer)]


class CommitClaim(Struct, frozen=True):
    """Claimed lines of a commit's file, with the claim that decides."""

    path: RepoPath
    lines: Lines
    candidate: TraceCandidate
    model: str | None
    share: float


def find_commit_claims(evidence: AttributionContext, commit: Commit) -> Iterator[CommitClaim]:
    """Yield the claims about a commit's own lines, one per block, for lines without other evidence."""
    parent = commit.parents[0] if commit.parents else None
    at_ns = None if commit.author.at is None else commit.author.at.seconds * NS
    for (_, path), claims in sorted(_read_commit_claims(evidence, [commit.id]).items()):
        confirmed = [claim for claim in claims if _is_confirmed(evidence, claim)]
        texts = evidence.history.texts(commit.id, path) if any(claim.range.hash for claim in confirmed) else []
        best_by_rows: dict[tuple[_ClaimRow, ...], int | None] = {}
        for lines, block_claims in _split_claims_by_lines(confirmed):
            # The choice depends on the content of the claims, not on the lines, so it is made once per content.
            rows = tuple(claim.claim_row for claim in block_claims)
            hashed = hash_segment_lines(texts[lines.first - 1 : lines.last])
            segment = Segment(path, lines, commit.id, parent, at_ns, hashed)
            if rows not in best_by_rows:
                choice = _choose_answering_claim(evidence, segment, block_claims)
                best_by_rows[rows] = None if choice is None else block_claims.index(choice[1])
            best = best_by_rows[rows]
            if best is not None:
                claim = block_claims[best]
                yield CommitClaim(path, lines, _candidate_from_claim(claim, segment), claim.model, claim.range.share)


def _split_claims_by_lines(claims: Sequence[ClaimedRange]) -> Iterator[tuple[Lines, list[ClaimedRange]]]:
    """Yield adjacent lines that have the same claims, with the claims."""
    begin: dict[int, list[int]] = {}
    end: dict[int, list[int]] = {}
    for n, claim in enumerate(claims):
        assert claim.range.lines is not None, "_read_commit_claims returns only claims with lines"
        begin.setdefault(claim.range.lines.first, []).append(n)
        end.setdefault(claim.range.lines.last + 1, []).append(n)
    current: set[int] = set()
    for first, after in pairwise(sorted({*begin, *end})):
        current.difference_update(end.get(first, ()))
        current.update(begin.get(first, ()))
        if current:
            yield Lines(first, after - 1), [claims[n] for n in sorted(current)]


def _read_commit_claims(
    evidence: AttributionContext, commits: Sequence[CommitSha]
) -> dict[tuple[CommitSha, RepoPath], list[ClaimedRange]]:
    """Return the claims with lines about these commits, by commit and file, the latest record last."""
    if evidence.lineage.tables.first_traced_ns() is None:
        return {}
    by_file: dict[tuple[CommitSha, RepoPath], list[ClaimedRange]] = {}
    for observed in find_traced_files_of_commits(evidence.store, commits):
        file, ref = observed.view, observed.record.ref
        if file.of_revision:
            claims = by_file.setdefault((CommitSha(str(file.revision)), file.path), [])
            claims.extend(ClaimedRange(file, range_, ref) for range_ in file.ranges if range_.lines is not None)
    return by_file


def _is_confirmed(evidence: AttributionContext, claim: ClaimedRange) -> bool:
    """Return whether the commit's text has the hash of the claim; a claim without a hash is not checked."""
    if claim.range.hash is None or claim.range.lines is None:
        return True
    texts = evidence.history.texts(CommitSha(str(claim.file.revision)), claim.file.path)
    hashed = hash_segment_lines(texts[claim.range.lines.first - 1 : claim.range.lines.last])
    return content_hashes_match(hashed, claim.range.hash)


def _choose_answering_claim(
    evidence: AttributionContext, segment: Segment, claims: Sequence[ClaimedRange]
) -> tuple[TraceAttribution, ClaimedRange] | None:
    """Return the finding from several claims about the same lines, and the claim behind it."""
    candidates = {_candidate_from_claim(claim, segment): claim for claim in claims}
    finding = attribute(segment, list(candidates), evidence.rules, rules_digest=evidence.digest)
    return (finding, candidates[finding.candidate]) if isinstance(finding, TraceAttribution) else None


def _candidate_from_claim(claim: ClaimedRange, segment: Segment) -> TraceCandidate:
    confirmed = claim.range.hash is not None
    lines = () if claim.range.lines is None else (claim.range.lines,)
    recorded = RecordedPlace(claim.file.path, lines)
    return TraceCandidate(
        trace=claim.trace,
        path=segment.path,
        at_ns=claim.file.at_ns,
        revision=None,
        entries=(TraceEntry(claim.range.level, segment.lines, segment.hash if confirmed else None, recorded),),
        linked=True,
        supports=len(segment.lines) if confirmed else 0,
        grade=Grade.CLAIMED,
        call=claim.file.call,
        records=(claim.record,),
        link_records=(claim.record,),
    )


class _FileClaims:
    """The claims about the commits that the lines of one file come from."""

    def __init__(
        self,
        evidence: AttributionContext,
        version: FileVersion,
        claims: dict[tuple[CommitSha, RepoPath], list[ClaimedRange]],
    ) -> None:
        self._evidence = evidence
        self._version = version
        self._claims = claims

    def split_answer_by_claims(self, answer: LineAnswer) -> Iterator[LineAnswer]:
        """Yield the answer, split into blocks with the same claims."""
        lines = answer.lines
        for claims, run in groupby(range(lines.first, lines.last + 1), key=self._find_claims_of_line):
            numbers = list(run)
            block = Lines(numbers[0], numbers[-1])
            if not claims and block == lines:
                yield answer
                continue
            yield self._add_claims(self._narrow_answer(answer, block), claims)

    def _add_claims(self, answer: LineAnswer, claims: Sequence[ClaimedRange]) -> LineAnswer:
        segment = answer.finding.segment
        if claims and answer.origin == UNKNOWN and isinstance(answer.finding, NoAttribution):
            choice = _choose_answering_claim(self._evidence, segment, claims)
            if choice is not None:
                finding, claim = choice
                answer = claim.to_line_answer(answer, finding)
        return replace(answer, others=_list_competing_claims(answer, claims))

    def _find_claims_of_line(self, number: int) -> tuple[ClaimedRange, ...]:
        """Return the claims about a line."""
        commit_line = self._commit_lines.get(number)
        return () if commit_line is None else self._claims_by_line.get(commit_line, ())

    @cached_property
    def _claims_by_line(self) -> dict[_CommitLine, tuple[ClaimedRange, ...]]:
        """The claims about each line of a commit that a line of the version comes from."""
        numbers_by_file: dict[tuple[CommitSha, RepoPath], list[int]] = {}
        for commit_line in self._commit_lines.values():
            numbers_by_file.setdefault((commit_line.commit, commit_line.path), []).append(commit_line.line)
        by_line: dict[_CommitLine, tuple[ClaimedRange, ...]] = {}
        for (commit, path), numbers in numbers_by_file.items():
            numbers.sort()
            claims = self._claims.get((commit, path), ())
            for claim in (claim for claim in claims if _is_confirmed(self._evidence, claim)):
                assert claim.range.lines is not None, "_read_commit_claims returns only claims with lines"
                first, last = claim.range.lines.first, claim.range.lines.last
                for line in numbers[bisect_left(numbers, first) : bisect_right(numbers, last)]:
                    commit_line = _CommitLine(commit, path, line)
                    by_line[commit_line] = (*by_line.get(commit_line, ()), claim)
        return by_line

    def _texts(self, commit: CommitSha, path: RepoPath) -> list[str]:
        return self._evidence.history.texts(commit, path)

    @cached_property
    def _commit_lines(self) -> dict[int, _CommitLine]:
        """The position of each line of the version in the commit that added it, by git blame."""
        base, path = self._version.base, self._version.path
        if base is None:
            return {}
        committed = self._texts(base, path)
        if not committed:
            return {}
        blamed = self._blame_commit_lines(base, path)
        if self._version.commit is not None:
            return blamed
        same = (pair for block in find_carried_blocks(committed, self._version.texts) for pair in block.pairs)
        return {new + 1: blamed[old + 1] for old, new in same if old + 1 in blamed}

    def _blame_commit_lines(self, commit: CommitSha, path: RepoPath) -> dict[int, _CommitLine]:
        """Return the positions for a committed version; none, with a note in the answer, if git blame fails."""
        blamed: dict[int, _CommitLine] = {}
        try:
            with self._evidence.repository.blame(commit, path) as entries:
                for entry in entries:
                    for n, number in enumerate(range(entry.lines.first, entry.lines.last + 1)):
                        blamed[number] = _CommitLine(entry.commit, entry.path, entry.origin.first + n)
        except GitError as error:
            # Captured evidence still answers.
            self._evidence.history.searched.limits.append(f"other tools' claims were not checked: {error.message}")
            return {}
        return blamed

    def _narrow_answer(self, answer: LineAnswer, lines: Lines) -> LineAnswer:
        finding = answer.finding
        if lines == finding.segment.lines:
            return answer
        texts = self._version.texts[lines.first - 1 : lines.last]
        hashed = hash_segment_lines(texts)
        return replace(answer, finding=replace(finding, segment=replace(finding.segment, lines=lines, hash=hashed)))


def _list_competing_claims(answer: LineAnswer, claims: Sequence[ClaimedRange]) -> tuple[ToolClaim, ...]:
    """Return the claims for another session than the answer's."""
    named = answer.finding.candidate.trace if isinstance(answer.finding, TraceAttribution) else None
    others = {claim.trace: claim.tool_claim for claim in claims if claim.trace != named}
    return tuple(others[trace] for trace in sorted(others, key=lambda trace: (trace.agent, trace.session)))


# Links between sessions and commits, from git's hooks, agents' own git calls and pull requests.
# git's hook reports only the commit. Every session that edited one of its files since the parent commit, or that was
# still active in that work tree, is linked with it. A rewritten commit inherits the links of the one that it replaced.
# Anyone can write a link, so an imported link applies only to claims.


V = TypeVar("V", bound=View)

OPEN_NS_MAX = 24 * 3600 * NS
"""Maximum age of the last event of an active session."""
REWRITES_MAX = 1_000
"""Maximum commits that one commit may have been rewritten from."""

_NUMBER = lazy_pattern(rb"(?:Merge pull request |\()#(\d{1,9})\b")


class SessionEdit(Struct, frozen=True):
    """An edit of a session: its time, and a function for the time of the parent commit.

    ``chain`` has its recording, None for a claim: claims may link a claim.
    """

    agent: AgentName
    session: SessionId
    at_ns: int
    parent_ns: Callable[[], int]
    chain: StoreId | None = None

    def is_of(self, view: CommitLink | PullRequestFact) -> bool:
        """Return whether a fact is about this session; imported links do not name the agent."""
        named = view.agent == self.agent or getattr(view, "origin", None) is LinkOrigin.IMPORTED
        return named and view.session == self.session


class CommitLinkIndex:
    """The links between sessions and commits in a store's records."""

    def __init__(self, store: Store, ratings: ChainRatings) -> None:
        self._store = store
        self._ratings = ratings

    def find_link_records(self, commit: Commit, edit: SessionEdit) -> tuple[RecordRef, ...]:
        """Return the records that link the session with the commit."""
        refs = {
            *self._find_stated_links(commit.id, edit),
            *self._find_hook_links(commit.id, edit),
            *self._find_pull_request_links(commit, edit),
        }
        return tuple(sorted(refs))

    def _find_stated_links(self, commit: CommitSha, edit: SessionEdit) -> Iterator[RecordRef]:
        for link in self._filter_linking_views(find_commit_session_links(self._store, commit), edit):
            # A link derived from content does not count: content has its own signal.
            if edit.is_of(link.view) and link.view.origin is not LinkOrigin.CONTENT:
                yield link.record.ref

    def _find_hook_links(self, commit: CommitSha, edit: SessionEdit) -> Iterator[RecordRef]:
        """Yield the reports of git's hook on the commit if the session was active for it or a commit it replaced."""
        for ref, view in self._views(commit, edit):
            replaced = self._iterate_rewritten_commits(view, edit)
            if self._was_active(view, edit) or any(self._is_linked(old, edit) for old in replaced):
                yield ref

    def _is_linked(self, commit: CommitSha, edit: SessionEdit) -> bool:
        is_stated = any(True for _ in self._find_stated_links(commit, edit))
        return is_stated or any(self._was_active(view, edit) for _, view in self._views(commit, edit))

    def _iterate_rewritten_commits(self, view: ObservedCommit, edit: SessionEdit) -> Iterator[CommitSha]:
        """Yield the commits that one was rewritten from, directly or not; each once, since records may form cycles."""
        pending, visited = [*view.replaced], set[CommitSha]()
        while pending and len(visited) < REWRITES_MAX:
            commit = pending.pop()
            if commit not in visited:
                visited.add(commit)
                yield commit
                pending.extend(old for _, older in self._views(commit, edit) for old in older.replaced)

    def _views(self, commit: CommitSha, edit: SessionEdit) -> Iterator[tuple[RecordRef, ObservedCommit]]:
        for report in self._filter_linking_views(find_commit_hook_reports(self._store, commit), edit):
            yield report.record.ref, report.view

    def _was_active(self, view: ObservedCommit, edit: SessionEdit) -> bool:
        return edit.parent_ns() < edit.at_ns <= view.at_ns or self._is_open(edit, view)

    def _is_open(self, edit: SessionEdit, commit: ObservedCommit) -> bool:
        """Return whether the session was open in the commit's work tree, with an event less than a day before it."""
        only = EVERYTHING if edit.chain is None else make_recorded_only_filter(self._ratings.list_equals(edit.chain))
        if not was_session_open(self._store, edit.agent, edit.session, commit.at_ns, OPEN_NS_MAX, only):
            return False
        trees = list_session_work_trees(self._store, edit.agent, edit.session, only)
        return commit.worktree is None or not trees or commit.worktree in trees

    def _find_pull_request_links(self, commit: Commit, edit: SessionEdit) -> Iterator[RecordRef]:
        """Yield the records of pull requests that the session opened and the commit's subject names."""
        for number in {int(digits) for digits in _NUMBER.findall(commit.subject)}:
            for fact in self._filter_linking_views(find_pull_request_session_facts(self._store, number), edit):
                if edit.is_of(fact.view):
                    yield fact.record.ref

    def _filter_linking_views(self, views: Iterable[ObservedView[V]], edit: SessionEdit) -> Iterator[ObservedView[V]]:
        """Return the views that may link the session: claims link only a claimed edit."""
        if edit.chain is None:
            return iter(views)
        chains = self._ratings.list_equals(edit.chain)
        return (view for view in views if not is_claim_record(view.record, chains))


def make_recorded_only_filter(believed: Collection[StoreId]) -> RecordFilter:
    """Return a filter that excludes claims: only records of agents' hooks in the believed chains match."""
    return RecordFilter(IMPORT_EVENT, tuple(sorted(CLAIM_KINDS)), tuple(sorted(believed)))
