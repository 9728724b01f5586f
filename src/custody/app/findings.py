"""From origins to answers: which trace wrote a stretch of lines, on what signals, how sure."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby

from custody.app.answers import Answer, Story
from custody.app.attributing import Attributing, FileVersion
from custody.app.links import Links, Worked
from custody.app.traced import traced_findings
from custody.attribute.engine import attribute
from custody.attribute.introduce import Line
from custody.attribute.lineage import BETWEEN
from custody.attribute.model import Candidate, Entry, Grade, Segment, Trace, Unattributed
from custody.model.digests import content_hash
from custody.model.ids import CommitSha, RecordRef
from custody.model.lines import Lines
from custody.model.merging import merged_calls
from custody.model.views import FileEdit, FileState, Session, ToolCall
from custody.world.git import Ancestry
from custody.world.store import Seen, StateRow

NS = 1_000_000_000
IMPORTED_KINDS = frozenset(("transcript", "trace", "trace_link"))
SESSIONS_READ_MAX = 20
"""Records of one session in which its model is looked for, the latest first."""

NOTHING_SHOWS = "no captured edit shows this text"
NOT_THIS_CALL = "this text appeared between two calls of an agent: no call wrote it"
BEFORE_CAPTURE = "this text is older than anything that was captured"
TOO_LITTLE = "less than half of this line is an agent's"


class Answers:
    """Answers about the lines of files, from one set of evidence."""

    def __init__(self, evidence: Attributing) -> None:
        self._evidence = evidence
        self._store = evidence.store
        self._links = Links(evidence.store)
        self._stories: dict[int, Story | None] = {}
        self._rows: dict[int, StateRow] = {}

    def of(self, version: FileVersion, stretches: Sequence[Lines] = ()) -> list[Answer]:
        """An answer for every line of a version, or of the stretches asked for, in order."""
        segments = list(self._segments(version, stretches))
        older = self._older(segments)
        answers = [self._answer(segment, line, older) for segment, line in segments]
        return traced_findings(self._evidence, version, answers)

    def story(self, state: int) -> Story | None:
        """Who stands behind a state; None when its record is gone."""
        if state not in self._stories:
            self._stories[state] = self._read_story(state)
        return self._stories[state]

    @cached_property
    def is_intact(self) -> bool:
        """Whether the store's own chain still ends where its head says; only then is anything better than a claim."""
        own = self._store.own()
        if own is None or self._store.heads is None:
            return own is not None
        head = self._store.heads.read(own)
        return head is not None and self._store.tables.head(own).seq >= head.seq

    def _segments(self, version: FileVersion, stretches: Sequence[Lines]) -> Iterator[tuple[Segment, Line]]:
        wanted = stretches or ([Lines(1, len(version.lines))] if version.lines else [])
        for stretch in wanted:
            numbered = enumerate(version.lines[stretch.first - 1 : stretch.last], start=stretch.first)
            for _, run in groupby(numbered, key=lambda pair: (pair[1].origin, pair[1].trail)):
                same = list(run)
                yield self._segment(version, Lines(same[0][0], same[-1][0]), same[0][1]), same[0][1]

    def _segment(self, version: FileVersion, lines: Lines, line: Line) -> Segment:
        commit, parent, at_ns = line.trail[0] if line.trail else None, None, None
        if commit is not None and (found := self._evidence.commit(commit)) is not None:
            parent = found.parents[0] if found.parents else None
            at_ns = None if found.author.at is None else found.author.at.seconds * NS
        elif line.trail:
            parent, at_ns = version.base, self._evidence.desk.now_ns()
        texts = version.texts[lines.first - 1 : lines.last]
        hashed = content_hash(text.encode("utf-8", "surrogateescape") for text in texts)
        return Segment(version.path, lines, commit, parent, at_ns, hashed)

    def _older(self, segments: Sequence[tuple[Segment, Line]]) -> frozenset[Ancestry]:
        """Which revisions that agents worked on top of are ancestors of the commits: one question for all."""
        pairs = set()
        for segment, line in segments:
            story = self.story(line.origin.state) if line.origin.is_agent else None
            below = segment.commit or segment.parent
            if story is None or story.revision in (None, segment.parent) or below is None:
                continue
            pairs.add(Ancestry(CommitSha(str(story.revision)), below))
        return self._evidence.repository.ancestries(pairs) if pairs else frozenset()

    def _answer(self, segment: Segment, line: Line, older: frozenset[Ancestry]) -> Answer:
        state = line.origin.record_state
        story = None if state is None else self.story(state)
        if not line.origin.is_agent or story is None:
            return Answer(Unattributed(segment, _why_none(line)), line.origin, line.trail, story)
        if line.origin.share < self._evidence.rules.mixed_share_min:
            return Answer(Unattributed(segment, TOO_LITTLE), line.origin, line.trail, None)
        candidate = self._candidate(segment, line, story, older)
        finding = attribute(segment, [candidate], self._evidence.rules, rules_digest=self._evidence.digest)
        return Answer(finding, line.origin, line.trail, story, story.model)

    def _candidate(self, segment: Segment, line: Line, story: Story, older: frozenset[Ancestry]) -> Candidate:
        """The trace with what lineage shows: the lines at their true place, and their text where it is all its own."""
        whole = line.origin.share >= 1.0
        links = self._linked(segment, story)
        below = segment.commit or segment.parent
        precedes = story.revision is not None and below is not None and Ancestry(story.revision, below) in older
        return Candidate(
            trace=story.trace,
            path=segment.path,
            at_ns=story.at_ns,
            revision=story.revision,
            entries=(Entry("change", segment.lines, segment.hash if whole else None),),
            linked=bool(links),
            precedes=precedes,
            supports=len(segment.lines),
            grade=story.grade,
            intact=self.is_intact,
            call=story.call,
            records=(story.record,),
            link_records=links,
        )

    def _linked(self, segment: Segment, story: Story) -> tuple[RecordRef, ...]:
        commit = None if segment.commit is None else self._evidence.commit(segment.commit)
        if commit is None:
            return ()
        parent = self._evidence.commit(commit.parents[0]) if commit.parents else None
        parent_ns = parent.committer.at.seconds * NS if parent is not None and parent.committer.at is not None else 0
        return self._links.shown_by(commit, Worked(story.trace.session, story.at_ns, parent_ns))

    def _read_story(self, state: int) -> Story | None:
        rows = self._evidence.lineage.tables.states([state])
        seen = self._store.views.at(rows[0].ref, rows[0].n) if rows else None
        if seen is None or not isinstance(seen.view, FileEdit | FileState) or seen.view.session is None:
            return None
        view = seen.view
        session = seen.view.session
        return Story(
            trace=Trace(f"{view.agent}:{session}", view.agent, session),
            call=view.call,
            model=self._model(view),
            grade=self._grade(seen),
            at_ns=rows[0].at_ns,
            revision=view.revision,
            record=seen.record.ref,
        )

    def _grade(self, seen: Seen) -> Grade:
        imported = seen.record.entry.kind in IMPORTED_KINDS or seen.record.entry.event.startswith("import")
        return Grade.RECORDED if self.is_intact and not imported else Grade.CLAIMED

    def _model(self, view: FileEdit | FileState) -> str | None:
        """The model that wrote: the call's own, or the session's latest before it."""
        if view.session is None:
            return None
        calls = [] if view.call is None else self._store.calls_of(view.session, view.call)
        for call in merged_calls(seen.view for seen in calls if isinstance(seen.view, ToolCall)):
            if call.agent == view.agent and call.model is not None:
                return call.model
        sessions = self._store.views.look_up(
            "session",
            f"session = ? AND started_ns <= ? ORDER BY started_ns DESC LIMIT {SESSIONS_READ_MAX}",
            (view.session, view.at_ns),
        )
        named = [seen.view for seen in sessions if isinstance(seen.view, Session) and seen.view.agent == view.agent]
        return next((s.model for s in sorted(named, key=lambda s: -s.started_ns) if s.model is not None), None)


def _why_none(line: Line) -> str:
    if line.origin == BETWEEN:
        return NOT_THIS_CALL
    return NOTHING_SHOWS if line.trail else BEFORE_CAPTURE
