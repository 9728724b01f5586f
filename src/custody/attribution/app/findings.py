"""Turn origins into answers: which trace wrote a block of lines, with its signals and tier."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from custody.attribution.app.answers import (
    BEFORE_CALLS,
    BEFORE_CAPTURE,
    CAME_BACK,
    LAID_OUT,
    NOT_THIS_CALL,
    NOTHING_SHOWS,
    OTHER_PLACE,
    SAYS_LITTLE,
    LineAnswer,
    Story,
)
from custody.attribution.app.author_claims import add_author_claims
from custody.attribution.app.commit_claims import (
    CommitLinkIndex,
    SessionEdit,
    add_commit_claims,
    make_recorded_only_filter,
)
from custody.attribution.app.commit_messages import CommitStatements
from custody.attribution.app.context import AttributionContext, FileVersion
from custody.attribution.app.history import compute_adding_commit_ns
from custody.attribution.app.trace_match import add_trace_claims
from custody.attribution.engine import attribute
from custody.attribution.lineage import BETWEEN, UNKNOWN, LineOrigin
from custody.attribution.model import (
    AttributionFinding,
    Grade,
    NoAttribution,
    RecordedPlace,
    Segment,
    Trace,
    TraceAttribution,
    TraceCandidate,
    TraceEntry,
)
from custody.attribution.origin_search import VersionLine
from custody.attribution.packing import unpack_line_origins
from custody.attribution.queries.lineage import StateAuthor
from custody.attribution.text import hash_segment_lines, is_informative_lineage_line
from custody.core.errors import InputError
from custody.core.ids import PENDING, CommitSha, RecordRef, SessionId, StoreId
from custody.core.paths import Lines, RepoPath
from custody.core.plural import count_noun
from custody.core.view_merge import merge_call_views
from custody.core.views import FileEdit, TracedFile
from custody.core.wire.claims import is_claim_record
from custody.git import Ancestry
from custody.ledger.queries import (
    SESSIONS_READ_MAX,
    find_session_call,
    list_call_models,
    list_session_models_before,
    list_session_views_before,
)
from custody.store import EVERYTHING, RecordFilter

if TYPE_CHECKING:
    from custody.attribution.app.recorded_places import RecordedPlaces

NS = 1_000_000_000
HOUR_NS = 3_600 * NS

MIXED_SHARE_MIN = 0.5
"""Minimum agent's share of a mixed line; below it, the line has no evidence."""
TOO_LITTLE = "agents wrote less than half of this line"


class LineAttributor:
    """Answers about the lines of files, from one set of evidence.

    With ``strict``, for callers that decide by the answers, recorded lines have the model that records name. A claim
    may name a better one, but anyone can write a claim. What commits state about themselves is left out.

    With ``is_brief``, for callers that show neither signals nor reasons, these leave out what captured texts show.
    """

    def __init__(self, evidence: AttributionContext, *, strict: bool = False, is_brief: bool = False) -> None:
        self._evidence = evidence
        self._strict = strict
        self._is_brief = is_brief
        self._store = evidence.store
        self._ratings = evidence.ratings
        self._links = CommitLinkIndex(evidence.store, evidence.ratings)
        self._places: RecordedPlaces | None = None
        self._captured: dict[tuple[RepoPath, int | None], dict[int, LineOrigin] | None] = {}
        self._statements = CommitStatements(evidence)
        self._stories: dict[int, Story | None] = {}
        self._intact: dict[StoreId, bool] = {}
        self._linked_memo: dict[tuple[CommitSha | None, str, int, Grade], tuple[RecordRef, ...]] = {}

    def prepare(self, commit: CommitSha, paths: Collection[RepoPath]) -> frozenset[RepoPath]:
        """Return which of these files may have lines of a commit that names an agent, and read those at once."""
        return self._statements.prepare(commit, paths)

    def of(self, version: FileVersion, line_ranges: Sequence[Lines] = ()) -> list[LineAnswer]:
        """Return answers for all lines of a version, or of ``line_ranges``, in order."""
        self._evidence.read_commits({line.trail[0] for line in version.lines if line.trail})
        segments = list(self._segments(version, line_ranges))
        older = self._find_ancestor_revisions(segments)
        answers = [answer for segment, line in segments for answer in self._answer(version, segment, line, older)]
        answers = add_commit_claims(self._evidence, version, answers)
        answers = add_trace_claims(self._evidence, version, answers)
        if self._strict:
            return answers
        return add_author_claims(self._evidence, version, self._statements.add_claims(version, answers))

    def of_file(
        self, path: RepoPath, commit: CommitSha | None, line_ranges: Sequence[Lines] = ()
    ) -> tuple[Sequence[str], list[LineAnswer]]:
        """Return the lines of a file, and the answers about them under the profile in force."""
        if self._evidence.rules.profile == "document":
            return self._by_document(path, commit, line_ranges)
        version = self._evidence.version(path, commit)
        _check_blame_line_ranges(line_ranges, path, len(version.lines))
        return version.texts, self.of(version, line_ranges)

    def _by_document(
        self, path: RepoPath, commit: CommitSha | None, line_ranges: Sequence[Lines]
    ) -> tuple[Sequence[str], list[LineAnswer]]:
        # The default profile never needs it.
        from custody.attribution.app.blame_document import find_document_attributions

        texts = self._evidence.texts(path, commit)
        _check_blame_line_ranges(line_ranges, path, len(texts))
        findings = find_document_attributions(self._evidence, commit, path, line_ranges)
        return texts, [self._make_document_answer(finding) for finding in findings]

    def _make_document_answer(self, finding: AttributionFinding) -> LineAnswer:
        """Return a finding of profile ``document`` with its commit, and the model and conversation of its trace."""
        trail = (finding.segment.commit,)
        if not isinstance(finding, TraceAttribution):
            return LineAnswer(finding, UNKNOWN, trail, None)
        model, conversation = self._find_model_and_conversation(finding.candidate)
        return LineAnswer(finding, UNKNOWN, trail, None, model, conversation)

    def _find_model_and_conversation(self, candidate: TraceCandidate) -> tuple[str | None, str | None]:
        """Return the model and the conversation that a trace names."""
        for ref in candidate.records:
            record = self._store.tables.record(ref)
            for view in () if record is None else self._store.views.read_views(record):
                if isinstance(view, TracedFile) and view.path == candidate.path:
                    ranges = [r for r in view.ranges if r.conversation or r.model]
                    first = ranges[0] if ranges else None
                    return (
                        view.model or (first.model if first else None),
                        view.conversation or (first.conversation if first else None),
                    )
                if isinstance(view, FileEdit):
                    return self._model(view, view.session, self._find_chains_of_equals(ref, candidate.grade)), None
        return None, None

    def story(self, state: int) -> Story | None:
        """Return the session and call that made a state; None if its record is missing."""
        if state not in self._stories:
            self._stories[state] = self._read_story(state)
        return self._stories[state]

    def is_intact(self, chain: StoreId) -> bool:
        """Return whether a chain reaches its recorded head; records of any other chain count as claims."""
        if chain not in self._intact:
            self._intact[chain] = self._reaches_its_head(chain)
        return self._intact[chain]

    def _reaches_its_head(self, chain: StoreId) -> bool:
        heads, own = self._store.heads, self._store.own()
        head = None if heads is None else heads.read(chain)
        if head is not None:
            return self._store.tables.head(chain).seq >= head.seq
        # Pending records will be in this store's own chain, and a team's heads are on the machines that wrote to it.
        if chain != own and (chain == PENDING or self._store.is_shared):
            return own is not None and self.is_intact(own)
        return heads is None

    def _segments(self, version: FileVersion, line_ranges: Sequence[Lines]) -> Iterator[tuple[Segment, VersionLine]]:
        for line_range in line_ranges or ([Lines(1, len(version.lines))] if version.lines else []):
            numbered = enumerate(version.lines[line_range.first - 1 : line_range.last], start=line_range.first)
            for _, run in groupby(numbered, key=lambda pair: (pair[1].origin, pair[1].trail)):
                same = list(run)
                yield self._segment(version, Lines(same[0][0], same[-1][0]), same[0][1]), same[0][1]

    def _segment(self, version: FileVersion, lines: Lines, line: VersionLine) -> Segment:
        commit, parent, at_ns = line.trail[0] if line.trail else None, None, None
        if commit is not None and (git_commit := self._evidence.commit(commit)) is not None:
            parent = git_commit.parents[0] if git_commit.parents else None
            at_ns = None if git_commit.author.at is None else git_commit.author.at.seconds * NS
        elif line.trail:
            parent, at_ns = version.base, self._evidence.workspace.now_ns()
        texts = version.texts[lines.first - 1 : lines.last]
        hashed = hash_segment_lines(texts)
        return Segment(version.path, lines, commit, parent, at_ns, hashed)

    def _find_ancestor_revisions(self, segments: Sequence[tuple[Segment, VersionLine]]) -> frozenset[Ancestry]:
        """Return which of the agents' base revisions are ancestors of the commits, by one git process."""
        pairs = set()
        for segment, line in segments:
            story = self.story(line.origin.state) if line.origin.is_agent else None
            below = segment.commit or segment.parent
            if story is None or story.revision in (None, segment.parent) or below is None:
                continue
            pairs.add(Ancestry(CommitSha(str(story.revision)), below))
        return self._evidence.repository.ancestries(pairs) if pairs else frozenset()

    def _answer(
        self, version: FileVersion, segment: Segment, line: VersionLine, older: frozenset[Ancestry]
    ) -> Iterator[LineAnswer]:
        state = line.origin.record_state
        story = None if state is None else self.story(state)
        if not line.origin.is_agent or story is None:
            for part, reason in self._explain_missing_attribution(version, segment, line):
                yield LineAnswer(NoAttribution(part, reason), line.origin, line.trail, story)
            return
        if line.origin.share < MIXED_SHARE_MIN:
            yield LineAnswer(NoAttribution(segment, TOO_LITTLE), line.origin, line.trail, None)
            return
        texts = version.texts[segment.lines.first - 1 : segment.lines.last]
        candidate = self._candidate(segment, line, story, older, self._find_place(line, texts))
        finding = attribute(segment, [candidate], self._evidence.rules, rules_digest=self._evidence.digest)
        yield LineAnswer(finding, line.origin, line.trail, story, story.model)

    def _explain_missing_attribution(
        self, version: FileVersion, segment: Segment, line: VersionLine
    ) -> Iterator[tuple[Segment, str]]:
        """Yield the reason why nothing shows an author, for each part of a segment with the same reason."""
        is_between = line.origin == BETWEEN
        if not (is_between or line.origin == UNKNOWN) or not line.trail or self._is_brief:
            yield segment, NOT_THIS_CALL if is_between else NOTHING_SHOWS if line.trail else BEFORE_CAPTURE
            return
        texts = version.texts[segment.lines.first - 1 : segment.lines.last]
        explain = self._explain_lines_between if is_between else self._explain_unknown_lines
        reasons = enumerate(explain(segment, texts, self._find_last_commit_ns(line)), start=segment.lines.first)
        for reason, run in groupby(reasons, key=lambda pair: pair[1]):
            numbers = [number for number, _ in run]
            lines = Lines(numbers[0], numbers[-1])
            yield segment if lines == segment.lines else self._segment(version, lines, line), reason

    def _explain_unknown_lines(self, segment: Segment, texts: Sequence[str], until_ns: int | None) -> list[str]:
        """Return the reason for each line without a known origin: whether the file's captured texts have it."""
        tables = self._evidence.lineage.tables
        key = (segment.path, until_ns)
        if key not in self._captured:
            window_ns = int(self._evidence.rules.window_hours_after * HOUR_NS)
            row = None if until_ns is None else tables.last_of(segment.path, until_ns + window_ns)
            self._captured[key] = (
                None if row is None else dict(zip(row.keys, unpack_line_origins(row.origins), strict=True))
            )
        captured = self._captured[key]
        keys = self._evidence.lineage.make_keys(texts)
        if captured is None:
            return [NOTHING_SHOWS] * len(texts)
        added = tables.find_agents_of_lines(segment.path, [key for key in keys if key not in captured])
        older = (key for key in keys if not captured.get(key, UNKNOWN).is_agent)
        laid_out = self._find_lines_of_calls(segment, older, until_ns)
        return [
            LAID_OUT
            if key in laid_out and key not in added and is_informative_lineage_line(text)
            else _explain_captured_line(text, captured.get(key), is_added=key in added)
            for key, text in zip(keys, texts, strict=True)
        ]

    def _explain_lines_between(self, segment: Segment, texts: Sequence[str], until_ns: int | None) -> list[str]:
        """Return the reason for each line whose words appeared between two calls."""
        keys = self._evidence.lineage.make_keys(texts)
        written = self._find_lines_of_calls(segment, keys, until_ns)
        added = self._evidence.lineage.tables.find_agents_of_lines(segment.path, sorted(written))
        reasons = {key: LAID_OUT for key in written.keys() - added.keys()}
        reasons |= {key: CAME_BACK for key in added if written[key]}
        return [reasons.get(key, NOT_THIS_CALL) for key in keys]

    def _find_lines_of_calls(self, segment: Segment, keys: Iterable[int], until_ns: int | None) -> dict[int, bool]:
        """Return those of the keys whose lines a call before a time wrote, and whether they were gone after it."""
        if until_ns is None:
            return {}
        window_ns = int(self._evidence.rules.window_hours_after * HOUR_NS)
        return self._evidence.lineage.find_lines_of_calls(segment.path, frozenset(keys), until_ns + window_ns)

    def _find_last_commit_ns(self, line: VersionLine) -> int | None:
        """Return the time of the last commit that a line came through; now while it is not committed."""
        last = line.trail[-1]
        commit = None if last is None else self._evidence.commit(last)
        if commit is None:
            return self._evidence.workspace.now_ns() if last is None else None
        return compute_adding_commit_ns(commit)

    def _find_place(self, line: VersionLine, texts: Sequence[str]) -> RecordedPlace | None:
        """Return where the call of a line wrote these texts."""
        if self._is_brief:
            return None
        if self._places is None:
            from custody.attribution.app.recorded_places import RecordedPlaces  # brief answers do without

            self._places = RecordedPlaces(self._evidence.lineage)
        return self._places.find(line.origin.state, texts)

    def _candidate(
        self,
        segment: Segment,
        line: VersionLine,
        story: Story,
        older: frozenset[Ancestry],
        recorded: RecordedPlace | None,
    ) -> TraceCandidate:
        """Return the trace with its lines, and with their hash where it wrote all of their text."""
        whole = line.origin.share >= 1.0
        links = self._find_link_records(segment, story)
        below = segment.commit or segment.parent
        precedes = story.revision is not None and below is not None and Ancestry(story.revision, below) in older
        return TraceCandidate(
            trace=story.trace,
            path=segment.path,
            at_ns=story.at_ns,
            revision=story.revision,
            entries=(TraceEntry("change", segment.lines, segment.hash if whole else None, recorded),),
            linked=bool(links),
            precedes=precedes,
            supports=len(segment.lines),
            grade=story.grade,
            intact=self.is_intact(story.record.store),
            call=story.call,
            records=(story.record,),
            link_records=links,
        )

    def _find_link_records(self, segment: Segment, story: Story) -> tuple[RecordRef, ...]:
        key = (segment.commit, story.trace.id, story.at_ns, story.grade)
        if key not in self._linked_memo:
            commit = None if segment.commit is None else self._evidence.commit(segment.commit)
            edit = SessionEdit(
                agent=story.trace.agent,
                session=story.trace.session,
                at_ns=story.at_ns,
                parent_ns=lambda: self._parent_ns(segment.parent),
                chain=None if story.grade is Grade.CLAIMED else story.record.store,
            )
            self._linked_memo[key] = () if commit is None else self._links.find_link_records(commit, edit)
        return self._linked_memo[key]

    def _parent_ns(self, sha: CommitSha | None) -> int:
        """Return the commit time of the parent; 0 without one."""
        parent = None if sha is None else self._evidence.commit(sha)
        return 0 if parent is None or parent.committer.at is None else parent.committer.at.seconds * NS

    def _read_story(self, state: int) -> Story | None:
        author = self._evidence.lineage.tables.read_state_author(state)
        if author is None or author.session is None:
            return None
        grade = self._grade(author)
        return Story(
            trace=Trace(f"{author.agent}:{author.session}", author.agent, author.session),
            call=author.call,
            model=self._model(author, author.session, self._find_chains_of_equals(author.ref, grade)),
            grade=grade,
            at_ns=author.at_ns,
            revision=author.revision,
            record=author.ref,
        )

    def _grade(self, author: StateAuthor) -> Grade:
        """Return the grade of a state by its record itself: another store's statement about its kind proves nothing."""
        record = self._store.tables.record(author.ref)
        is_claim = record is None or is_claim_record(record, self._ratings.believed)
        return Grade.CLAIMED if is_claim or not self.is_intact(author.ref.store) else Grade.RECORDED

    def _find_chains_of_equals(self, ref: RecordRef, grade: Grade) -> frozenset[StoreId] | None:
        """Return the chains that may add details to a recording; None where claims may too."""
        return None if grade is Grade.CLAIMED or not self._strict else self._ratings.list_equals(ref.store)

    def _model(self, edit: FileEdit | StateAuthor, session: SessionId, chains: frozenset[StoreId] | None) -> str | None:
        """Return the model of the call, else the latest of the session before it."""
        only = EVERYTHING if chains is None else make_recorded_only_filter(chains)
        call_models = [] if edit.call is None else list_call_models(self._store, edit.agent, session, edit.call, only)
        if len(call_models) == 1 and call_models[0]:
            return call_models[0]
        starts = [] if call_models else self._list_session_models(edit, session, only)
        latest_ns = max((started_ns for started_ns, model in starts if model is not None), default=None)
        latest = {model for started_ns, model in starts if started_ns == latest_ns and model is not None}
        if call_models or len(latest) > 1 or "" in latest:
            return self._read_model(edit, session, chains)
        return next(iter(latest), None)

    def _list_session_models(
        self, edit: FileEdit | StateAuthor, session: SessionId, only: RecordFilter
    ) -> list[tuple[int, str | None]]:
        starts = list_session_models_before(self._store, edit.agent, session, edit.at_ns, only)
        if len(starts) >= SESSIONS_READ_MAX and only is EVERYTHING:
            # Claims alone may fill the limit, so recorded views are read separately.
            recorded = make_recorded_only_filter(self._ratings.believed)
            starts += list_session_models_before(self._store, edit.agent, session, edit.at_ns, recorded)
        return starts

    def _read_model(
        self, edit: FileEdit | StateAuthor, session: SessionId, chains: frozenset[StoreId] | None
    ) -> str | None:
        """Return the model where events of one call or time name several: the views decide which counts."""
        call_views = [] if edit.call is None else find_session_call(self._store, session, edit.call)
        only = EVERYTHING if chains is None else make_recorded_only_filter(chains)
        if chains is not None:
            call_views = [view for view in call_views if not is_claim_record(view.record, chains)]
        session_views = list_session_views_before(self._store, edit.agent, session, edit.at_ns, only)
        if len(session_views) >= SESSIONS_READ_MAX and only is EVERYTHING:
            recorded = make_recorded_only_filter(self._ratings.believed)
            session_views += list_session_views_before(self._store, edit.agent, session, edit.at_ns, recorded)
        for call in merge_call_views(view.view for view in call_views):
            if call.agent == edit.agent and call.model is not None:
                return call.model
        sessions = sorted((view.view for view in session_views), key=lambda view: -view.started_ns)
        return next((view.model for view in sessions if view.model is not None), None)


def _check_blame_line_ranges(line_ranges: Sequence[Lines], path: RepoPath, count: int) -> None:
    for line_range in line_ranges:
        if line_range.last > count:
            raise InputError(
                f"'{path.display}' has only {count_noun(count, 'line')}", hint="pass -L with lines of the file"
            )


def _explain_captured_line(text: str, origin: LineOrigin | None, *, is_added: bool) -> str:
    """Return why a line is unknown, by its origin in the last captured text before its commit, if that has it."""
    if origin is None and not is_added:
        return NOTHING_SHOWS
    if not is_informative_lineage_line(text):
        return SAYS_LITTLE
    return BEFORE_CALLS if origin == UNKNOWN else OTHER_PLACE
