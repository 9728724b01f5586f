"""Claims of commits about their own lines: agents that their authors, messages and notes name.

They are read at question time, without an import. Anyone can write them, so they are claims of tier 6, they answer only
for lines without other evidence, and callers that decide by the answers (``strict``) never see them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from custody.attribution.app.answers import OF_CALLS, LineAnswer
from custody.attribution.app.commit_texts import CommitFileChanges, read_file_changes
from custody.attribution.app.context import AttributionContext, FileVersion
from custody.attribution.carry import align_carried_items
from custody.attribution.lineage import UNKNOWN
from custody.attribution.model import Grade, NoAttribution, Segment, Trace, TraceAttribution, TraceCandidate, TraceEntry
from custody.attribution.text import hash_segment_lines
from custody.core.commit_agents import UNNAMED, NamedAgent, list_named_agents
from custody.core.errors import InputError
from custody.core.evidence import Evidence, Signal
from custody.core.ids import AgentName, CommitSha, SessionId
from custody.core.paths import Lines, RepoPath
from custody.git import ChangeKind, Commit, FileAt, LineSource, NoObject, Ref, Walk

if TYPE_CHECKING:
    from custody.capture.claims.git_ai import GitAiNote

NS = 1_000_000_000
NAMED_BY_COMMIT = "named_by_commit"
"""The signal of an answer that rests on a commit's own statement only."""
POINTS = 5
"""Any score above 0 and below tier 5: it is the weakest evidence that there is."""
FIRST_NAMED_SECONDS = 1_672_531_200
"""The start of 2023: before it, no tool named an agent in a commit."""
SHARE_MIN = 0.5
"""The minimum share in a commit's note for the lines of a file to count as the agent's."""
CHECKPOINTS = b"/entire/checkpoints/v1"
GIT_AI, AI_ATTRIBUTION = b"refs/notes/ai", b"refs/notes/ai-attribution"
SHORT_ID_LENGTH = 12
TOGETHER_MIN = 16
"""Files that git blame answers for one by one; if more need it, the sources of all lines are read at once."""


class CommitStatement(Struct, frozen=True):
    """What a commit states about its lines: an agent, its share of the lines, and the sentence for people."""

    agent: NamedAgent
    why: str
    share: float = 1.0


def is_named_by_commit(answer: LineAnswer) -> bool:
    """Return whether an answer rests on a commit's own statement only."""
    return any(signal.name == NAMED_BY_COMMIT for signal in answer.signals)


class CommitPlace(Struct, frozen=True):
    """The commit that a line comes from, and the line's path and number there, if they are needed."""

    commit: CommitSha
    path: RepoPath
    line: int | None = None


class _PreparedFiles(Struct):
    """Files of a commit, the changes that say where their lines come from, and how many needed git blame so far."""

    commit: CommitSha
    files: frozenset[RepoPath]
    changes: Sequence[CommitFileChanges]
    asked: int = 0


class CommitStatements:
    """The statements of one repository's commits, each read once."""

    def __init__(self, evidence: AttributionContext) -> None:
        self._evidence = evidence
        self._agents: dict[CommitSha, NamedAgent | None] = {}
        self._notes: dict[CommitSha, Mapping[str, tuple[str, float]]] = {}
        self._git_ai_notes: dict[CommitSha, GitAiNote | None] = {}
        self._sources: dict[tuple[CommitSha | None, RepoPath], list[LineSource]] = {}
        self._prepared: _PreparedFiles | None = None
        self._stated: dict[CommitPlace, CommitStatement | None] = {}

    def prepare(self, commit: CommitSha, paths: Collection[RepoPath]) -> frozenset[RepoPath]:
        """Return which of these files as of ``commit`` may have lines of a commit that names an agent.

        If many of them need git blame, the others are then read at once.
        """
        repository, noted = self._evidence.repository, self.list_noted_commits()
        with repository.log([commit], walk=Walk(since_seconds=FIRST_NAMED_SECONDS)) as log:
            named = [logged for logged in log if logged.id in noted or self.agent_of(logged) is not None]
        seconds = [logged.committer.at.seconds for logged in named if logged.committer.at is not None]
        if not seconds:
            return frozenset()
        changes = read_file_changes(repository, commit, max(0, min(seconds)))
        files = _follow_named_files(reversed(changes), {logged.id for logged in named}) & frozenset(paths)
        self._prepared = _PreparedFiles(commit, frozenset(files), changes)
        return self._prepared.files

    def add_claims(self, version: FileVersion, answers: Sequence[LineAnswer]) -> list[LineAnswer]:
        """Return ``answers`` with the statements of commits about lines without other evidence."""
        unknown = [answer for answer in answers if _is_open(answer)]
        if not unknown:
            return list(answers)
        places = self._find_places(version, unknown)
        self._evidence.read_commits(sorted({place.commit for place in places.values()}))
        return [part for answer in answers for part in self._split_answer(version, answer, places)]

    def _find_places(self, version: FileVersion, unknown: Sequence[LineAnswer]) -> dict[int, "CommitPlace"]:
        """Return for each unknown line the commit that it comes from; its place there only if notes need it."""
        places = {
            number: CommitPlace(answer.trail[0], version.path)
            for answer in unknown
            if answer.trail and answer.trail[0] is not None
            for number in range(answer.lines.first, answer.lines.last + 1)
        }
        older = [answer.lines for answer in unknown if not answer.trail]
        if older and self._read_sources(version) is not None:
            known = self._blame_places(version)
            numbers = (number for lines in older for number in range(lines.first, lines.last + 1))
            places.update((number, known[number]) for number in numbers if number in known)
        elif older:
            found = self._evidence.find_introducing_commits(version.path, version.commit, version.texts, older)
            places.update((number, CommitPlace(commit, version.path)) for number, commit in found.items())
        if not self._git_ai_tips or not places:
            return places
        noted = {number for number, place in places.items() if self._git_ai_note(place.commit) is not None}
        blamed = self._blame_places(version) if noted else {}
        return {**places, **{number: blamed[number] for number in noted if number in blamed}}

    def _read_sources(self, version: FileVersion) -> list[LineSource] | None:
        """Return the sources of a prepared file's lines, read at once for all files; None if git blame is cheaper."""
        prepared, place = self._prepared, (version.base, version.path)
        if prepared is not None and version.base == prepared.commit and place not in self._sources:
            prepared.asked += 1
            if prepared.asked > TOGETHER_MIN:
                from custody.attribution.app.line_sources import read_sources_of_lines  # only counts have many files

                self._prepared = None
                read = read_sources_of_lines(
                    self._evidence.repository, prepared.commit, prepared.files, prepared.changes
                )
                self._sources = {(prepared.commit, path): sources for path, sources in read.items()}
        return self._sources.get(place)

    def _blame_places(self, version: FileVersion) -> dict[int, "CommitPlace"]:
        """Return where git blame finds the lines of a version, as far as their history is here."""
        base = version.base
        if base is None:
            return {}
        sources = self._read_sources(version)
        if sources is None:
            sources = self._evidence.repository.line_sources(base, version.path)
        committed = version.texts if version.commit is not None else self._evidence.history.texts(base, version.path)
        places = _list_places(sources, len(committed), with_lines=bool(self._git_ai_tips))
        if version.commit is not None:
            return places
        same = align_carried_items(committed, version.texts)
        return {new + 1: places[old + 1] for old, new in same if old + 1 in places}

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
        from custody.capture.claims.entire import locate_checkpoint_metadata, parse_checkpoint_session  # few name one

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
        return [CommitSha(ref.id) for ref in refs if ref.name.endswith(CHECKPOINTS)]

    @cached_property
    def _note_refs(self) -> list[Ref]:
        """The references of all notes, read by one process."""
        return list(self._evidence.repository.refs("refs/notes/"))

    @cached_property
    def _note_tips(self) -> list[CommitSha]:
        return [CommitSha(ref.id) for ref in self._note_refs if ref.name == AI_ATTRIBUTION]

    def _note_of(self, commit: CommitSha) -> Mapping[str, tuple[str, float]]:
        """Return the agent and its share by file, from a note of ``refs/notes/ai-attribution``."""
        if commit not in self._notes:
            self._notes[commit] = {}
            for data in self._read_notes(self._note_tips, commit):
                from custody.capture.claims.ai_attribution import parse_ai_attribution_note  # few repositories have one

                self._notes[commit] = parse_ai_attribution_note(data)
        return self._notes[commit]

    def _read_notes(self, tips: Iterable[CommitSha], commit: CommitSha) -> Iterator[bytes]:
        """Yield the notes on a commit; git spreads many notes over folders, named by the first digits."""
        for tip in tips:
            for place in (commit, f"{commit[:2]}/{commit[2:]}", f"{commit[:2]}/{commit[2:4]}/{commit[4:]}"):
                note = self._evidence.objects.read(FileAt(tip, RepoPath.of(place)))
                if not isinstance(note, NoObject):
                    yield note.content

    @cached_property
    def _git_ai_tips(self) -> list[CommitSha]:
        """The references of git-ai's notes; none if notes were imported, which answer better."""
        if self._evidence.lineage.tables.first_traced_ns() is not None:
            return []
        is_git_ai = (ref for ref in self._note_refs if ref.name == GIT_AI or ref.name.startswith(GIT_AI + b"-remote/"))
        return [CommitSha(ref.id) for ref in is_git_ai]

    def _git_ai_note(self, commit: CommitSha) -> "GitAiNote | None":
        """Return git-ai's note on a commit."""
        if commit not in self._git_ai_notes:
            self._git_ai_notes[commit] = None
            for data in self._read_notes(self._git_ai_tips, commit):
                from custody.capture.claims.git_ai import parse_git_ai_note  # few repositories have one

                try:
                    self._git_ai_notes[commit] = parse_git_ai_note(data)
                except InputError:
                    continue  # 'custody import' reports it
        return self._git_ai_notes[commit]

    def list_noted_commits(self) -> frozenset[str]:
        """Return the commits with a note of git-ai or in ``refs/notes/ai-attribution``."""
        tips = [*self._git_ai_tips, *self._note_tips]
        return frozenset(
            str(entry.path).replace("/", "") for tip in tips for entry in self._evidence.repository.tree(tip)
        )

    def _state_from_git_ai(self, note: "GitAiNote", place: CommitPlace) -> CommitStatement | None:
        """Return what git-ai's note states about one line; of several entries the last one counts, as in git-ai."""
        for entry in reversed(note.files.get(str(place.path), ())):
            if place.line is None or not any(place.line in lines for lines in entry.lines):
                continue
            author = None if entry.is_persons else note.author(entry)
            if entry.is_persons or author is None:
                return None
            named = NamedAgent(author.agent, "git-ai's note", author.model, author.session)
            why = f"git-ai's note on commit {place.commit[:SHORT_ID_LENGTH]} names {author.agent} for this line"
            return CommitStatement(named, why)
        return None

    def _state(self, place: CommitPlace) -> CommitStatement | None:
        """Return what a commit states about its lines; a note about lines or a file is more exact than a trailer."""
        commit = self._evidence.commit(place.commit)
        if commit is None:
            return None
        note = self._git_ai_note(commit.id) if place.line is not None else None
        if note is not None:
            return self._state_from_git_ai(note, place)
        named, noted = self.agent_of(commit), self._note_of(commit.id)
        if str(place.path) in noted:
            agent, share = noted[str(place.path)]
            if share < SHARE_MIN:
                return None
            why = f"a note on commit {commit.id[:SHORT_ID_LENGTH]} names {agent} for {share:.0%} of this file's change"
            if named is None or named.agent != agent:
                named = NamedAgent(agent, AI_ATTRIBUTION.decode())
            return CommitStatement(named, why, share)
        if named is None:
            return None
        return CommitStatement(named, f"commit {commit.id[:SHORT_ID_LENGTH]} names {named.agent} ({named.by})")

    def _split_answer(
        self, version: FileVersion, answer: LineAnswer, places: Mapping[int, CommitPlace]
    ) -> Iterator[LineAnswer]:
        if not _is_open(answer):
            yield answer
            return
        for (sha, statement), run in groupby(
            range(answer.lines.first, answer.lines.last + 1),
            key=lambda number: self._find_statement(places.get(number)),
        ):
            block = list(run)
            part = _narrow(version, answer, Lines(block[0], block[-1]))
            commit = None if sha is None else self._evidence.commit(sha)
            yield part if commit is None or statement is None else self._answer(part, commit, statement)

    def _find_statement(self, place: CommitPlace | None) -> tuple[CommitSha | None, CommitStatement | None]:
        if place is None:
            return None, None
        if place not in self._stated:
            self._stated[place] = self._state(place)
        statement = self._stated[place]
        return (None, None) if statement is None else (place.commit, statement)

    def _answer(self, answer: LineAnswer, commit: Commit, statement: CommitStatement) -> LineAnswer:
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
        reason = answer.finding.reason if isinstance(answer.finding, NoAttribution) else ""
        why = f"{statement.why}; {reason}" if reason in OF_CALLS else statement.why
        evidence = Evidence((Signal(NAMED_BY_COMMIT, POINTS, why),), self._evidence.digest)
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


def _list_places(sources: Iterable[LineSource], count: int, *, with_lines: bool) -> dict[int, CommitPlace]:
    """Return where each of ``count`` lines comes from, as far as sources say; without lines one place for many."""
    places: dict[int, CommitPlace] = {}
    for source in sources:
        whole = CommitPlace(source.commit, source.path)
        shift = source.origin.first - source.blamed.first
        for line in range(source.blamed.first, min(source.blamed.last, count) + 1):
            places[line] = CommitPlace(source.commit, source.path, line + shift) if with_lines else whole
    return places


def _is_open(answer: LineAnswer) -> bool:
    """Return whether nothing is known of the lines; text between two calls is known not to be an agent's."""
    return answer.origin == UNKNOWN and isinstance(answer.finding, NoAttribution)


def _narrow(version: FileVersion, answer: LineAnswer, lines: Lines) -> LineAnswer:
    if lines == answer.lines:
        return answer
    hashed = hash_segment_lines(version.texts[lines.first - 1 : lines.last])
    segment = replace(answer.finding.segment, lines=lines, hash=hashed)
    return replace(answer, finding=replace(answer.finding, segment=segment))


def _follow_named_files(changes: Iterable[CommitFileChanges], named: Collection[CommitSha]) -> set[RepoPath]:
    """Return the files that these commits changed, with those that may be one of them under another name."""
    paths = set[RepoPath]()
    for commit_changes in changes:
        files = [file for parent_files in commit_changes.by_parent.values() for file in parent_files]
        if commit_changes.commit in named:
            paths.update(file.path for file in files)
        elif any(file.kind is ChangeKind.DELETED and file.path in paths for file in files):
            paths.update(file.path for file in files if file.kind is ChangeKind.ADDED)
    return paths
