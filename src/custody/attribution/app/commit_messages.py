"""Claims of commits about their own lines: agents that their authors, messages and notes name.

They are read at question time, without an import. Anyone can write them, so they are claims of tier 6, they answer only
for lines without other evidence, and callers that decide by the answers (``strict``) never see them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution.app.answers import LineAnswer
from custody.attribution.app.commit_texts import read_file_changes
from custody.attribution.app.context import AttributionContext, FileVersion
from custody.attribution.lineage import UNKNOWN
from custody.attribution.model import Grade, NoAttribution, Segment, Trace, TraceAttribution, TraceCandidate, TraceEntry
from custody.attribution.text import hash_segment_lines
from custody.capture.claims.ai_attribution import AI_ATTRIBUTION, parse_ai_attribution_note
from custody.capture.claims.entire import locate_checkpoint_metadata, parse_checkpoint_session
from custody.core.commit_agents import UNNAMED, NamedAgent, list_named_agents
from custody.core.errors import InputError
from custody.core.evidence import Evidence, Signal
from custody.core.ids import AgentName, CommitSha, SessionId
from custody.core.paths import Lines, RepoPath
from custody.git import ChangeKind, Commit, FileAt, NoObject, Walk

NS = 1_000_000_000
NAMED_BY_COMMIT = "named_by_commit"
"""The signal of an answer that rests on a commit's own statement only."""
POINTS = 5
"""Any score above 0 and below tier 5: it is the weakest evidence that there is."""
FIRST_NAMED_SECONDS = 1_672_531_200
"""The start of 2023: before it, no tool named an agent in a commit."""
SHARE_MIN = 0.5
"""A file with fewer lines of an agent, by the note of the commit, is not the agent's."""
CHECKPOINTS = "entire/checkpoints/v1"
SHORT_ID_LENGTH = 12


class CommitStatement(Struct, frozen=True):
    """What a commit states about its lines: an agent, its share of the lines, and the sentence for people."""

    agent: NamedAgent
    why: str
    share: float = 1.0


def is_named_by_commit(answer: LineAnswer) -> bool:
    """Return whether an answer rests on a commit's own statement only."""
    return any(signal.name == NAMED_BY_COMMIT for signal in answer.signals)


class CommitStatements:
    """The statements of one repository's commits, each read once."""

    def __init__(self, evidence: AttributionContext) -> None:
        self._evidence = evidence
        self._agents: dict[CommitSha, NamedAgent | None] = {}
        self._notes: dict[CommitSha, Mapping[str, tuple[str, float]]] = {}

    def add_claims(self, version: FileVersion, answers: Sequence[LineAnswer]) -> list[LineAnswer]:
        """Return ``answers`` with the statements of commits about lines without other evidence."""
        older = [answer.lines for answer in answers if _is_open(answer) and not answer.trail]
        commits: dict[int, CommitSha] = {}
        if older:
            commits = self._evidence.find_introducing_commits(version.path, version.commit, version.texts, older)
        named = {*commits.values(), *(answer.trail[0] for answer in answers if _is_open(answer) and answer.trail)}
        self._evidence.read_commits(sorted(commit for commit in named if commit is not None))
        return [part for answer in answers for part in self._split_answer(version, answer, commits)]

    def agent_of(self, commit: Commit) -> NamedAgent | None:
        """Return the agent that a commit's author or message names; the first of several."""
        if commit.id not in self._agents:
            message = commit.message.decode("utf-8", "replace")
            name, email = (part.decode("utf-8", "replace") for part in (commit.author.name, commit.author.email))
            agents = list_named_agents(name, email, message)
            self._agents[commit.id] = self._resolve_checkpoint(agents[0]) if agents else None
        return self._agents[commit.id]

    def _resolve_checkpoint(self, named: NamedAgent) -> NamedAgent:
        """Return the agent and session of a checkpoint that the commit names, as far as its branch is here."""
        if named.checkpoint is None:
            return named
        for tip in self._checkpoint_tips:
            for place in locate_checkpoint_metadata(named.checkpoint):
                metadata = self._evidence.objects.read(FileAt(tip, RepoPath.of(place)))
                if isinstance(metadata, NoObject):
                    continue
                try:
                    session = parse_checkpoint_session(metadata.content)
                except InputError:
                    continue  # 'custody import' reports it
                agent = session.agent or named.agent if named.agent == UNNAMED else named.agent
                return replace(named, agent=agent, session=named.session or session.id)
        return named

    @cached_property
    def _checkpoint_tips(self) -> list[CommitSha]:
        refs = [*self._evidence.repository.refs("refs/heads/entire/"), *self._evidence.repository.refs("refs/remotes/")]
        return [CommitSha(ref.id) for ref in refs if ref.name.endswith(b"/" + CHECKPOINTS.encode())]

    @cached_property
    def _note_tips(self) -> list[CommitSha]:
        refs = self._evidence.repository.refs("refs/notes/")
        return [CommitSha(ref.id) for ref in refs if ref.name == AI_ATTRIBUTION.encode()]

    def _note_of(self, commit: CommitSha) -> Mapping[str, tuple[str, float]]:
        """Return the agent and its share by file, from a note of ``refs/notes/ai-attribution``."""
        if commit not in self._notes:
            self._notes[commit] = {}
            for tip in self._note_tips:
                # git spreads many notes over folders, named by the first digits.
                for place in (commit, f"{commit[:2]}/{commit[2:]}", f"{commit[:2]}/{commit[2:4]}/{commit[4:]}"):
                    note = self._evidence.objects.read(FileAt(tip, RepoPath.of(place)))
                    if not isinstance(note, NoObject):
                        self._notes[commit] = parse_ai_attribution_note(note.content)
        return self._notes[commit]

    def _state(self, commit: Commit, path: RepoPath) -> CommitStatement | None:
        """Return what a commit states about its lines of a file; a note about the file is more exact than a trailer."""
        named, noted = self.agent_of(commit), self._note_of(commit.id)
        if str(path) in noted:
            agent, share = noted[str(path)]
            if share < SHARE_MIN:
                return None
            note_agent = named if named is not None and named.agent == agent else NamedAgent(agent, AI_ATTRIBUTION)
            why = f"a note on commit {commit.id[:SHORT_ID_LENGTH]} names {agent} for {share:.0%} of this file's change"
            return CommitStatement(note_agent, why, share)
        if named is None:
            return None
        return CommitStatement(named, f"commit {commit.id[:SHORT_ID_LENGTH]} names {named.agent} ({named.by})")

    def _split_answer(
        self, version: FileVersion, answer: LineAnswer, commits: Mapping[int, CommitSha]
    ) -> Iterator[LineAnswer]:
        if not _is_open(answer):
            yield answer
            return
        first = answer.trail[0] if answer.trail else None
        known: Callable[[int], CommitSha | None] = (lambda _: first) if answer.trail else commits.get
        numbers = range(answer.lines.first, answer.lines.last + 1)
        blocks: list[tuple[CommitSha | None, Lines]] = []
        for sha, run in groupby(numbers, key=lambda number: self._named_commit(known(number), version.path)):
            block = list(run)
            blocks.append((sha, Lines(block[0], block[-1])))
        if [sha for sha, _ in blocks] == [None]:
            yield answer
            return
        for sha, lines in blocks:
            part = _narrow(version, answer, lines)
            commit = None if sha is None else self._evidence.commit(sha)
            yield part if commit is None else self._answer(part, commit)

    def _named_commit(self, sha: CommitSha | None, path: RepoPath) -> CommitSha | None:
        commit = None if sha is None else self._evidence.commit(sha)
        return None if commit is None or self._state(commit, path) is None else sha

    def _answer(self, answer: LineAnswer, commit: Commit) -> LineAnswer:
        statement = self._state(commit, answer.finding.segment.path)
        assert statement is not None, "only lines of commits with a statement are answered"
        named, rules, lines = statement.agent, self._evidence.rules, answer.lines
        agent, session = AgentName(named.agent), SessionId(named.session or f"commit-{commit.id[:SHORT_ID_LENGTH]}")
        at_ns = None if commit.author.at is None else commit.author.at.seconds * NS
        parent = commit.parents[0] if commit.parents else None
        segment = Segment(answer.finding.segment.path, lines, commit.id, parent, at_ns, answer.finding.segment.hash)
        candidate = TraceCandidate(
            trace=Trace(f"{agent}:{session}", agent, session),
            path=segment.path,
            at_ns=at_ns,
            revision=commit.id,
            entries=(TraceEntry("file", lines),),
            grade=Grade.CLAIMED,
        )
        evidence = Evidence((Signal(NAMED_BY_COMMIT, POINTS, statement.why),), self._evidence.digest)
        tier = len(rules.tier_confidence)
        finding = TraceAttribution(segment, candidate, tier, rules.tier_confidence[tier - 1], evidence)
        return replace(
            answer,
            finding=finding,
            trail=answer.trail or (commit.id,),
            model=named.model,
            conversation=named.url,
            part=statement.share,
        )


def _is_open(answer: LineAnswer) -> bool:
    """Return whether nothing is known of the lines; text between two calls is known not to be an agent's."""
    return answer.origin == UNKNOWN and isinstance(answer.finding, NoAttribution)


def _narrow(version: FileVersion, answer: LineAnswer, lines: Lines) -> LineAnswer:
    if lines == answer.lines:
        return answer
    hashed = hash_segment_lines(version.texts[lines.first - 1 : lines.last])
    segment = replace(answer.finding.segment, lines=lines, hash=hashed)
    return replace(answer, finding=replace(answer.finding, segment=segment))


def list_files_of_named_commits(evidence: AttributionContext, commit: CommitSha) -> frozenset[RepoPath]:
    """Return the files as of ``commit`` that may have lines of a commit that names an agent."""
    statements = CommitStatements(evidence)
    with evidence.repository.log([commit], walk=Walk(since_seconds=FIRST_NAMED_SECONDS)) as log:
        named = [logged for logged in log if statements.agent_of(logged) is not None]
    seconds = [logged.committer.at.seconds for logged in named if logged.committer.at is not None]
    if not seconds:
        return frozenset()
    return frozenset(_follow_named_files(evidence, commit, {logged.id for logged in named}, min(seconds)))


def _follow_named_files(
    evidence: AttributionContext, commit: CommitSha, named: Iterable[CommitSha], since_seconds: int
) -> set[RepoPath]:
    """Return the files that these commits changed, with those that may be one of them under another name."""
    shas, paths = frozenset(named), set[RepoPath]()
    for changes in reversed(read_file_changes(evidence.repository, commit, max(0, since_seconds))):
        files = [file for parent_files in changes.by_parent.values() for file in parent_files]
        if changes.commit in shas:
            paths.update(file.path for file in files)
        elif any(file.kind is ChangeKind.DELETED and file.path in paths for file in files):
            paths.update(file.path for file in files if file.kind is ChangeKind.ADDED)
    return paths
