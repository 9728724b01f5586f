"""From origins to answers: which trace wrote a stretch of lines, on what signals, how sure."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from custody.attribution.app.answers import LineAnswer, Story
from custody.attribution.app.commit_claims import CommitLinkIndex, SessionEdit, attested_findings
from custody.attribution.app.context import AttributionContext, FileVersion
from custody.attribution.app.trace_match import traced_findings
from custody.attribution.engine import attribute
from custody.attribution.lineage import BETWEEN, IMPORTED, UNKNOWN
from custody.attribution.model import (
    AttributionFinding,
    Grade,
    NoAttribution,
    Segment,
    Trace,
    TraceAttribution,
    TraceCandidate,
    TraceEntry,
)
from custody.attribution.origin_search import VersionLine
from custody.attribution.queries.lineage import StateAuthor
from custody.attribution.text import hash_of
from custody.core.errors import InputError
from custody.core.ids import PENDING, CommitSha, RecordRef, SessionId, StoreId
from custody.core.paths import Lines, RepoPath
from custody.core.view_merge import merge_calls
from custody.core.views import TRANSCRIPT, FileEdit, TracedFile
from custody.git import Ancestry
from custody.ledger.queries import SESSIONS_READ_MAX, call_views, sessions_before
from custody.ledger.records import is_claim, recorded_only
from custody.store import EVERYTHING

NS = 1_000_000_000
IMPORTED_KINDS = frozenset((IMPORTED, TRANSCRIPT, "trace", "trace_link"))

NOTHING_SHOWS = "no captured edit shows this text"
NOT_THIS_CALL = "this text appeared between two calls of an agent: no call wrote it"
BEFORE_CAPTURE = "this text is older than anything that was captured"
TOO_LITTLE = "less than half of this line is an agent's"


class LineAttributor:
    """Answers about the lines of files, from one set of evidence.

    For whoever decides by them (``strict``), what is recorded has the model that records name: a claim may know a
    better one, and anybody can write it.
    """

    def __init__(self, evidence: AttributionContext, *, strict: bool = False) -> None:
        self._evidence = evidence
        self._strict = strict
        self._store = evidence.store
        self._only = recorded_only(evidence.store)
        self._links = CommitLinkIndex(evidence.store)
        self._stories: dict[int, Story | None] = {}
        self._intact: dict[StoreId, bool] = {}
        self._linked_memo: dict[tuple[CommitSha | None, str, int, Grade], tuple[RecordRef, ...]] = {}

    def of(self, version: FileVersion, stretches: Sequence[Lines] = ()) -> list[LineAnswer]:
        """An answer for every line of a version, or of the stretches asked for, in order."""
        self._evidence.read_commits({line.trail[0] for line in version.lines if line.trail})
        segments = list(self._segments(version, stretches))
        older = self._older(segments)
        answers = [self._answer(segment, line, older) for segment, line in segments]
        answers = attested_findings(self._evidence, version, answers)
        return traced_findings(self._evidence, version, answers)

    def of_file(
        self, path: RepoPath, commit: CommitSha | None, stretches: Sequence[Lines] = ()
    ) -> tuple[Sequence[str], list[LineAnswer]]:
        """The lines of a file, and the answers that the profile in force gives about them."""
        if self._evidence.rules.profile == "document":
            return self._by_document(path, commit, stretches)
        version = self._evidence.version(path, commit)
        _check_stretches(stretches, path, len(version.lines))
        return version.texts, self.of(version, stretches)

    def _by_document(
        self, path: RepoPath, commit: CommitSha | None, stretches: Sequence[Lines]
    ) -> tuple[Sequence[str], list[LineAnswer]]:
        from custody.attribution.app.blame_document import document_findings  # the usual profile never needs it

        texts = self._evidence.texts(path, commit)
        _check_stretches(stretches, path, len(texts))
        found = document_findings(self._evidence, commit, path, stretches)
        return texts, [self._make_document_answer(finding) for finding in found]

    def _make_document_answer(self, finding: AttributionFinding) -> LineAnswer:
        """A finding of profile ``document`` as an answer: its commit, and the model and place that its trace names."""
        trail = (finding.segment.commit,)
        if not isinstance(finding, TraceAttribution):
            return LineAnswer(finding, UNKNOWN, trail, None)
        model, conversation = self._told_of(finding.candidate)
        return LineAnswer(finding, UNKNOWN, trail, None, model, conversation)

    def _told_of(self, candidate: TraceCandidate) -> tuple[str | None, str | None]:
        """The model and the conversation that a trace names."""
        for ref in candidate.records:
            record = self._store.tables.record(ref)
            for view in () if record is None else self._store.views.of(record):
                if isinstance(view, TracedFile) and view.path == candidate.path:
                    ranges = [r for r in view.ranges if r.conversation or r.model]
                    first = ranges[0] if ranges else None
                    return (
                        view.model or (first.model if first else None),
                        view.conversation or (first.conversation if first else None),
                    )
                if isinstance(view, FileEdit):
                    return self._model(view, view.session, candidate.grade), None
        return None, None

    def story(self, state: int) -> Story | None:
        """Who stands behind a state; None when its record is gone."""
        if state not in self._stories:
            self._stories[state] = self._read_story(state)
        return self._stories[state]

    def is_intact(self, chain: StoreId) -> bool:
        """Whether a chain still ends where its head says; only then is anything in it better than a claim."""
        if chain not in self._intact:
            self._intact[chain] = self._reaches_its_head(chain)
        return self._intact[chain]

    def _reaches_its_head(self, chain: StoreId) -> bool:
        heads, own = self._store.heads, self._store.own()
        head = None if heads is None else heads.read(chain)
        if head is not None:
            return self._store.tables.head(chain).seq >= head.seq
        # What waits will be in this store's own chain, and a team's heads are on the machines that wrote to it.
        if chain != own and (chain == PENDING or self._store.is_shared):
            return own is not None and self.is_intact(own)
        return heads is None

    def _segments(self, version: FileVersion, stretches: Sequence[Lines]) -> Iterator[tuple[Segment, VersionLine]]:
        wanted = stretches or ([Lines(1, len(version.lines))] if version.lines else [])
        for stretch in wanted:
            numbered = enumerate(version.lines[stretch.first - 1 : stretch.last], start=stretch.first)
            for _, run in groupby(numbered, key=lambda pair: (pair[1].origin, pair[1].trail)):
                same = list(run)
                yield self._segment(version, Lines(same[0][0], same[-1][0]), same[0][1]), same[0][1]

    def _segment(self, version: FileVersion, lines: Lines, line: VersionLine) -> Segment:
        commit, parent, at_ns = line.trail[0] if line.trail else None, None, None
        if commit is not None and (found := self._evidence.commit(commit)) is not None:
            parent = found.parents[0] if found.parents else None
            at_ns = None if found.author.at is None else found.author.at.seconds * NS
        elif line.trail:
            parent, at_ns = version.base, self._evidence.workspace.now_ns()
        texts = version.texts[lines.first - 1 : lines.last]
        hashed = hash_of(texts)
        return Segment(version.path, lines, commit, parent, at_ns, hashed)

    def _older(self, segments: Sequence[tuple[Segment, VersionLine]]) -> frozenset[Ancestry]:
        """Which revisions that agents worked on top of are ancestors of the commits: one question for all."""
        pairs = set()
        for segment, line in segments:
            story = self.story(line.origin.state) if line.origin.is_agent else None
            below = segment.commit or segment.parent
            if story is None or story.revision in (None, segment.parent) or below is None:
                continue
            pairs.add(Ancestry(CommitSha(str(story.revision)), below))
        return self._evidence.repository.ancestries(pairs) if pairs else frozenset()

    def _answer(self, segment: Segment, line: VersionLine, older: frozenset[Ancestry]) -> LineAnswer:
        state = line.origin.record_state
        story = None if state is None else self.story(state)
        if not line.origin.is_agent or story is None:
            return LineAnswer(NoAttribution(segment, _why_none(line)), line.origin, line.trail, story)
        if line.origin.share < self._evidence.rules.mixed_share_min:
            return LineAnswer(NoAttribution(segment, TOO_LITTLE), line.origin, line.trail, None)
        candidate = self._candidate(segment, line, story, older)
        finding = attribute(segment, [candidate], self._evidence.rules, rules_digest=self._evidence.digest)
        return LineAnswer(finding, line.origin, line.trail, story, story.model)

    def _candidate(
        self, segment: Segment, line: VersionLine, story: Story, older: frozenset[Ancestry]
    ) -> TraceCandidate:
        """The trace with what lineage shows: the lines at their true place, and their text where it is all its own."""
        whole = line.origin.share >= 1.0
        links = self._linked(segment, story)
        below = segment.commit or segment.parent
        precedes = story.revision is not None and below is not None and Ancestry(story.revision, below) in older
        return TraceCandidate(
            trace=story.trace,
            path=segment.path,
            at_ns=story.at_ns,
            revision=story.revision,
            entries=(TraceEntry("change", segment.lines, segment.hash if whole else None),),
            linked=bool(links),
            precedes=precedes,
            supports=len(segment.lines),
            grade=story.grade,
            intact=self.is_intact(story.record.store),
            call=story.call,
            records=(story.record,),
            link_records=links,
        )

    def _linked(self, segment: Segment, story: Story) -> tuple[RecordRef, ...]:
        key = (segment.commit, story.trace.id, story.at_ns, story.grade)
        if key not in self._linked_memo:
            commit = None if segment.commit is None else self._evidence.commit(segment.commit)
            worked = SessionEdit(
                agent=story.trace.agent,
                session=story.trace.session,
                at_ns=story.at_ns,
                parent_ns=lambda: self._parent_ns(segment.parent),
                is_claimed=story.grade is Grade.CLAIMED,
            )
            self._linked_memo[key] = () if commit is None else self._links.shown_by(commit, worked)
        return self._linked_memo[key]

    def _parent_ns(self, sha: CommitSha | None) -> int:
        """When the commit below was made; a root has none."""
        parent = None if sha is None else self._evidence.commit(sha)
        return 0 if parent is None or parent.committer.at is None else parent.committer.at.seconds * NS

    def _read_story(self, state: int) -> Story | None:
        told = self._evidence.lineage.tables.read_state_author(state)
        if told is None or told.session is None:
            return None
        grade = self._grade(told)
        return Story(
            trace=Trace(f"{told.agent}:{told.session}", told.agent, told.session),
            call=told.call,
            model=self._model(told, told.session, grade),
            grade=grade,
            at_ns=told.at_ns,
            revision=told.revision,
            record=told.ref,
        )

    def _grade(self, told: StateAuthor) -> Grade:
        is_claim = told.kind in IMPORTED_KINDS or not self.is_intact(told.ref.store)
        return Grade.CLAIMED if is_claim else Grade.RECORDED

    def _model(self, wrote: FileEdit | StateAuthor, session: SessionId, grade: Grade) -> str | None:
        """The model that wrote: the call's own, or the session's latest before it."""
        told = [] if wrote.call is None else call_views(self._store, session, wrote.call)
        only = EVERYTHING if grade is Grade.CLAIMED or not self._strict else self._only
        if only is not EVERYTHING:
            told = [seen for seen in told if not is_claim(seen.record, only.chains)]
        sessions = sessions_before(self._store, wrote.agent, session, wrote.at_ns, only)
        if len(sessions) >= SESSIONS_READ_MAX and only is EVERYTHING:
            # So many claims may stand before what was recorded of the session.
            sessions += sessions_before(self._store, wrote.agent, session, wrote.at_ns, self._only)
        for merge_call in merge_calls(seen.view for seen in told):
            if merge_call.agent == wrote.agent and merge_call.model is not None:
                return merge_call.model
        named = [seen.view for seen in sessions]
        return next((s.model for s in sorted(named, key=lambda s: -s.started_ns) if s.model is not None), None)


def _check_stretches(stretches: Sequence[Lines], path: RepoPath, count: int) -> None:
    for stretch in stretches:
        if stretch.last > count:
            raise InputError(
                f"'{path.display}' has only {count:,} lines",
                hint="-L takes lines that the file has",
            )


def _why_none(line: VersionLine) -> str:
    if line.origin == BETWEEN:
        return NOT_THIS_CALL
    return NOTHING_SHOWS if line.trail else BEFORE_CAPTURE
